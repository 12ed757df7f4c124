"""SciPy's solvers with a count of their steps, which ``solve_ivp`` does not tell when it is given the times to save."""

from __future__ import annotations

from scipy.integrate import OdeSolver


class StepCounter(OdeSolver):
    """What a counting solver is besides: ``steps`` are those that it has taken since it was set to 0."""

    steps: int


def counting_steps(solver: type[OdeSolver]) -> type[StepCounter]:
    """The same solver; a call of a microsecond's fraction more for each step."""

    class Counting(solver):
        steps = 0

        def step(self) -> str | None:
            Counting.steps += 1
            return super().step()

    return Counting  # pyright: ignore[reportReturnType]

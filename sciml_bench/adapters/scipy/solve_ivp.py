"""SciPy's ``solve_ivp`` on one segment, with a count of steps, which it does not report when it is given the times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from scipy.integrate import OdeSolver, solve_ivp

from sciml_bench.adapters.scipy.callbacks import Vector
from sciml_bench.adapters.scipy.failures import STALLED_AFTER, stalled
from sciml_bench.adapters.segments import Segment


class Result(NamedTuple):
    """``y`` has a column for each saved time; ``status`` is 0 when the end was reached."""

    y: Vector
    status: int
    message: str
    n_steps: int
    nfev: int
    njev: int
    nlu: int


Integrate = Callable[
    [Callable[..., Any], Segment, Vector, Vector, float, Vector, Mapping[str, Any], tuple[Any, ...]], Result
]
"""The right-hand side, the segment, its times, the state at its start, both tolerances, options of the method, and
further arguments of the right-hand side and the Jacobian.
"""


class StepCounter(OdeSolver):
    """Mixin of a counting solver: ``steps`` counts the steps since it was set to 0, ``ends`` are the times where a
    step must end, the last one first.
    """

    steps: int
    ends: list[float]


def counting_steps(solver: type[OdeSolver]) -> type[StepCounter]:
    """Return a solver that counts its steps, at a fraction of a microsecond for each."""

    class Counting(solver):
        steps = 0
        standing = 0
        ends: ClassVar[list[float]] = []

        def step(self) -> str | None:
            Counting.steps += 1
            before = self.t
            if Counting.ends:
                self.t_bound = Counting.ends[-1]
            message = super().step()
            if self.status == "finished" and len(Counting.ends) > 1:
                Counting.ends.pop()
                self.status = "running"
            if self.t != before:
                self.standing = 0
            elif (standing := self.standing + 1) > STALLED_AFTER:
                raise stalled(before)
            else:
                self.standing = standing
            return message

    return Counting  # pyright: ignore[reportReturnType]


def by_solve_ivp(solver: type[OdeSolver], lands: bool) -> Integrate:
    """``solve_ivp`` with one of its solvers, whose steps end at every time if it ``lands``."""
    # The stubs of SciPy name methods only.
    counting: Any = counting_steps(solver)

    def integrate(
        rhs: Callable[..., Any], segment: Segment, times: Vector, start: Vector, rtol: float, atol: Vector,
        options: Mapping[str, Any], args: tuple[Any, ...],
    ) -> Result:  # fmt: skip
        counting.steps, counting.ends = 0, times[::-1].tolist() if lands else []
        found: Any = solve_ivp(
            rhs, (segment.start, segment.end), start, method=counting, t_eval=times, rtol=rtol, atol=atol,
            args=args or None, **options,
        )  # fmt: skip
        return Result(found.y, found.status, found.message, counting.steps, found.nfev, found.njev, found.nlu)

    return integrate

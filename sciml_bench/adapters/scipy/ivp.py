"""SciPy's ``solve_ivp`` on one segment, with a count of steps, which it does not tell when it is given the times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import OdeSolver, solve_ivp

from sciml_bench.adapters.scipy.failure import STALLED_AFTER, stalled
from sciml_bench.adapters.segments import Segment

Vector = NDArray[np.float64]


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
"""The right-hand side, the segment, its times, the state at its start, both tolerances, options of the method, and what
the right-hand side and the Jacobian take besides."""


class StepCounter(OdeSolver):
    """What a counting solver is besides: ``steps`` are those that it has taken since it was set to 0."""

    steps: int


def counting_steps(solver: type[OdeSolver]) -> type[StepCounter]:
    """The same solver; a call of a microsecond's fraction more for each step."""

    class Counting(solver):
        steps = 0
        standing = 0

        def step(self) -> str | None:
            Counting.steps += 1
            before = self.t
            message = super().step()
            if self.t != before:
                self.standing = 0
            elif (standing := self.standing + 1) > STALLED_AFTER:
                raise stalled(before)
            else:
                self.standing = standing
            return message

    return Counting  # pyright: ignore[reportReturnType]


def by_solve_ivp(solver: type[OdeSolver]) -> Integrate:
    """``solve_ivp`` with one of its solvers."""
    # The stubs of SciPy name methods only.
    counting: Any = counting_steps(solver)

    def integrate(
        rhs: Callable[..., Any], segment: Segment, times: Vector, start: Vector, rtol: float, atol: Vector,
        options: Mapping[str, Any], args: tuple[Any, ...],
    ) -> Result:  # fmt: skip
        counting.steps = 0
        found: Any = solve_ivp(
            rhs, (segment.start, segment.end), start, method=counting, t_eval=times, rtol=rtol, atol=atol,
            args=args or None, **options,
        )  # fmt: skip
        return Result(found.y, found.status, found.message, counting.steps, found.nfev, found.njev, found.nlu)

    return integrate

"""Fixed steps: their number for a tolerance, and how they are shared out between the saved times."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from sciml_bench.adapters.program import FloatArray
from sciml_bench.record.outcome import Outcome, SolverFailure

STEPS_AT_UNIT_TOLERANCE = 10

MAX_STEPS = 1_000_000


def fixed_steps(order: int, rtol: float) -> int:
    """The number of equal steps over the whole time span for ``rtol``: ceil(10 * rtol**(-1/order)).

    The error of a method of order q is proportional to n**-q for n steps, so equal accuracy takes this power. The
    steps are shared out equally per unit time, and so that every saved time is the end of a step; multistep methods,
    whose formulas need equal steps, interpolate at the saved times instead.
    """
    # Less one part in 1e12, so that rounding of the power adds no step.
    return math.ceil(STEPS_AT_UNIT_TOLERANCE * rtol ** (-1.0 / order) * (1 - 1e-12))


def steps_between(times: Sequence[float], steps_per_unit: float) -> tuple[int, ...]:
    """The number of equal steps between each two neighbouring times, which may decrease; at least one each."""
    # Less one part in 1e9, so that rounding of the time difference adds no step.
    return tuple(
        max(1, math.ceil(abs(end - start) * steps_per_unit * (1 - 1e-9))) for start, end in itertools.pairwise(times)
    )


def grid(times: Sequence[float], counts: Sequence[int]) -> FloatArray:
    """The ends of all steps, (sum of ``counts`` + 1,): ``counts[i]`` equal steps between two neighbouring times.

    Every time is a point of it as it stands, bit for bit.
    """
    pieces = zip(itertools.pairwise(times), counts, strict=True)
    return np.concatenate([np.linspace(*ends, count, endpoint=False) for ends, count in pieces] + [times[-1:]])


def refuse_too_many(n_steps: int) -> None:
    """Raise the failure of a solve that would take more steps than anybody waits for."""
    if n_steps > MAX_STEPS:
        message = f"the tolerance asks for {n_steps} fixed steps; more than {MAX_STEPS} are not tried"
        raise SolverFailure(Outcome.MAX_STEPS, message)

"""The end of a ladder of tolerances: the first point that is accurate enough, or that is no better than another."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import PointResult
from sciml_bench.record.task import GRADIENT

_SURELY = 1e-3
"""At this multiple of the requested error a tolerance suffices, unless the result is a small rest of large terms."""

_GROWTH = 0.3
"""Below that multiple, every point has to add this number of digits."""


def is_enough(points: Sequence[PointResult], call: str, wanted: float) -> bool:
    """Return whether the last of these points has ``wanted`` digits of a call's result, or tighter ones have no hope.

    Calls that take too long take longer at tighter tolerances. The gradient at an optimum may be a small rest of large
    terms: these cancel, and their errors do not.
    """
    if points[-1].outcome is Outcome.SLOW:
        return True
    last = _digits(points[-1], call)
    if last is not None and last >= wanted:
        return True
    if points[-1].rtol > _SURELY * 10.0**-wanted:
        return False
    before = _digits(points[-2], call) if len(points) > 1 else None
    return last is None or (before is not None and last < before + _GROWTH)


def _digits(point: PointResult, call: str) -> float | None:
    """The digits of a half that was scored; ``None`` if it was not, or failed."""
    if call == GRADIENT:
        error, ended = (point.gradient.scores or {}).get("error"), point.gradient.outcome
    else:
        error, ended = (point.solve.scores or {}).get("trajectory_error"), point.solve.outcome
    if ended is not Outcome.OK or error is None:
        return None
    return -math.log10(error) if error else math.inf

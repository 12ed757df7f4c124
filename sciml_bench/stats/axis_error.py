"""The error of a time at equal accuracy that is due to the choice of measured tolerances."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sciml_bench.stats.front import WorkPoint, pareto_front
from sciml_bench.stats.ratio import Ratio, with_fixed

PRIOR_SD = 0.045
"""The scatter of log time about a smooth front where a front is too short to show its own."""

PRIOR_DF = 3.0
"""Weight of the prior, in points, next to the front's own scatter."""

EQUAL_DIGITS = 0.02
"""Fronts whose points lie as close to each other make the same steps: their scatter is one, and no part of a ratio."""


@dataclass(frozen=True)
class AxisError:
    """The standard deviation of log time that reading it off a front has, with its degrees of freedom.

    ``digits`` belong to the points that the time is read between.
    """

    sd: float
    df: float
    digits: tuple[float, ...]


def axis_error(points: Iterable[WorkPoint], digits: float) -> AxisError | None:
    """The error of the time at ``digits``; ``None`` where the front cannot be read there.

    Of points on a smooth front third differences vanish, whatever its slope and bend, so that they only show scatter.
    It is pooled with :data:`PRIOR_SD`, the only source for a front of at most three points.
    """
    front = pareto_front(points)
    if not front or digits > front[-1].digits:
        return None
    found = _contrasts(front)
    df = PRIOR_DF + len(found)
    variance = (PRIOR_DF * PRIOR_SD**2 + math.fsum(contrast**2 for contrast in found)) / df
    right = next(place for place, point in enumerate(front) if digits <= point.digits)
    if right == 0:
        # The loosest point, alone.
        return AxisError(math.sqrt(variance), df, (front[0].digits,))
    low, high = front[right - 1].digits, front[right].digits
    share = (digits - low) / (high - low)
    bend = math.sqrt(_squared_bend(front, right, variance)) * (high - low) ** 2
    # A parabola through both points that grows all the way between them is bent no more than that.
    bend = min(bend, math.log(front[right].time / front[right - 1].time)) * share * (1 - share)
    return AxisError(math.sqrt(variance * (share**2 + (1 - share) ** 2) + bend**2), df, (low, high))


def on_axis(ratio: Ratio, base: AxisError | None, new: AxisError | None) -> Ratio:
    """The ratio of two times at equal accuracy with what reading them off their fronts adds to its error.

    Solvers that achieve the same digits make the same steps, and what the ladder does to one it does to the other:
    then nothing is added, nor where times are not read off fronts (``None``).
    """
    sd, df = relative(base, new)
    return with_fixed(ratio, sd, df) if sd > 0 else ratio


def relative(
    base: AxisError | None, new: AxisError | None, shares: tuple[float, float] = (1.0, 1.0)
) -> tuple[float, float]:
    """The standard deviation of the log ratio and its degrees of freedom (Satterthwaite 1946).

    ``shares`` are the shares of the times in the compared numbers, if these are sums with other times.
    """
    if base is None or new is None or _same_steps(base, new):
        return 0.0, math.inf
    squares = [(share * side.sd) ** 2 for share, side in zip(shares, (base, new), strict=True)]
    total = math.fsum(squares)
    if not total > 0:
        return 0.0, math.inf
    unknown = math.fsum(square**2 / side.df for square, side in zip(squares, (base, new), strict=True))
    return math.sqrt(total), total**2 / unknown


def _same_steps(base: AxisError, new: AxisError) -> bool:
    return len(base.digits) == len(new.digits) and all(
        abs(a - b) <= EQUAL_DIGITS for a, b in zip(base.digits, new.digits, strict=True)
    )


def _contrasts(front: Sequence[WorkPoint]) -> list[float]:
    """The third divided differences of log time over digits, each scaled to the scatter of a single point."""
    return [_divided(front[start : start + 4])[0] for start in range(len(front) - 3)]


def _squared_bend(front: Sequence[WorkPoint], right: int, variance: float) -> float:
    """The square of the second divided difference about the points ``right`` - 1 and ``right``; 0 if there are two.

    Scatter bends a front too, most where points lie close together. That part is subtracted: the rest is 0 if scatter
    explains the bend.
    """
    starts = [start for start in (right - 2, right - 1) if 0 <= start <= len(front) - 3]
    found = [_divided(front[start : start + 3]) for start in starts]
    squares = [(scaled * scale) ** 2 - variance * scale**2 for scaled, scale in found]
    return max(0.0, min(squares, default=0.0))


def _divided(points: Sequence[WorkPoint]) -> tuple[float, float]:
    """The divided difference of log time over digits, scaled to the scatter of a single point, and that scale."""
    weights = [1 / math.prod(point.digits - other.digits for other in points if other is not point) for point in points]
    scale = math.sqrt(math.fsum(weight**2 for weight in weights))
    total = math.fsum(weight * math.log(point.time) for weight, point in zip(weights, points, strict=True))
    return total / scale, scale

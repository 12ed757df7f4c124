"""Reading a time off the work-precision front at equal achieved accuracy.

Tolerances of different libraries do not mean the same error, so times are compared where the *achieved* errors are
equal: the points of one process are reduced to their Pareto front, and log time is interpolated linearly in digits
(−log10 of the error). Nothing is extrapolated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class WorkPoint:
    """One tolerance point of one process: ``digits`` achieved (−log10 error) and the ``time`` it took (any unit)."""

    digits: float
    time: float


@dataclass(frozen=True)
class Reading:
    """A time at equal accuracy, or the reason why there is none.

    ``at_most`` marks an upper bound: the fastest measured point is already more accurate than requested, and a looser
    tolerance was not measured.
    """

    time: float | None
    at_most: bool = False
    reason: str = ""


def pareto_front(points: Iterable[WorkPoint]) -> tuple[WorkPoint, ...]:
    """The points that no other point beats in both digits and time, in increasing order of both.

    Points without a finite digit count or a positive finite time are not comparable and are left out.
    """
    usable = [point for point in points if math.isfinite(point.digits) and 0 < point.time < math.inf]
    front: list[WorkPoint] = []
    for point in sorted(usable, key=lambda point: (point.time, -point.digits)):
        if not front or point.digits > front[-1].digits:
            front.append(point)
    return tuple(front)


def time_at(points: Iterable[WorkPoint], digits: float) -> Reading:
    """The time at which the front reaches ``digits``.

    Between two neighbours of the front log time is linear in digits. Below the front's first point the time of that
    point is given as an upper bound; beyond its last point there is a reason and no number.
    """
    front = pareto_front(points)
    if not front:
        return Reading(None, reason="no point with a measured error")
    if digits > front[-1].digits:
        return Reading(None, reason=f"reaches only {_rounded_down(front[-1].digits)} digits")
    if digits < front[0].digits:
        return Reading(front[0].time, at_most=True, reason=f"loosest point already has {front[0].digits:.1f} digits")
    return Reading(_interpolated(front, digits))


def _rounded_down(digits: float) -> str:
    # Of 5.98 digits, 6.0 is more than there are.
    return f"{math.floor(10 * digits + 1e-9) / 10:.1f}"


def _interpolated(front: Sequence[WorkPoint], digits: float) -> float:
    for left, right in pairwise(front):
        if left.digits <= digits <= right.digits:
            share = (digits - left.digits) / (right.digits - left.digits)
            return math.exp((1 - share) * math.log(left.time) + share * math.log(right.time))
    return front[0].time


def common_target(fronts: Iterable[Sequence[WorkPoint]], step: float = 0.5) -> float | None:
    """The digits at which cells are compared: the multiple of ``step`` at which the most can be read.

    Each front is given as one sequence of points per cell. A front that brackets a target counts one, a front that
    only gives an upper bound there (see :func:`time_at`) counts a half, and one that never gets there nothing. Among
    equals the tightest target is taken. ``None`` when no front has a point.
    """
    ranges = [(front[0].digits, front[-1].digits) for front in map(pareto_front, fronts) if front]
    if not ranges:
        return None
    first = math.floor(min(low for low, _ in ranges) / step)
    last = math.floor(max(high for _, high in ranges) / step)

    def score(target: float) -> float:
        return sum(1.0 if low <= target <= high else 0.5 if target < low else 0.0 for low, high in ranges)

    return max((k * step for k in range(first, last + 1)), key=lambda target: (score(target), target))

"""The work of a solver at the accuracy of the comparison: steps, evaluations, factorisations.

Libraries count different things under different names; the same thing gets the same name here, and what a library
does not count stays unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from sciml_bench.analysis.process_summary import PointSummary, ProcessSummary
from sciml_bench.analysis.rows import Row, Target
from sciml_bench.stats.front import pareto_front

# Name of a count → the names that adapters give it. In the order in which they explain a time best: the cost of a step
# varies least between libraries, the cost of a factorisation says least about the rest.
COUNTS: dict[str, tuple[str, ...]] = {
    "accepted steps": ("n_accepted",),
    "steps": ("n_steps", "steps"),
    "evaluations of the right-hand side": ("n_rhs_evaluations",),
    "evaluations of the Jacobian": ("n_jacobian_evaluations",),
    "factorisations": ("n_factorisations", "n_lu"),
}
REJECTED = ("n_rejected",)


@dataclass(frozen=True)
class SolverCounts:
    """The work of a cell for one call at the target, each number the median over its processes.

    ``counts`` are by the names of :data:`COUNTS`; ``rejected_share`` is of all steps tried; ``rtol`` is the tolerance
    measured nearest to the target.
    """

    seconds: float
    counts: Mapping[str, float]
    rejected_share: float | None
    rtol: float | None


def work_of(row: Row, target: Target, quantity: str) -> SolverCounts | None:
    """The work of a row; ``None`` if it has no time at the target."""
    seconds = (row.gradient if quantity == "gradient" else row.solve).seconds
    if seconds is None:
        return None
    found = (_neighbours(process, target, quantity) for process in row.summary.processes)
    places = [neighbours for neighbours in found if neighbours is not None]
    counts: dict[str, float] = {}
    for name, keys in COUNTS.items():
        value = _median(_at(place, quantity, keys) for place in places)
        if value is not None:
            counts[name] = value
    rejected = _median(_at(place, quantity, REJECTED, log=False) for place in places)
    steps = counts.get("steps")
    share = rejected / steps if rejected is not None and steps else None
    return SolverCounts(seconds.median, counts, share, _nearest_rtol(row, target, quantity))


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


@dataclass(frozen=True)
class _Neighbours:
    """The two points between which a process's time is read, and how far from the first to the second."""

    left: PointSummary
    right: PointSummary
    share: float


def _neighbours(process: ProcessSummary, target: Target, quantity: str) -> _Neighbours | None:
    if target.digits is None:
        points = (point for point in process.points if point.rtol == target.rtol)
        return next((_Neighbours(point, point, 0.0) for point in points), None)
    by_work = {work: point for point in process.points if (work := point.half(quantity).work) is not None}
    front = pareto_front(by_work)
    if not front or target.digits > front[-1].digits:
        return None
    for left, right in pairwise(front):
        if left.digits <= target.digits <= right.digits:
            share = (target.digits - left.digits) / (right.digits - left.digits)
            return _Neighbours(by_work[left], by_work[right], share)
    return _Neighbours(by_work[front[0]], by_work[front[0]], 0.0)


def _at(place: _Neighbours, quantity: str, keys: tuple[str, ...], *, log: bool = True) -> float | None:
    """A count between two points, read like the time; ``None`` if one of them does not have it."""
    left, right = count(place.left, quantity, keys), count(place.right, quantity, keys)
    return None if left is None or right is None else _between(left, right, place.share, log)


def _between(a: float, b: float, share: float, log: bool) -> float:
    if a == b:
        return a
    if log and a > 0 and b > 0:
        return math.exp((1 - share) * math.log(a) + share * math.log(b))
    return (1 - share) * a + share * b


def count(point: PointSummary, quantity: str, keys: tuple[str, ...]) -> float | None:
    """Return a count of a point's ``gradient`` or ``solve`` under the first of these names that it has."""
    counts = point.half(quantity).counts
    for key in keys:
        value = counts.get(key)
        if value is not None and math.isfinite(value) and value >= 0:
            return float(value)
    return None


def _nearest_rtol(row: Row, target: Target, quantity: str) -> float | None:
    if target.digits is None:
        return target.rtol
    found = [
        (abs(work.digits - target.digits), point.rtol)
        for point in row.summary.points
        if (work := point.half(quantity).work) is not None
    ]
    return min(found)[1] if found else None

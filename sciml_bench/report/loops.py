"""One loop of calls as it went, for the figure of the run sequence: the only raw samples that a report keeps."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sciml_bench.measure.point import PointResult
from sciml_bench.outcome import Outcome

if TYPE_CHECKING:
    # Not imported: it needs NumPy, and a table is printed without.
    from sciml_bench.measure.steady import Steady
    from sciml_bench.store import Record

MOST_CALLS = 2000
"""Longer loops are kept up to here."""


@dataclass(frozen=True)
class Loop:
    """The calls of one loop in order: ``warm_up`` of them before the steady loop began.

    ``call`` is ``gradient`` or ``solve``, ``samples_ns`` has at most :data:`MOST_CALLS` of the ``calls`` made, and
    ``steady`` is what the change-points say of those after the warm-up; ``None`` when they were too few to judge.
    """

    call: str
    rtol: float
    samples_ns: array[int]
    warm_up: int
    calls: int
    steady: Steady | None


def longest_loop(record: Record) -> Loop | None:
    """The gradient loop with the most steady calls, of those that are right; a loop of solves where there is none."""
    gradients = [
        (len(point.gradient_ns), -place, _gradients(point))
        for place, point in enumerate(record.points)
        if point.gradient_outcome is Outcome.OK and point.gradient_ns
    ]
    solves = [
        (len(point.solve_ns), -place, _solves(point))
        for place, point in enumerate(record.points)
        if point.solve_outcome is Outcome.OK and point.solve_ns
    ]
    return max(gradients or solves, key=lambda item: item[:2], default=(0, 0, None))[2]


def _gradients(point: PointResult) -> Loop:
    return _loop("gradient", point.rtol, point.warm_up_gradient_ns, point.gradient_ns, point.gradient_steady)


def _solves(point: PointResult) -> Loop:
    return _loop("solve", point.rtol, point.warm_up_solve_ns, point.solve_ns, point.solve_steady)


def _loop(call: str, rtol: float, before: tuple[int, ...], steady: tuple[int, ...], found: Steady | None) -> Loop:
    samples = array("q", (*before, *steady)[:MOST_CALLS])
    return Loop(call, rtol, samples, len(before), len(before) + len(steady), found)

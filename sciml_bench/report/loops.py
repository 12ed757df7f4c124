"""One loop of calls as it went, for the figure of the run sequence: the only raw samples that a report keeps."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    gradients = [point for point in record.points if point.gradient_outcome is Outcome.OK and point.gradient_ns]
    if gradients:
        longest = max(gradients, key=lambda point: len(point.gradient_ns))
        before, found = longest.warm_up_gradient_ns, longest.gradient_steady
        return _loop("gradient", longest.rtol, before, longest.gradient_ns, found)
    solves = [point for point in record.points if point.solve_outcome is Outcome.OK and point.solve_ns]
    if solves:
        longest = max(solves, key=lambda point: len(point.solve_ns))
        return _loop("solve", longest.rtol, longest.warm_up_solve_ns, longest.solve_ns, longest.solve_steady)
    return None


def _loop(call: str, rtol: float, before: tuple[int, ...], steady: tuple[int, ...], found: Steady | None) -> Loop:
    samples = array("q", (*before, *steady)[:MOST_CALLS])
    return Loop(call, rtol, samples, len(before), len(before) + len(steady), found)

"""One loop of calls as it went, for the figure of the run sequence: the only raw samples that a report keeps."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sciml_bench.record.outcome import Outcome
from sciml_bench.record.task import GRADIENT, SOLVE

if TYPE_CHECKING:
    from sciml_bench.record.point import CallResult, Steady
    from sciml_bench.record.record import Record


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
    """The correct gradient loop with the most steady calls; a loop of solves without one."""
    for call in (GRADIENT, SOLVE):
        right = [point for point in record.points if (half := point.halves[call]).outcome is Outcome.OK and half.ns]
        if right:
            longest = max(right, key=lambda point: len(point.halves[call].ns))
            return _loop(call, longest.rtol, longest.halves[call])
    return None


def _loop(call: str, rtol: float, half: CallResult) -> Loop:
    before = len(half.warm_up_ns)
    samples = array("q", (*half.warm_up_ns, *half.ns)[:MOST_CALLS])
    return Loop(call, rtol, samples, before, before + len(half.ns), half.steady)

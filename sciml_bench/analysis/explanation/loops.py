"""One loop of calls as it went, for the figure of the run sequence: the only raw samples that a report keeps."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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


# Energy per call, from the loops of a record that were long enough to be measured.


def joules_per_call(energy: Mapping[str, Any] | None, point: int, kind: str) -> float | None:
    """Joules for one ``solve`` or ``gradient`` at a point, above the machine's idle power if that is known.

    ``None`` when it was not measured, or when nothing is left above idle.
    """
    if not energy:
        return None
    try:
        loops = [loop for loop in energy.get("loops", ()) if loop["point"] == point and loop["kind"] == kind]
        joules = sum(float(loop["joules"]) for loop in loops)
        window_s = sum(float(loop["window_s"]) for loop in loops)
        calls = sum(int(loop["calls"]) for loop in loops)
        idle_joules = float(energy.get("idle_watts") or 0.0) * window_s
    except (AttributeError, KeyError, TypeError, ValueError):
        # A record that was changed by hand has no energy, and is shown otherwise.
        return None
    return (joules - idle_joules) / calls if calls > 0 and joules > idle_joules else None


def why_not_measured(energy: Mapping[str, Any] | None) -> str:
    """The reason that a record gives for having no energy; empty when it has some, or says nothing."""
    reason = (energy or {}).get("not_measurable", "")
    return reason if isinstance(reason, str) else ""

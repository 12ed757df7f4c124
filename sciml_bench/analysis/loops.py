"""One loop of calls as it went, for the figure of the run sequence: the only raw samples that a report keeps."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sciml_bench.record.outcome import Outcome

if TYPE_CHECKING:
    from sciml_bench.record.point import Steady
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


# Energy per call, from the loops of a record that were long enough to be measured.


def joules_per_call(energy: Mapping[str, Any] | None, point: int, kind: str) -> float | None:
    """Joules for one ``solve`` or ``gradient`` at a point, above what the machine draws when idle where that is known.

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

"""The cost of a way at the requested accuracy, as one process measured it: time to the first call, and time of each
further call.
"""

from __future__ import annotations

from dataclasses import dataclass

from sciml_bench.analysis.process_summary import ProcessSummary
from sciml_bench.analysis.rows import work_points
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.process import STARTUP
from sciml_bench.record.task import GRADIENT, Point
from sciml_bench.stats.break_even import Cost
from sciml_bench.stats.front import time_at

_BEFORE = (*STARTUP, "build", "trace", "lower", "compile")
"""The phases before the result of a first call, other than the call itself."""

_FACTOR = 4.0
"""The factor between tolerances near the one for the requested accuracy."""

LOOSEST, TIGHTEST = 0.1, 1e-13
"""Between these a tolerance means something."""


@dataclass(frozen=True)
class CallCost:
    """The cost of a way at the asked accuracy; ``at_most`` if it is known from above only. Without one: ``reason``."""

    cost: Cost | None
    at_most: bool = False
    reason: str = ""


def call_cost(process: ProcessSummary, call: str, digits: float) -> CallCost:
    """The cost of the calls of a process, gradients or solves, at an error of ``digits`` digits."""
    reading = time_at(work_points([process], lambda point: point.half(call).work), digits)
    first_s = _first_gradient_s(process) if call == GRADIENT else _first_solve_s(process)
    if reading.time is None or first_s is None:
        return CallCost(None, reason=_why(process, call, reading.reason))
    return CallCost(Cost(first_s, reading.time), reading.at_most, reading.reason)


def _first_gradient_s(process: ProcessSummary) -> float | None:
    """Seconds to the first gradient, also if that one, at the loosest tolerance, is wrong.

    Where it failed nobody knows how long it compiled: at most as long as the process was there, without its loops.
    """
    if process.first_call_s is not None:
        return process.first_call_s
    if all(point.gradient.seconds is None for point in process.points):
        return None
    loops_s = sum(process.phases_s.get(phase, 0.0) for phase in ("warm_up", "steady"))
    return max(0.0, process.wall_s - loops_s) or None


def _first_solve_s(process: ProcessSummary) -> float | None:
    if "first_solve" not in process.phases_s:
        return None
    return sum(process.phases_s.get(phase, 0.0) for phase in (*_BEFORE, "first_solve"))


def _why(process: ProcessSummary, call: str, otherwise: str) -> str:
    """Return why a cost is missing: the failure that kept the way from this accuracy, in a few words.

    A loose tolerance that failed did not keep it, if the tightest one went well.
    """
    last = process.points[-1] if process.points else None
    if last is not None and last.half(call).work is not None:
        return otherwise
    if last is not None and last.outcome is Outcome.SLOW:
        return f"{last.outcome}: {last.message}"
    for point in process.points:
        half = point.half(call).kept
        if half.outcome is not None and half.outcome != "ok":
            return f"{half.outcome}: {point.message}" if point.message else str(half.outcome)
    if process.message:
        return f"{process.outcome}: {process.message}"
    if unjudged(process, call):
        return NO_REFERENCE
    return otherwise or str(process.outcome)


NO_REFERENCE = "its error is unknown: the problem has no reference"


def unjudged(process: ProcessSummary, call: str) -> dict[float, float]:
    """Seconds of the calls that succeeded but were compared with no reference, by rtol."""
    halves = ((point.rtol, point.half(call)) for point in process.points)
    return {
        rtol: half.seconds
        for rtol, half in halves
        if half.seconds is not None and half.work is None and half.kept.outcome == Outcome.OK
    }


def tolerances(process: ProcessSummary, call: str, digits: float) -> tuple[Point, ...]:
    """Three tolerances about the one at which a way has ``digits`` digits, as one process of it shows; loosest first.

    Log tolerance is interpolated in digits. If the loosest tried one is already more accurate than requested, the
    three are that one and looser ones.

    Raises:
        ValueError: the way never has ``digits`` digits.
    """
    known = sorted(
        ((point.rtol, work.digits) for point in process.points if (work := point.half(call).work) is not None),
        reverse=True,
    )
    place = next((place for place, (_, reached) in enumerate(known) if reached >= digits), None)
    if place is None:
        raise ValueError(f"it never has {digits:g} digits")
    tight, high = known[place]
    if place == 0:
        return ladder(tight * _FACTOR**2, tight * _FACTOR, tight)
    loose, low = known[place - 1]
    share = (digits - low) / (high - low)
    middle = loose ** (1 - share) * tight**share
    return ladder(middle * _FACTOR, middle, middle / _FACTOR)


def ladder(*rtols: float) -> tuple[Point, ...]:
    """Tolerances in two digits as points, each once, without meaningless ones."""
    short = dict.fromkeys(min(LOOSEST, max(TIGHTEST, float(f"{rtol:.2g}"))) for rtol in rtols)
    return tuple(Point(rtol=rtol, atol=rtol) for rtol in short)

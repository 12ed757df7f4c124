"""The rows of a problem's table: every cell at equal achieved accuracy, as numbers, before they are printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import geometric_mean, median

from sciml_bench.analysis.process_summary import PointSummary, ProcessSummary
from sciml_bench.analysis.summary import CellSummary, RunSummary
from sciml_bench.record.outcome import Outcome
from sciml_bench.stats.axis_error import AxisError, axis_error
from sciml_bench.stats.front import Reading, WorkPoint, common_target, pareto_front, time_at
from sciml_bench.stats.ratio import paired_ratio
from sciml_bench.stats.spread import Spread, spread

Work = Callable[[PointSummary], WorkPoint | None]


def is_bound(processes: Sequence[ProcessSummary], digits: float | None, work: Work) -> bool:
    """Return whether the times of these processes at ``digits`` are known from above only.

    In every process that has points at all the loosest tolerance that was tried was measured, is more accurate than
    ``digits``, and is the first point of the front. And it is separated from the others: the fastest of them takes
    longer, with an interval over the processes that excludes 1. One process has no interval, and is not compared
    either; its order is taken as it is. Where the loosest tolerance is not that fast, a looser one promises no less
    time, and the time is the time.
    """
    if digits is None:
        return False
    measured = [process for process in processes if any(work(point) is not None for point in process.points)]
    firsts = [_first(process, digits, work) for process in measured]
    known = [first for first in firsts if first is not None]
    if not known or len(known) < len(firsts):
        return False
    others = [(first, other) for first, other in known if other is not None]
    if not others:
        # A single tolerance was measured in each.
        return True
    ratio = paired_ratio([first for first, _ in others], [other for _, other in others])
    return ratio.low > 1 if ratio.n > 1 else ratio.estimate > 1


def _first(process: ProcessSummary, digits: float, work: Work) -> tuple[float, float | None] | None:
    """The time at the loosest tolerance and the least at any other; ``None`` if it is not a bound."""
    loosest = max(point.rtol for point in process.points)
    points: dict[float, WorkPoint] = {
        point.rtol: found for point in process.points if (found := work(point)) is not None
    }
    first = points.pop(loosest, None)
    if first is None or not first.digits > digits or pareto_front([first, *points.values()])[:1] != (first,):
        return None
    return first.time, min((point.time for point in points.values()), default=None)


@dataclass(frozen=True)
class Target:
    """The point of comparison: at equal achieved ``digits``, or, without a reference, at an equal ``rtol``.

    Models, which are right before they are timed, are compared at an equal ``batch``.
    """

    digits: float | None
    rtol: float | None
    batch: int | None = None


@dataclass(frozen=True)
class Time:
    """Seconds per call over the processes at the target; ``reason`` says why there are none.

    ``blocks`` has the process of each block, by which cells are compared; ``axis`` is the error of reading times at
    equal accuracy, which all processes share.
    """

    seconds: Spread | None
    at_most: bool = False
    reason: str = ""
    blocks: Mapping[int, float | None] = field(default_factory=dict[int, "float | None"])
    axis: AxisError | None = None


@dataclass(frozen=True)
class Row:
    """One cell's line. ``scd``, ``mescd`` and ``gradient_error`` are the best of its points; ``..._capped`` says that
    the reference itself is no better. ``worst_component`` belongs to the point with the best ``gradient_error``.
    """

    summary: CellSummary
    solve: Time
    gradient: Time
    scd: float | None
    mescd: float | None
    solve_capped: bool
    gradient_error: float | None
    gradient_capped: bool
    worst_component: str | None = None
    worst_component_error: float | None = None

    @property
    def name(self) -> str:
        """Return how the row is called in a sentence."""
        return self.summary.cell.solver


@dataclass(frozen=True)
class Comparison:
    """All cells of one problem against the same two targets."""

    problem: str
    solve_target: Target
    gradient_target: Target
    rows: tuple[Row, ...]


def comparisons(summary: RunSummary) -> dict[str, Comparison]:
    """The comparison of each problem of a run, in the plan's order."""
    return {name: compare(name, summary.of_problem(name)) for name in summary.problems}


def compare(problem: str, cells: Sequence[CellSummary]) -> Comparison:
    """The rows of the cells of a problem that have times to show."""
    timed = [cell for cell in cells if cell.timed]
    solve_target = _target(timed, lambda point: point.solve.work, lambda point: point.solve.seconds)
    gradient_target = _target(timed, lambda point: point.gradient.work, lambda point: point.gradient.seconds)
    return Comparison(
        problem=problem,
        solve_target=solve_target,
        gradient_target=gradient_target,
        rows=tuple(_row(cell, solve_target, gradient_target) for cell in timed),
    )


def _target(cells: Sequence[CellSummary], work: Work, seconds: Callable[[PointSummary], float | None]) -> Target:
    batch = max((point.batch for cell in cells for point in cell.points if point.batch is not None), default=None)
    if batch is not None:
        return Target(None, None, batch)
    digits = common_target(work_points(cell.processes, work) for cell in cells)
    if digits is not None:
        return Target(digits, None)
    # Without a reference errors are unknown: the tightest tolerance at which the most cells have a time.
    votes: dict[float, int] = {}
    for cell in cells:
        timed = {p.rtol for process in cell.processes for p in process.points if seconds(p) is not None}
        for rtol in timed:
            votes[rtol] = votes.get(rtol, 0) + 1
    return Target(None, max(votes, key=lambda rtol: (votes[rtol], -rtol), default=None))


def work_points(processes: Sequence[ProcessSummary], work: Work) -> list[WorkPoint]:
    """The points of these processes whose error and time are both known."""
    points = (work(point) for process in processes for point in process.points)
    return [point for point in points if point is not None]


def _row(cell: CellSummary, solve_target: Target, gradient_target: Target) -> Row:
    points = cell.points
    mescd = max((point.mescd for point in points if point.mescd is not None), default=None)
    error = min((point.gradient_error for point in points if point.gradient_error is not None), default=None)
    best = next((point for point in points if error is not None and point.gradient_error == error), None)
    return Row(
        summary=cell,
        solve=_time(cell, solve_target, lambda point: point.solve.work, lambda point: point.solve.seconds),
        gradient=_time(cell, gradient_target, lambda point: point.gradient.work, lambda point: point.gradient.seconds),
        scd=max((point.scd for point in points if point.scd is not None), default=None),
        mescd=mescd,
        solve_capped=any(point.mescd == mescd and point.solve.below_reference for point in points),
        gradient_error=error,
        gradient_capped=any(point.gradient_error == error and point.gradient.below_reference for point in points),
        worst_component=best.worst_component if best else None,
        worst_component_error=best.worst_component_error if best else None,
    )


def _time(cell: CellSummary, target: Target, work: Work, seconds: Callable[[PointSummary], float | None]) -> Time:
    """One reading per process, then their spread."""
    readings = {process.block: reading(process, target, work, seconds) for process in cell.processes}
    found = spread(item.time for item in readings.values())
    if found is None:
        return Time(None, reason=next((item.reason for item in readings.values() if item.reason), "not measured"))
    blocks = {block: item.time for block, item in readings.items()}
    at_most = is_bound(cell.processes, target.digits, work)
    return Time(found, at_most=at_most, blocks=blocks, axis=axis_at(cell.processes, target, work))


def axis_at(processes: Sequence[ProcessSummary], target: Target, work: Work) -> AxisError | None:
    """The error of reading a time at a target off the front of these processes, all taken together.

    ``None`` if the target is not an accuracy.
    """
    if target.digits is None:
        return None
    found: dict[float, list[WorkPoint]] = {}
    for point in (point for process in processes for point in process.points):
        if (known := work(point)) is not None:
            found.setdefault(point.rtol, []).append(known)
    # The digits of a tolerance are the same in every process, or nearly so.
    front = [
        WorkPoint(median(point.digits for point in points), geometric_mean(point.time for point in points))
        for points in found.values()
        if all(0 < point.time < math.inf and math.isfinite(point.digits) for point in points)
    ]
    return axis_error(front, target.digits)


def reading(
    process: ProcessSummary, target: Target, work: Work, seconds: Callable[[PointSummary], float | None]
) -> Reading:
    """The time of one process at a target, or why it has none."""
    if target.digits is not None:
        return time_at(work_points([process], work), target.digits)
    if target.batch is not None:
        found = next((point for point in process.points if point.batch == target.batch), None)
        taken = None if found is None else seconds(found)
        return Reading(taken, reason="" if taken is not None else "failed at this batch")
    if target.rtol is None and any(point.outcome is Outcome.OK for point in process.points):
        return Reading(None, reason="not measured")
    for point in process.points:
        if point.rtol == target.rtol and seconds(point) is not None:
            return Reading(seconds(point))
    return Reading(None, reason="failed at this tolerance")

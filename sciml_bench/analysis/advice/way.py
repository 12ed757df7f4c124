"""A way of a problem with its cost, as the processes of its cell measured it, or the reason why it has none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sciml_bench.analysis.advice.call_cost import LOOSEST, call_cost, unjudged
from sciml_bench.analysis.process_summary import ProcessSummary
from sciml_bench.analysis.rows import is_bound
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables import formatting
from sciml_bench.planning.purpose import Advised
from sciml_bench.record.task import Cell
from sciml_bench.stats.break_even import Cost
from sciml_bench.stats.spread import Spread, spread


@dataclass(frozen=True)
class Way:
    """A way with its cost, or the ``reason`` why it has none; ``rtol`` and ``there_s`` also if its error is unknown.

    ``first`` and ``each`` are seconds over its processes, ``each`` at the requested accuracy, read between tolerances.
    ``rtol`` is the loosest tolerance that reached it, ``error`` its error, and ``there_s`` the time of a call there.
    ``raced`` counts the blocks of its race, 0 if it was only screened. ``factor`` is its cost over the first way's,
    with an interval if it was raced.
    """

    cell: Cell
    cost: Cost | None = None
    first: Spread | None = None
    each: Spread | None = None
    at_most: bool = False
    rtol: float | None = None
    error: float | None = None
    there_s: float | None = None
    raced: int = 0
    factor: float | None = None
    interval: tuple[float, float] | None = None
    reason: str = ""

    @property
    def name(self) -> str:
        """Its name."""
        return self.cell.solver

    @property
    def factor_text(self) -> str:
        """Its factor, with the interval if there is one."""
        if self.factor is None:
            return ""
        interval = "" if self.interval is None else f" [{', '.join(map(formatting.ratio, self.interval))}]"
        return f"{formatting.ratio(self.factor)}{interval}"


def way_of(looked: CellSummary, raced: CellSummary | None, advised: Advised) -> Way:
    """The way of a cell that was looked at, and perhaps raced."""
    item = raced or looked
    found = [call_cost(process, advised.call, advised.digits) for process in item.processes]
    costs = [one.cost for one in found if one.cost is not None]
    first, each = spread(cost.first_s for cost in costs), spread(cost.each_s for cost in costs)
    if first is None or each is None:
        reason = next((one.reason for one in found if one.reason), "not measured")
        rtol, there_s = _of_unjudged(item.processes, advised)
        return Way(item.cell, reason=reason, rtol=rtol, there_s=there_s)
    points = [point for process in item.processes for point in process.points]
    reached = [
        (point.rtol, work.digits)
        for point in points
        if (work := point.half(advised.call).work) is not None and work.digits >= advised.digits
    ]
    rtol, digits = max(reached, default=(None, None))
    there = spread(point.half(advised.call).seconds for point in points if point.rtol == rtol)
    return Way(
        item.cell,
        cost=Cost(first.median, each.median),
        first=first,
        each=each,
        at_most=max(point.rtol for point in points) < LOOSEST
        and not _missed(looked, rtol, advised)
        and is_bound(item.processes, advised.digits, lambda point: point.half(advised.call).work),
        rtol=rtol,
        error=None if digits is None else 10.0**-digits,
        there_s=None if there is None else there.median,
        raced=len(raced.processes) if raced else 0,
    )


def failed_way(raced: CellSummary, block: int, advised: Advised) -> Way:
    """A way that gave no call at the accuracy in a block of its race, whatever it gave in others."""
    processes = [process for process in raced.processes if not process.starved]
    found = {process.block: call_cost(process, advised.call, advised.digits) for process in processes}
    lost = [number for number, one in found.items() if one.cost is None]
    if len(lost) == len(found):
        return way_of(raced, raced, advised)
    return Way(raced.cell, reason=f"{found[block].reason} (in {len(lost)} of {len(found)} blocks)", raced=len(found))


def _missed(item: CellSummary, rtol: float | None, advised: Advised) -> bool:
    """Return whether a looser tolerance than this one missed the accuracy."""
    works = [(p.rtol, p.half(advised.call).work) for process in item.processes for p in process.points]
    return any(rtol and loose > rtol and work is not None and work.digits < advised.digits for loose, work in works)


def _of_unjudged(processes: Sequence[ProcessSummary], advised: Advised) -> tuple[float | None, float | None]:
    """The tolerance nearest to the asked accuracy of calls without a known error, and their seconds."""
    seconds = {rtol: each_s for process in processes for rtol, each_s in unjudged(process, advised.call).items()}
    rtol = min(seconds, key=lambda rtol: abs(math.log(rtol / advised.accuracy)), default=None)
    return rtol, None if rtol is None else seconds[rtol]

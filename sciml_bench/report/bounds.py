"""Whether a time at equal accuracy is an upper bound only: the loosest tolerance is already more accurate than that.

The fastest point of a process is not by that the loosest tolerance: where tolerances differ by less than the noise, any
of them comes first. So more is asked for than one process that looks like it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sciml_bench.report.summary import PointSummary, ProcessSummary
from sciml_bench.stats.front import WorkPoint, pareto_front
from sciml_bench.stats.ratio import paired_ratio

Work = Callable[[PointSummary], WorkPoint | None]


def is_bound(processes: Sequence[ProcessSummary], digits: float | None, work: Work) -> bool:
    """Whether the times of these processes at ``digits`` are known from above only.

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
    """The time at the loosest tolerance and the least at any other; ``None`` where it is no bound."""
    loosest = max(point.rtol for point in process.points)
    points: dict[float, WorkPoint] = {
        point.rtol: found for point in process.points if (found := work(point)) is not None
    }
    first = points.pop(loosest, None)
    if first is None or not first.digits > digits or pareto_front([first, *points.values()])[:1] != (first,):
        return None
    return first.time, min((point.time for point in points.values()), default=None)

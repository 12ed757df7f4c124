"""Releases of a package against each other: the same ways in environments that differ in it, in the same blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from sciml_bench.analysis.analysis import Analysis, ProblemAnalysis
from sciml_bench.analysis.ranking import QUANTITIES
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.record.retry_policy import EQUAL_ENDS
from sciml_bench.record.task import AT, Cell
from sciml_bench.stats.ratio import Ratio, pair, paired_ratio
from sciml_bench.stats.verdict import Judgement, Verdict, judge

FIRST = "first gradient"
"""From the start of the process to the end of the first gradient: imports, compilation and all."""


class Found(StrEnum):
    """The finding on a way in the newer of two releases: a verdict, or which of the two fails."""

    FASTER = Verdict.FASTER
    SLOWER = Verdict.SLOWER
    SAME = Verdict.SAME
    UNDECIDED = Verdict.UNDECIDED
    BROKEN = "broken"
    MENDED = "mended"
    FAILS = "fails in both"


@dataclass(frozen=True)
class Change:
    """One way in two environments: the newer one's time over the older one's, or the outcome of the one that fails.

    ``way`` is the cell with its adapter alone. ``ratio`` is ``None`` if a side fails.
    """

    way: Cell
    quantity: str
    older: str
    newer: str
    found: Found
    ratio: Ratio | None = None
    outcome: str = ""


def changes(analysis: Analysis, environments: Sequence[str]) -> tuple[Change, ...]:
    """Each way in each environment against the one before it, in this order of environments.

    ``gradient`` and ``solve`` are read at equal accuracy and judged with all pairs of the run; :data:`FIRST` is a
    separate family. Everything is undecided in a run that names no winner.
    """
    found: list[Change] = []
    for problem in analysis.problems:
        for way, cells in _ways(problem.cells).items():
            for older, newer in pairwise(environments):
                if older in cells and newer in cells:
                    base = Change(way, FIRST, older, newer, Found.UNDECIDED)
                    found += _compared(base, (cells[older], cells[newer]), problem, analysis)
    if analysis.judged is None:
        return tuple(found)
    firsts = {at: item.ratio for at, item in enumerate(found) if item.quantity == FIRST and item.ratio is not None}
    for at, judgement in judge(firsts).items():
        found[at] = _judged(found[at], judgement)
    return tuple(found)


def _ways(cells: Sequence[CellSummary]) -> dict[Cell, dict[str, CellSummary]]:
    """The cells of each way that were tried, by their environment."""
    found: dict[Cell, dict[str, CellSummary]] = {}
    for summary in cells:
        adapter, _, environment = summary.cell.adapter.partition(AT)
        if summary.processes:
            found.setdefault(replace(summary.cell, adapter=adapter), {})[environment] = summary
    return found


def _compared(
    base: Change, cells: tuple[CellSummary, CellSummary], problem: ProblemAnalysis, analysis: Analysis
) -> Iterator[Change]:
    works = [cell.measured and len(cell.failing) < EQUAL_ENDS for cell in cells]
    if not all(works):
        finding = {(True, False): Found.BROKEN, (False, True): Found.MENDED}.get((works[0], works[1]), Found.FAILS)
        yield replace(base, found=finding, outcome=_ended(cells[1 if works[0] else 0]))
        return
    older, newer = ({p.block: p.first_gradient_process_s for p in cell.processes} for cell in cells)
    firsts = pair(older, newer)
    if firsts.blocks:
        yield replace(base, ratio=paired_ratio(firsts.base, firsts.new))
    rows = {row.summary.cell_id: row for row in problem.comparison.rows}
    first, second = (rows.get(cell.cell_id) for cell in cells)
    if analysis.judged is None or first is None or second is None:
        return
    for quantity in QUANTITIES:
        judgement = analysis.judged.between(quantity, first, second)
        if judgement is not None:
            yield _judged(replace(base, quantity=quantity), judgement)


def _ended(cell: CellSummary) -> str:
    """Say how a cell failed, and in how many of its processes if not in all."""
    if not cell.measured:
        return str(cell.outcome)
    return f"{cell.failing[0].outcome} in {len(cell.failing)} of {len(cell.processes)} processes"


def _judged(change: Change, judgement: Judgement) -> Change:
    return replace(change, found=Found(judgement.verdict.value), ratio=judgement.ratio)

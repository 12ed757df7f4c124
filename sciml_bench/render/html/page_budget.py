"""The cells that a page draws and explains one by one, if there are more than a page can hold."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sciml_bench.analysis.rows import compare
from sciml_bench.analysis.summary import CellSummary, RunSummary

# Bytes of a page as measured by benchmarks/report_page.py, a little too much rather than too little.
_PAGE_BYTES = 7_300_000

_FRAME_BYTES = 400_000

_LISTED_CELL_BYTES = 2_000

_RECORD_BYTES = 145

_DRAWN_CELL_BYTES = 13_000

_FEWEST = 3

_DIVISIONS = ("idiomatic", "matched")


@dataclass(frozen=True)
class PageBudget:
    """The ids of the cells that are drawn, for each problem that has more; the others are drawn whole."""

    drawn: Mapping[str, frozenset[str]]

    def draws(self, cell: CellSummary) -> bool:
        """Return whether a cell is drawn and explained."""
        chosen = self.drawn.get(cell.cell.problem)
        return chosen is None or cell.cell_id in chosen

    def told(self, problem: str, cells: Collection[CellSummary], run: str) -> str:
        """The omissions for a problem, in words; empty if it is drawn whole."""
        if problem not in self.drawn:
            return ""
        return (
            f"Drawn and explained here are {len(self.drawn[problem])} of {len(cells)} cells: the recommended ways, "
            "then the matched ones, then the others, each beginning with the fastest gradients. Tables, failures and "
            f"records have all; `sciml-bench plot KIND {run} --problem {problem}` draws all."
        )


def page_budget(summary: RunSummary) -> PageBudget:
    """The drawn part of a run: everything, if it fits."""
    records = sum(len(cell.processes) for cell in summary.cells.values())
    left = _PAGE_BYTES - _FRAME_BYTES - _LISTED_CELL_BYTES * len(summary.cells) - _RECORD_BYTES * records
    # If all cells fit, problems of many cells may take the room that problems of few leave.
    if _DRAWN_CELL_BYTES * len(summary.cells) <= left:
        return PageBudget({})
    most = max(_FEWEST, math.floor(left / _DRAWN_CELL_BYTES / max(1, len(summary.problems))))
    many = {name: cells for name in summary.problems if len(cells := summary.of_problem(name)) > most}
    return PageBudget({name: _leading(name, cells, most) for name, cells in many.items()})


def _leading(problem: str, cells: Collection[CellSummary], most: int) -> frozenset[str]:
    """The first of a problem's cells: the recommended ways before the matched, fast gradients before slow ones."""
    seconds = {row.summary.cell_id: row.gradient.seconds for row in compare(problem, list(cells)).rows}

    def key(cell: CellSummary) -> tuple[int, float]:
        known = seconds.get(cell.cell_id)
        place = _DIVISIONS.index(cell.division) if cell.division in _DIVISIONS else len(_DIVISIONS)
        return (place, known.median if known else math.inf)

    return frozenset(cell.cell_id for cell in sorted(cells, key=key)[:most])

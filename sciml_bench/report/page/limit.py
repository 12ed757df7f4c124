"""Which cells a page draws and explains one by one, where there are more than a page can hold.

A page of 10⁴ records is to stay below 8 MiB, whatever their shape. Its tables, its failures and its records always have
every cell; figures with their data and the explanations of gaps are what grows fastest, and for most of hundreds of
cells nobody looks at them. The page says how many it left out, and which command draws them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sciml_bench.report.rows import compare
from sciml_bench.report.summary import CellSummary, RunSummary

# Bytes of a page as measured by benchmarks/report_page.py, a little too much rather than too little.
_PAGE_BYTES = 7_300_000
_FRAME_BYTES = 400_000
_LISTED_CELL_BYTES = 2_000
_RECORD_BYTES = 145
_DRAWN_CELL_BYTES = 13_000

_FEWEST = 3
_DIVISIONS = ("idiomatic", "matched")


@dataclass(frozen=True)
class Limit:
    """The ids of the cells that are drawn, for each problem that has more; the others are drawn whole."""

    drawn: Mapping[str, frozenset[str]]

    def draws(self, cell: CellSummary) -> bool:
        """Whether a cell is drawn and explained."""
        chosen = self.drawn.get(cell.cell.problem)
        return chosen is None or cell.cell_id in chosen

    def told(self, problem: str, cells: Collection[CellSummary], run: str) -> str:
        """What is left out for a problem, in words; empty when it is drawn whole."""
        if problem not in self.drawn:
            return ""
        return (
            f"Drawn and explained here are {len(self.drawn[problem])} of {len(cells)} cells: the recommended ways, "
            "then the matched ones, then the others, each beginning with the fastest gradients. Tables, failures and "
            f"records have all; `sciml-bench plot KIND {run} --problem {problem}` draws all."
        )


def limit(summary: RunSummary) -> Limit:
    """What is drawn of a run: everything, where it fits."""
    records = sum(len(cell.processes) for cell in summary.cells.values())
    left = _PAGE_BYTES - _FRAME_BYTES - _LISTED_CELL_BYTES * len(summary.cells) - _RECORD_BYTES * records
    # Where all cells fit, problems of many cells may take what those of few leave.
    if _DRAWN_CELL_BYTES * len(summary.cells) <= left:
        return Limit({})
    most = max(_FEWEST, math.floor(left / _DRAWN_CELL_BYTES / max(1, len(summary.problems))))
    many = {name: cells for name in summary.problems if len(cells := summary.of_problem(name)) > most}
    return Limit({name: _leading(name, cells, most) for name, cells in many.items()})


def _leading(problem: str, cells: Collection[CellSummary], most: int) -> frozenset[str]:
    """The first of a problem's cells: the recommended ways before the matched, fast gradients before slow ones."""
    seconds = {id(row.summary): row.gradient.seconds for row in compare(problem, list(cells)).rows}

    def key(cell: CellSummary) -> tuple[int, float]:
        known = seconds.get(id(cell))
        place = _DIVISIONS.index(cell.division) if cell.division in _DIVISIONS else len(_DIVISIONS)
        return (place, known.median if known else math.inf)

    return frozenset(cell.cell_id for cell in sorted(cells, key=key)[:most])

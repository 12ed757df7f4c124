"""The reliability of each cell on perturbed parameters: right, honest about failing, or silently wrong."""

from __future__ import annotations

from collections.abc import Iterable

from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables.table import CELL, Column, Entry, Table, cell_entries, number_entry
from sciml_bench.stats.proportion import Proportion
from sciml_bench.stats.reliability import Stability, stability


def shares(cell: CellSummary) -> Stability | None:
    """The shares of a cell; ``None`` when nothing was tried."""
    counts = [sum(process.trials.get(kind, 0) for process in cell.processes) for kind in ("right", "honest", "silent")]
    return stability(*counts) if any(counts) else None


def stability_table(cells: Iterable[CellSummary]) -> Table | None:
    """The table of a problem, cells that are silently wrong most often last; ``None`` when nothing was tried."""
    found = [(cell, of_cell) for cell in cells if cell.processes and (of_cell := shares(cell)) is not None]
    if not found:
        return None
    found.sort(key=lambda item: (item[1].silent.share, -item[1].right.share))
    return Table(
        caption="stability: solves with every parameter changed by up to a factor of two, at all tolerances",
        columns=(*CELL, *(Column(text, True) for text in ("trials", "right", "honest failure", "silently wrong"))),
        rows=tuple(
            (
                *cell_entries(cell.cell),
                number_entry(of_cell.right.total, "d"),
                *map(_entry, (of_cell.right, of_cell.honest, of_cell.silent)),
            )
            for cell, of_cell in found
        ),
        names=len(CELL),
        reading="In brackets: the 95 % interval of the share.",
        cell_ids=tuple(cell.cell_id for cell, _ in found),
    )


def _entry(part: Proportion) -> Entry:
    """A share with its 95 % interval, such as ``92 % (65–99)``."""
    return Entry(f"{100 * part.share:.0f} %", f"{100 * part.low:.0f}–{100 * part.high:.0f}", part.share)

"""How dependable each cell is on perturbed parameters: right, honest about failing, or silently wrong."""

from __future__ import annotations

from collections.abc import Iterable

from sciml_bench.report.layouts import Layout
from sciml_bench.report.summary import CellSummary
from sciml_bench.stats.share import Share
from sciml_bench.stats.stability import Stability, stability


def shares(cell: CellSummary) -> Stability | None:
    """The shares of a cell; ``None`` when nothing was tried."""
    counts = [sum(process.trials.get(kind, 0) for process in cell.processes) for kind in ("right", "honest", "silent")]
    return stability(*counts) if any(counts) else None


def layout(cells: Iterable[CellSummary]) -> Layout | None:
    """The table of a problem, cells that are silently wrong most often last; ``None`` when nothing was tried."""
    found = [(cell, of_cell) for cell in cells if cell.processes and (of_cell := shares(cell)) is not None]
    if not found:
        return None
    found.sort(key=lambda item: (item[1].silent.share, -item[1].right.share))
    return Layout(
        headings=["adapter", "method", "sensitivity", "mode", "trials", "right", "honest failure", "silently wrong"],
        rows=[
            [
                cell.cell.adapter, cell.cell.method, cell.cell.sensitivity, cell.cell.mode, str(of_cell.right.total),
                *map(_text, (of_cell.right, of_cell.honest, of_cell.silent)),
            ]
            for cell, of_cell in found
        ],
        first_number=4,
    )  # fmt: skip


def _text(part: Share) -> str:
    """A share with its 95 % interval, such as ``92 % (65–99)``."""
    return f"{100 * part.share:.0f} % ({100 * part.low:.0f}–{100 * part.high:.0f})"

"""The trainings of a problem as a table of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sciml_bench.report import training_table
from sciml_bench.report.page.table import Entry, Heading, Places, Table
from sciml_bench.report.summary import CellSummary
from sciml_bench.report.training import TrainingRow, goal, training_rows
from sciml_bench.stats.processes import Spread


def training_table_of(
    id_: str, cells: Sequence[CellSummary], places: Places, cell_ids: Mapping[int, str]
) -> Table | None:
    """The table; ``None`` where nothing was trained. ``cell_ids`` are by the identity of the cell's summary."""
    rows = training_rows(cells)
    if not rows:
        return None
    layout = training_table.layout(rows)
    caption = training_table.caption(rows)
    return Table(
        id=id_,
        caption=f"{caption[0].upper()}{caption[1:]}",
        headings=(
            *(Heading(text, place >= layout.first_number) for place, text in enumerate(layout.headings)),
            Heading("records"),
        ),
        rows=tuple(
            (*_entries(row, texts), places.entry(cell_ids[id(row.cell)]))
            for row, texts in zip(rows, layout.rows, strict=True)
        ),
        note=" ".join(f"{note.rstrip('.')}." for note in training_table.notes(rows)),
    )


def _entries(row: TrainingRow, texts: Sequence[str]) -> list[Entry]:
    """The texts of a row, each number with its value to sort by."""
    losses = row.trained.losses
    reached = (row.to_target, row.to_target_from_process) if goal(row.trained.settings) else ()
    values: list[float | None] = [
        float(len(losses)),
        losses[0] if losses else None,
        losses[-1] if losses else None,
        *(_median(spread) for spread in (row.first_step, row.step, *reached)),
        row.distance,
    ]
    unsorted = len(texts) - len(values)
    return [
        *(Entry(text) for text in texts[:unsorted]),
        *(Entry(text, value=value) for text, value in zip(texts[unsorted:], values, strict=True)),
    ]


def _median(spread: Spread | None) -> float | None:
    return None if spread is None else spread.median

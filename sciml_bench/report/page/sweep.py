"""How cost grows over a sweep, as tables of the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sciml_bench.report import sweep_text
from sciml_bench.report.page.table import Entry, Heading, Places, Table
from sciml_bench.report.summary import RunSummary
from sciml_bench.report.sweep import SweepRow, SweepTable, sweep_tables


def sweep_tables_of(summary: RunSummary, prefix: str, places: Places, cell_ids: Mapping[int, str]) -> Iterator[Table]:
    """The tables of a sweep; none for any other run. ``cell_ids`` are by the identity of the cell's summary."""
    found = list(sweep_tables(summary))
    for number, table in enumerate(found):
        layout = sweep_text.layout(table)
        caption = sweep_text.caption(table)
        notes = [*sweep_text.notes(table), *([sweep_text.reading_help(found).rstrip(".")] if number == 0 else [])]
        yield Table(
            id=f"{prefix}-{number}",
            caption=f"{caption[0].upper()}{caption[1:]}",
            headings=(
                *(Heading(text, place >= layout.first_number) for place, text in enumerate(layout.headings)),
                *(Heading(f"records at {text}") for text in layout.headings[4:-1]),
            ),
            rows=tuple(
                (*_entries(table, row, texts), *_records(table, row, places, cell_ids))
                for row, texts in zip(table.rows, layout.rows, strict=True)
            ),
            note=" ".join(f"{note[0].upper()}{note[1:]}." for note in notes),
        )


def _entries(table: SweepTable, row: SweepRow, texts: list[str]) -> Iterator[Entry]:
    """The texts of a row, each number with its value to sort by and its range over the processes."""
    yield from (Entry(text) for text in texts[:4])
    for size, text in zip(table.axis.sizes, texts[4:-1], strict=True):
        spread = row.values[size].spread
        yield Entry(text, value=None if spread is None else spread.median)
    yield Entry(texts[-1], value=None if row.power is None else row.power.exponent)


def _records(table: SweepTable, row: SweepRow, places: Places, cell_ids: Mapping[int, str]) -> Iterator[Entry]:
    for size in table.axis.sizes:
        cell = row.solver.cells.get(table.axis.problems[size])
        yield Entry("–") if cell is None else places.entry(cell_ids[id(cell)])

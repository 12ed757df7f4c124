"""How cost grows over a sweep, as tables of the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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
            headings=tuple(Heading(text, at >= layout.first_number) for at, text in enumerate(layout.headings)),
            rows=tuple(
                tuple(_entries(table, row, texts, places, cell_ids))
                for row, texts in zip(table.rows, layout.rows, strict=True)
            ),
            note=" ".join(f"{note[0].upper()}{note[1:]}." for note in notes),
        )


def _entries(
    table: SweepTable, row: SweepRow, texts: Sequence[str], places: Places, cell_ids: Mapping[int, str]
) -> Iterator[Entry]:
    """The texts of a row, each number with its value to sort by and a link to its records."""
    yield from (Entry(text) for text in texts[:4])
    for size, text in zip(table.axis.sizes, texts[4:-1], strict=True):
        spread, cell = row.values[size].spread, row.solver.cells.get(table.axis.problems[size])
        link = "" if cell is None else places.entry(cell_ids[id(cell)]).link
        yield Entry(text, value=None if spread is None else spread.median, link=link)
    exponent, _, bent = texts[-1].partition(", ")
    yield Entry(exponent, bent, value=None if row.power is None else row.power.exponent)

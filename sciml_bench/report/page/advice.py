"""What to take for the problems of each kind, as a table of the page."""

from __future__ import annotations

from collections.abc import Sequence

from sciml_bench.report import advice_table
from sciml_bench.report.advice import advice
from sciml_bench.report.page.table import Entry, Heading, Table
from sciml_bench.report.tables import RowTable
from sciml_bench.report.traces import Reading

_NUMBERS = ("gradients", "factor")


def advice_table_of(reading: Reading, found: Sequence[RowTable], id_: str) -> Table | None:
    """The table, where the run has several problems and compares; else ``None``."""
    summary = reading.summary
    advised = advice(summary.plan, found) if reading.comparable and len(summary.problems) > 1 else ()
    if not advised:
        return None
    layout = advice_table.layout(advised)
    notes = " ".join(f"{line.strip()}." for line in advice_table.notes(advised))
    rows: list[tuple[Entry, ...]] = []
    for item, (problems, gradients, take, factor, even, following) in zip(advised, layout.rows, strict=True):
        numbers = Entry(gradients, value=float(item.gradients)), Entry(take), Entry(factor, value=item.factor)
        rows.append((Entry(problems), *numbers, Entry(even), Entry(following)))
    return Table(
        id=id_,
        caption=f"{advice_table.CAPTION[0].upper()}{advice_table.CAPTION[1:]}",
        headings=tuple(Heading(text, text in _NUMBERS) for text in layout.headings),
        rows=tuple(rows),
        note=f"{notes} {advice_table.HELP}",
    )

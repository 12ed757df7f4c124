"""Tables in the Markdown of GitHub."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.tables.cells import paper_tables
from sciml_bench.analysis.tables.table import Table
from sciml_bench.charts.chart import clean

# Brackets and hyphens inside a line are not markup once their partners are escaped.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&]|^[-+])")

# GitHub shows a table of this many columns without scrolling; ``only`` takes them from the table of the report.
_HEADINGS = (
    "1st gradient", "solve", "gradient", "scd", "gradient error", "memory", "cost of 10⁶ gradients", "verdict",
)  # fmt: skip


_LONGEST_NOTE = 400


def escaped(text: str, longest: int = 200) -> str:
    """One line in which nothing is markup; a name after ``@`` is not called, and ``#1`` refers to no issue."""
    return _SPECIAL.sub(r"\\\1", clean(text, longest)).replace("@", "@\u200b").replace("://", ":\u200b//")


def markdown(analysis: Analysis, price_per_hour: float | None = None) -> Iterator[str]:
    """The tables of cells as lines of text, without line feeds."""
    for problem, table in paper_tables(analysis, price_per_hour):
        yield from table_lines(f"{problem}: {table.caption}", table.only(_HEADINGS).named())


def table_lines(heading: str, table: Table) -> Iterator[str]:
    """One table below its heading."""
    yield f"### {escaped(heading)}"
    yield ""
    yield f"| {' | '.join(escaped(column.text) for column in table.columns)} |"
    yield f"|{'|'.join('--:' if column.number else '---' for column in table.columns)}|"
    for row in table.rows:
        # The reason of a missing number is too long for a column of numbers.
        texts = (f"{entry.text} ({entry.below})" if entry.below else entry.text for entry in row)
        yield f"| {' | '.join(map(escaped, texts))} |"
    yield ""
    for note in table.notes:
        yield escaped(note, _LONGEST_NOTE)
        yield ""

"""Grouping of rows: one table per problem and division, and within the matched one, one per group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sciml_bench.analysis.rows import Comparison, Row
from sciml_bench.analysis.summary import CellSummary

# Divisions are never mixed in one table.
DIVISIONS: tuple[tuple[str, str, Callable[[CellSummary], bool]], ...] = (
    (
        "idiomatic",
        "each library's best way, and its default if it differs",
        lambda cell: cell.division == "idiomatic",
    ),
    ("matched", "same method family, order and sensitivity", lambda cell: bool(cell.group)),
    ("other", "further combinations", lambda cell: cell.division == "other" and not cell.group),
)


@dataclass(frozen=True)
class RowTable:
    """Rows that may be compared with each other, the fastest gradient first."""

    problem: str
    name: str
    meaning: str
    rows: tuple[Row, ...]

    @property
    def heading(self) -> str:
        """The heading above it."""
        return f"{self.name} ({self.meaning})"


def tables(comparison: Comparison) -> Iterator[RowTable]:
    """The tables of one problem."""
    for division, meaning, belongs in DIVISIONS:
        rows = sorted((row for row in comparison.rows if belongs(row.summary)), key=_gradient_key)
        if division != "matched":
            if rows:
                yield RowTable(comparison.problem, division, meaning, tuple(rows))
            continue
        for group in sorted({row.summary.group for row in rows}):
            of_group = tuple(row for row in rows if row.summary.group == group)
            yield RowTable(comparison.problem, f"{division}: {group}", meaning, of_group)


def _gradient_key(row: Row) -> tuple[bool, float]:
    seconds = row.gradient.seconds
    return (True, 0.0) if seconds is None else (False, seconds.median)

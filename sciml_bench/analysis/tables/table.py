"""A table of the report: columns, rows of entries, notes. The terminal, the page, Markdown and LaTeX all draw this one.

Builders are in :mod:`sciml_bench.analysis.tables`. JSON has the same numbers unrounded, and is not made from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from sciml_bench.analysis.tables import formatting
from sciml_bench.record.task import Cell
from sciml_bench.stats.location import median_interval
from sciml_bench.stats.spread import Spread

# Two processes have an interval ten times as wide as their distance: it only says that there are two.
_FEWEST_FOR_INTERVAL = 3


class Unit(StrEnum):
    """The unit of a column's values, for renderings that format numbers themselves."""

    NONE = ""
    SECONDS = "s"
    BYTES = "bytes"
    ERROR = "error"


@dataclass(frozen=True)
class Column:
    """A column: its heading, whether it holds numbers and in which unit, its meaning, whether it holds sentences.

    A terminal that is too narrow leaves out columns with a ``rank``, the highest first; 0 is always shown.
    """

    text: str
    number: bool = False
    meaning: str = ""
    wide: bool = False
    unit: Unit = Unit.NONE
    rank: int = 0


@dataclass(frozen=True)
class Entry:
    """One entry: a text, a smaller text below it, and its sort value.

    ``reason`` says why a number is missing. ``half`` is half the width of the 95 % interval of ``value``, and
    ``at_most`` says that it is an upper bound. ``mark`` is ``best`` for an entry judged better than every other row's,
    or a class of the page's style sheet; ``cell_id`` is the cell of the records behind it.
    """

    text: str
    below: str = ""
    value: float | None = None
    reason: str = ""
    half: float | None = None
    at_most: bool = False
    mark: str = ""
    cell_id: str = ""

    @property
    def line(self) -> str:
        """The entry in one line, with the lower text in brackets."""
        extra = self.below or self.reason
        return f"{self.text} ({extra})" if extra else self.text


@dataclass(frozen=True)
class Table:
    """A table with its caption. The first ``names`` columns say what a row is about.

    ``cell_ids`` names the cell of each row, if rows are cells. ``notes`` are lines on the table; a note that begins
    with blanks belongs to the line above it. ``reading`` says how to read it. ``folds`` are the columns in lines above
    each other, for a terminal that is too narrow for all of them side by side.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    names: int = 1
    notes: tuple[str, ...] = ()
    reading: str = ""
    cell_ids: tuple[str, ...] = ()
    folds: tuple[tuple[tuple[int, ...], ...], ...] = ()

    def only(self, headings: Sequence[str]) -> Table:
        """The columns of these headings, after the columns that name the row."""
        kept = [*range(self.names), *(at for heading in headings for at in self._places(heading))]
        return replace(
            self,
            columns=tuple(self.columns[at] for at in kept),
            rows=tuple(tuple(row[at] for at in kept) for row in self.rows),
            folds=(),
        )

    def _places(self, heading: str) -> list[int]:
        return [at for at, column in enumerate(self.columns) if column.text == heading]

    def named(self) -> Table:
        """Return the table with the names of a row in one column."""
        names = " ".join(column.text for column in self.columns[: self.names])
        return replace(
            self,
            columns=(Column("cell" if self.cell_ids else names), *self.columns[self.names :]),
            rows=tuple((Entry(self.name(row)), *row[self.names :]) for row in self.rows),
            names=1,
            folds=(),
        )

    def name(self, row: Sequence[Entry]) -> str:
        """The subject of a row, in a few words."""
        return " ".join(entry.text for entry in row[: self.names])


CELL = (Column("adapter"), Column("method"), Column("sensitivity"), Column("mode"))
"""The columns that name a cell of an equation."""


def cell_entries(cell: Cell, *, default: str = "") -> tuple[Entry, ...]:
    """The names of a cell; precision and device follow the mode if they are unusual, ``default`` follows the adapter
    if the cell is the library's default.
    """
    adapter, *others = cell.words
    return tuple(map(Entry, (f"{adapter} ({default})" if default else adapter, *others)))


def seconds_entry(
    spread: Spread | None,
    of_processes: Iterable[float | None] = (),
    *,
    reason: str = "",
    at_most: bool = False,
    best: bool = False,
) -> Entry:
    """A time: the median over processes, and the smallest and the largest of them below it.

    ``of_processes`` are the times of the processes, from which the interval of the median is computed.
    """
    if spread is None:
        return Entry(formatting.NOTHING, reason=reason)
    known = [seconds for seconds in of_processes if seconds is not None]
    found = median_interval(known) if len(known) >= _FEWEST_FOR_INTERVAL else None
    return Entry(
        ("≤ " if at_most else "") + formatting.duration(spread.median),
        formatting.duration_range(spread),
        spread.median,
        half=None if found is None else (found[1] - found[0]) / 2,
        at_most=at_most,
        mark="best" if best else "",
    )


def bytes_entry(n_bytes: float | None) -> Entry:
    """An amount of memory."""
    return Entry(formatting.size(n_bytes), value=n_bytes)


def error_entry(error: float | None, below: str = "", prefix: str = "") -> Entry:
    """A relative error; ``prefix`` is ``<`` where the reference is no better."""
    return Entry(prefix + formatting.error(error), below, error)


def number_entry(value: float | None, form: str = ".3g") -> Entry:
    """A number without a unit, in a format of Python."""
    return Entry(formatting.NOTHING if value is None else format(value, form), value=value)

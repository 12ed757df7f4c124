"""Tables of the page: the report's tables with an id, links to records and drawings. One template draws them all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from sciml_bench.analysis.loaded_run import RecordEntry
from sciml_bench.analysis.tables.table import Column
from sciml_bench.analysis.tables.table import Entry as ReportEntry
from sciml_bench.analysis.tables.table import Table as ReportTable

# Tables with fewer rows are seen at a glance, and get no filter.
FILTERED_ROWS = 8


@dataclass(frozen=True)
class Entry:
    """What stands in one place: a text, what is smaller below it, and the value that it is sorted by.

    ``link`` is the id of an element of the page; ``mark`` is a class of the style sheet; ``drawing`` is below the
    text.
    """

    text: str
    below: str = ""
    value: float | None = None
    link: str = ""
    mark: str = ""
    drawing: Markup = field(default_factory=Markup)


@dataclass(frozen=True)
class Table:
    """A table with its caption; ``id`` is unique on the page."""

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    note: str = ""

    @property
    def filtered(self) -> bool:
        """Return whether it is long enough for a filter."""
        return len(self.rows) >= FILTERED_ROWS


def sentences(lines: Sequence[str]) -> str:
    """Lines as sentences of one paragraph; many begin with a name, which stays as it is written."""
    return " ".join(f"{text.rstrip('.')}." for line in lines if (text := line.strip()))


class Places:
    """The numbers by which the page names cells, and where the records of each stand."""

    def __init__(self, prefix: str, cell_ids: Iterable[str], traces: Mapping[str, list[RecordEntry]]):
        self.prefix = prefix
        self.numbers = {cell_id: number for number, cell_id in enumerate(cell_ids, start=1)}
        self.traces = traces

    def anchor(self, cell_id: str) -> str:
        """The id of the element that lists the records of a cell; empty for a cell that is not planned."""
        return f"{self.prefix}c{self.numbers[cell_id]}" if cell_id in self.numbers else ""

    def entry(self, cell_id: str) -> Entry:
        """A link to the records of a cell."""
        count = len(self.traces.get(cell_id, ()))
        link = self.anchor(cell_id) if count else ""
        return Entry(f"c{self.numbers[cell_id]}" if cell_id in self.numbers else "–", "", float(count), link)

    def table(self, id_: str, shown: ReportTable, caption: str = "") -> Table:
        """A table of the report in the page's form: each row with a link to its records at the end."""
        recorded = bool(shown.cell_ids)
        rows = [tuple(map(self._linked, row)) for row in shown.rows]
        if recorded:
            rows = [(*row, self.entry(cell_id)) for row, cell_id in zip(rows, shown.cell_ids, strict=True)]
        caption = caption or shown.caption
        return Table(
            id=id_,
            caption=f"{caption[0].upper()}{caption[1:]}",
            columns=(*shown.columns, *([Column("records")] if recorded else [])),
            rows=tuple(rows),
            note=sentences([*shown.notes, shown.reading]),
        )

    def _linked(self, entry: ReportEntry) -> Entry:
        link = self.entry(entry.cell_id).link if entry.cell_id else ""
        mark = entry.mark or ("why" if entry.reason else "")
        return Entry(entry.text, entry.below or entry.reason, entry.value, link, mark)

    def of_keys(self, keys: str) -> tuple[Entry, ...]:
        """Links for records given as ``cell_id/block/attempt``, separated by blanks: one for each cell."""
        blocks: dict[tuple[str, str], list[int]] = {}
        for key in keys.split():
            cell_id, block, attempt = [*key.rsplit("/", 2), "", ""][:3]
            if not block.isdigit():
                return (Entry(keys),)
            blocks.setdefault((cell_id, attempt), []).append(int(block))
        found: list[Entry] = []
        for (cell_id, attempt), numbers in blocks.items():
            again = "" if attempt == "0" else f" attempt {attempt}"
            name = f"c{self.numbers[cell_id]}" if cell_id in self.numbers else cell_id
            found.append(Entry(f"{name} b{ranges(numbers)}{again}", link=self.anchor(cell_id)))
        return tuple(found)


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as a short list, such as ``0–4, 7``."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}–{part[-1]}" for part in parts)

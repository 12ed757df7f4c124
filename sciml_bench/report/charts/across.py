"""What the charts across problems are made of: cells that may be set against each other on several problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from sciml_bench.report.charts.material import Material
from sciml_bench.report.charts.palette import Configuration, Palette, configuration
from sciml_bench.report.rows import Row, Time
from sciml_bench.report.standing import Pair, between, judged_pairs
from sciml_bench.report.summary import CellSummary, RunSummary
from sciml_bench.report.tables import RowTable, tables
from sciml_bench.stats.verdict import Judgement

QUANTITIES = ("gradient", "solve")


@dataclass(frozen=True)
class Entry:
    """A cell of one problem, and its row where it has a time."""

    cell: CellSummary
    row: Row | None

    def time(self, quantity: str) -> Time | None:
        """Its time per call; ``None`` when it has none."""
        if self.row is None:
            return None
        time = self.row.gradient if quantity == "gradient" else self.row.solve
        return time if time.seconds is not None else None

    def cost(self, quantity: str) -> float | None:
        """The median of its processes in seconds."""
        time = self.time(quantity)
        return None if time is None or time.seconds is None else time.seconds.median


@dataclass(frozen=True)
class Contest:
    """A division, or a group of the matched one, over all problems: what was measured of each solver.

    A solver is a cell without its problem. Problems on which it was not measured have no entry.
    """

    name: str
    solvers: Mapping[Configuration, Mapping[str, Entry]]


class Across:
    """A run whose problems are looked at together."""

    def __init__(self, summary: RunSummary, palette: Palette):
        self.summary = summary
        self.palette = palette
        self.materials = [Material(summary, name, palette) for name in summary.problems]

    @property
    def comparable(self) -> bool:
        """Whether the times of this run may be compared."""
        return bool(self.summary.plan["profile"]["comparable"])

    @cached_property
    def contests(self) -> tuple[Contest, ...]:
        """The contests in the order in which the tables have them."""
        found: dict[str, dict[Configuration, dict[str, Entry]]] = {}
        for name, problem, entry in self._entries():
            of = found.setdefault(name, {}).setdefault(configuration(entry.cell.cell), {})
            of[problem] = entry
        return tuple(Contest(name, solvers) for name, solvers in found.items())

    def _entries(self) -> Iterator[tuple[str, str, Entry]]:
        for material in self.materials:
            rows = {id(row.summary): row for row in material.comparison.rows}
            for section in material.sections():
                for panel in section.panels:
                    name = f"{section.name}: {panel.title}" if panel.title else section.name
                    for cell in panel.cells:
                        yield name, material.problem, Entry(cell, rows.get(id(cell)))

    @cached_property
    def _tables(self) -> list[RowTable]:
        return [table for material in self.materials for table in tables(material.comparison)]

    @cached_property
    def _judged(self) -> dict[Pair, Judgement]:
        return judged_pairs(self._tables)

    @cached_property
    def _places(self) -> dict[tuple[str, int], tuple[int, int]]:
        """The table and the place of each row, by the name of the contest and the row's cell."""
        return {
            (table.name, id(row.summary)): (number, place)
            for number, table in enumerate(self._tables)
            for place, row in enumerate(table.rows)
        }

    def judgement(self, contest: Contest, quantity: str, base: Entry, other: Entry) -> Judgement | None:
        """The judgement on two cells of one problem, in the family of all comparisons of the run."""
        places = [self._places.get((contest.name, id(entry.cell))) for entry in (base, other)]
        if places[0] is None or places[1] is None:
            return None
        return between(self._judged, self._tables, (places[0][0], quantity, places[0][1], places[1][1]))

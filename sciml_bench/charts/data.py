"""Data of the charts across problems: cells that may be compared with each other on several problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.ranking import Judged, time_of
from sciml_bench.analysis.rows import Row, Time
from sciml_bench.analysis.summary import CellSummary, RunSummary
from sciml_bench.charts.problem_data import ProblemData
from sciml_bench.charts.style import Configuration, Palette, configuration
from sciml_bench.stats.verdict import Held, Judgement, without_winner


@dataclass(frozen=True)
class Measured:
    """A cell of one problem, and its row if it has a time."""

    cell: CellSummary
    row: Row | None

    def time(self, quantity: str) -> Time | None:
        """Its time per call; ``None`` when it has none."""
        if self.row is None:
            return None
        time = time_of(self.row, quantity)
        return time if time.seconds is not None else None

    def cost(self, quantity: str) -> float | None:
        """The median of its processes in seconds."""
        time = self.time(quantity)
        return None if time is None or time.seconds is None else time.seconds.median


@dataclass(frozen=True)
class Contest:
    """A division, or a group of the matched one, over all problems: the measurements of each solver.

    A solver is a cell without its problem. Problems on which it was not measured have no entry.
    """

    name: str
    solvers: Mapping[Configuration, Mapping[str, Measured]]


class RunData:
    """A run whose problems are looked at together."""

    def __init__(self, summary: RunSummary, palette: Palette, analysis: Analysis):
        self.summary = summary
        self.palette = palette
        self._analysis = analysis
        self.problems = [ProblemData(summary, name, palette) for name in summary.problems]

    @property
    def comparable(self) -> bool:
        """Return whether the times of this run may be compared."""
        return self.summary.plan.profile.comparable

    @cached_property
    def contests(self) -> tuple[Contest, ...]:
        """The contests in the order in which the tables have them."""
        found: dict[str, dict[Configuration, dict[str, Measured]]] = {}
        for name, problem, entry in self._entries():
            of = found.setdefault(name, {}).setdefault(configuration(entry.cell.cell), {})
            of[problem] = entry
        return tuple(Contest(name, solvers) for name, solvers in found.items())

    def _entries(self) -> Iterator[tuple[str, str, Measured]]:
        for data in self.problems:
            rows = {row.summary.cell_id: row for row in data.comparison.rows}
            for section in data.sections():
                for panel in section.panels:
                    name = f"{section.name}: {panel.title}" if panel.title else section.name
                    for cell in panel.cells:
                        yield name, data.problem, Measured(cell, rows.get(cell.cell_id))

    @cached_property
    def _judged(self) -> Judged:
        return self._analysis.judged or Judged({data.problem: data.comparison for data in self.problems})

    def judgement(self, quantity: str, base: Measured, other: Measured) -> Judgement | None:
        """The judgement on two cells of one problem, in the family of all comparisons of the run."""
        if base.row is None or other.row is None:
            return None
        found = self._judged.between(quantity, base.row, other.row)
        return found if found is None or self._analysis.comparable else without_winner(found, Held.DISTURBED)

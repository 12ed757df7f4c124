"""Data of the charts across problems: cells that may be compared with each other on several problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.process_summary import ProcessSummary
from sciml_bench.analysis.ranking import Judged
from sciml_bench.analysis.rows import DIVISIONS, Comparison, Row, Time, compare
from sciml_bench.analysis.summary import CellSummary, RunSummary
from sciml_bench.charts.chart import clean
from sciml_bench.charts.style import Configuration, Palette, Style, configuration
from sciml_bench.stats.verdict import Held, Judgement, without_winner

# Data of the charts of one problem: its cells, their names, and the point of comparison.

# Only what differs from these is worth a place in a name.


@dataclass(frozen=True)
class Panel:
    """Cells that may be compared with each other, and what unites them."""

    title: str
    cells: tuple[CellSummary, ...]


@dataclass(frozen=True)
class Section:
    """One division of a problem: its name, its meaning, and its panels."""

    name: str
    meaning: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class ProblemData:
    """One problem of a run. ``palette`` belongs to the whole run."""

    summary: RunSummary
    problem: str
    palette: Palette

    @cached_property
    def title(self) -> str:
        """The problem's name, and its title if that says more."""
        return clean(self.problem, 60)

    @cached_property
    def cells(self) -> tuple[CellSummary, ...]:
        """The cells of the problem that have run, in the plan's order."""
        return tuple(cell for cell in self.summary.of_problem(self.problem) if cell.processes)

    @cached_property
    def comparison(self) -> Comparison:
        """Every cell that has a time, at equal achieved accuracy."""
        return compare(self.problem, self.cells)

    @cached_property
    def comparable(self) -> bool:
        """Return whether the times of this run may be compared."""
        return bool(self.summary.plan["profile"]["comparable"])

    @cached_property
    def processes(self) -> str:
        """Return how many processes a cell has, in words."""
        counts = sorted({len(cell.processes) for cell in self.cells})
        if not counts:
            return "no process"
        if counts == [1]:
            return "one process per cell"
        return f"{' to '.join(map(str, counts[:: max(1, len(counts) - 1)]))} processes per cell"

    @cached_property
    def caution(self) -> str:
        """The warning on every chart of times that must not be compared; empty otherwise."""
        return "" if self.comparable else "A check that everything works: its times are not for comparison."

    def style(self, cell: CellSummary) -> Style:
        """Return how a cell is drawn."""
        return self.palette.style(configuration(cell.cell))

    def divisions(self) -> Iterator[tuple[str, tuple[CellSummary, ...]]]:
        """Every cell once, under the division that it was planned for."""
        for name in dict.fromkeys(cell.division for cell in self.cells):
            yield clean(name), tuple(cell for cell in self.cells if cell.division == name)

    def sections(self) -> Iterator[Section]:
        """The divisions, which are never mixed; within the matched one, a panel for each group."""
        for name, meaning, belongs in DIVISIONS:
            cells = tuple(cell for cell in self.cells if belongs(cell))
            if name != "matched":
                panels = (Panel("", cells),) if cells else ()
            else:
                groups = sorted({cell.group for cell in cells})
                panels = tuple(Panel(clean(of), tuple(cell for cell in cells if cell.group == of)) for of in groups)
            if panels:
                yield Section(name, meaning, panels)


def label(cell: CellSummary) -> str:
    """A cell's name within its problem."""
    return clean(" ".join([cell.cell.solver, *([f"({cell.role})"] if cell.is_default else [])]), 64)


def places(cell: CellSummary, processes: Iterable[ProcessSummary] | None = None) -> str:
    """The records of a cell, or of some of its processes, as the last entry of a row."""
    chosen = cell.processes if processes is None else processes
    return " ".join(cell.place(process) for process in sorted(chosen, key=lambda process: process.block))


def ending(cell: CellSummary) -> str:
    """Return how a cell ended; one that was measured without a right first gradient says so."""
    if cell.outcome is not None and not cell.measured:
        phases = {process.phase for process in cell.processes if process.outcome is cell.outcome}
        phase = phases.pop() if len(phases) == 1 else None
        return clean(f"{cell.outcome.value} in {phase}" if phase else cell.outcome.value)
    return "ok" if cell.first_gradient_process is not None else "no right first gradient"


def listed(names: Sequence[str], most: int = 3) -> str:
    """Names in a sentence: the first few, and how many more there are."""
    shown = list(names[:most])
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


QUANTITIES = ("gradient", "solve")


@dataclass(frozen=True)
class Measured:
    """A cell of one problem, and its row if it has a time."""

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
        return bool(self.summary.plan["profile"]["comparable"])

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

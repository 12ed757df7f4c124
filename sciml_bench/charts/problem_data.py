"""Data of the charts of one problem: its cells, their names, and the point of comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from sciml_bench.analysis.process_summary import ProcessSummary
from sciml_bench.analysis.row_tables import DIVISIONS
from sciml_bench.analysis.rows import Comparison, compare
from sciml_bench.analysis.summary import CellSummary, RunSummary
from sciml_bench.charts.chart import clean
from sciml_bench.charts.style import Palette, Style, configuration


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
        return self.summary.plan.profile.comparable

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

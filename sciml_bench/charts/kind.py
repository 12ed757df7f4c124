"""A kind of chart as one object: its name, its subject, its charts, and why a run may have none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from sciml_bench.analysis.comparable import why_not_comparable
from sciml_bench.analysis.summary import CellSummary, RunSummary
from sciml_bench.charts.chart import Chart
from sciml_bench.charts.data import RunData
from sciml_bench.charts.problem_data import ProblemData


@dataclass(frozen=True)
class Kind:
    """Shared fields of all kinds. ``shows`` is the line of ``plot --help``; ``needs`` says what a run without such a
    chart is missing.
    """

    name: str
    shows: str
    needs: str

    def reason(self, summary: RunSummary, problem: str | None = None) -> str:
        """One sentence that says why there is nothing to draw in this run, or for this problem of it."""
        cells = list(summary.cells.values()) if problem is None else summary.of_problem(problem)
        if not any(cell.processes for cell in cells):
            return "nothing to draw: the run has no record yet" + ("" if problem is None else f" of {problem}")
        special = self._special(summary, problem)
        if special:
            return f"nothing to draw: {special}"
        failed = "" if any(cell.measured for cell in cells) else f"; all cells failed ({_outcomes(cells)})"
        return f"nothing to draw: {self.needs}{failed}"

    def _special(self, summary: RunSummary, problem: str | None) -> str:
        """A reason that holds for this run whatever was measured; empty when there is none."""
        del summary, problem
        return ""


@dataclass(frozen=True)
class ProblemKind(Kind):
    """A kind whose charts show one problem. Where ``of_models`` is false, models have none."""

    make: Callable[[ProblemData], Iterable[Chart]]
    of_models: bool = True

    def charts(self, data: ProblemData) -> Iterator[Chart]:
        """The charts of a problem; empty if there is nothing to draw."""
        if self.of_models or not _is_model(data.summary, data.problem):
            yield from self.make(data)

    def _special(self, summary: RunSummary, problem: str | None) -> str:
        names = summary.problems if problem is None else (problem,)
        if not self.of_models and all(_is_model(summary, name) for name in names):
            which = "the problems of the run are models" if problem is None else f"{problem} is a model"
            return f"{which}; a model has no accuracy to trade for time"
        return ""


@dataclass(frozen=True)
class RunKind(Kind):
    """A kind whose charts look at the problems of a run together. Where it ``compares`` times, a run whose times are
    not for comparison has none."""

    make: Callable[[RunData], Iterable[Chart]]
    compares: bool = True

    def charts(self, data: RunData) -> Iterator[Chart]:
        """The charts of a run; empty if there is nothing to draw."""
        if data.comparable or not self.compares:
            yield from self.make(data)

    def _special(self, summary: RunSummary, problem: str | None) -> str:
        if self.compares and not summary.plan.profile.comparable:
            return f"its times are not compared: {why_not_comparable(summary)}"
        return ""


def _is_model(summary: RunSummary, problem: str) -> bool:
    return (found := summary.plan.problem(problem)) is not None and found.is_model


def _outcomes(cells: list[CellSummary]) -> str:
    found = sorted({cell.outcome.value for cell in cells if cell.outcome is not None})
    return ", ".join(found)

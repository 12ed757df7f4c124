"""The analysis of a run: rows at equal accuracy, tables with the fastest, advice, failures, and the sum of cells.

Everything that shows a run — terminal, page, LaTeX, Markdown, JSON, exports, notebooks — reads it from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sciml_bench.analysis.advice.advice import Advice, advice
from sciml_bench.analysis.advice.answer import Answer
from sciml_bench.analysis.advice.break_even import BreakEven, find_break_even
from sciml_bench.analysis.advice.competitors import COUNT, within_reach
from sciml_bench.analysis.advice.recommendation import Recommendation, of_problem
from sciml_bench.analysis.cell_tally import CellTally, cell_tally
from sciml_bench.analysis.comparable import why_not_comparable
from sciml_bench.analysis.failures import Failure, failures
from sciml_bench.analysis.ranking import QUANTITIES, Judged, Lead, PairwiseVerdict, Ranking, ranking
from sciml_bench.analysis.repeats import repeats
from sciml_bench.analysis.row_tables import DIVISIONS, RowTable, tables
from sciml_bench.analysis.rows import Comparison, Row, comparisons
from sciml_bench.analysis.selftest.store import earlier
from sciml_bench.analysis.summary import CellSummary, RunSummary, summarise
from sciml_bench.planning.purpose import RACE, Advised
from sciml_bench.planning.written_plan import written_plan
from sciml_bench.record.run_folder import Run
from sciml_bench.record.task import GRADIENT
from sciml_bench.stats.autocorrelation import Earlier


def analysed(run: Run, on_damage: Callable[[object], None] = lambda _: None) -> Analysis:
    """The analysis of a run's records; ``on_damage`` gets each line and record that is left out.

    Raises:
        StoreError: its plan cannot be read.
    """
    return Analysis(summarise(written_plan(run), run.records(on_damage), on_damage), run.folder)


@dataclass(frozen=True)
class RankedTable:
    """A table of rows, and the rankings that its words come from.

    A matched table has its own rankings: the fastest within the group. All others share the rankings of the problem,
    in which every row of every table takes part, so that no two tables name two winners of one question.
    """

    table: RowTable
    rankings: Mapping[str, Ranking]

    @property
    def within_group(self) -> bool:
        """True if the rankings belong to a group of matched rows."""
        return self.table.name.startswith("matched")

    def standing(self, quantity: str, row: Row) -> PairwiseVerdict | None:
        """Return the comparison of a row with the fastest; ``None`` for the fastest and for rows without verdict."""
        return self.rankings[quantity].standing(row) if quantity in self.rankings else None

    def verdict(self, quantity: str, row: Row) -> str:
        """The word on a row; empty if it is not judged."""
        return self.rankings[quantity].verdict(row) if quantity in self.rankings else ""

    def is_best(self, quantity: str, row: Row) -> bool:
        """Return whether a row is judged faster than every other row with a time."""
        found = self.rankings.get(quantity)
        return found is not None and found.lead is Lead.CLEAR and found.fastest is row


@dataclass(frozen=True)
class ProblemAnalysis:
    """One problem: its cells, the cells with a time as rows, the tables of these, and the answer.

    ``recommendation`` says what to take at the accuracy of the comparison, ``None`` without one.
    """

    name: str
    title: str
    cells: tuple[CellSummary, ...]
    comparison: Comparison
    tables: tuple[RankedTable, ...]
    answer: Answer
    recommendation: Recommendation | None = None

    @property
    def sentences(self) -> Iterator[str]:
        """The way to take, and the fastest way, in words."""
        if self.recommendation is None:
            yield from self.answer.sentences
        else:
            yield from self.recommendation.sentences
            yield from self.answer.fastest

    @property
    def untimed(self) -> dict[str, list[CellSummary]]:
        """The measured cells that have no time to show, by the name of the table in which they would stand."""
        timed = {row.summary.cell_id for row in self.comparison.rows}
        found: dict[str, list[CellSummary]] = {}
        for division, _, belongs in DIVISIONS:
            for cell in self.cells:
                if belongs(cell) and cell.processes and cell.cell_id not in timed:
                    name = f"matched: {cell.group}" if division == "matched" else division
                    found.setdefault(name, []).append(cell)
        return found


class Analysis:
    """An analysed run, from the summary of its records and its folder."""

    def __init__(self, summary: RunSummary, folder: Path = Path()):
        self.summary = summary
        self.folder = folder

    @cached_property
    def why_not_comparable(self) -> str:
        """The reason why no winner is named; empty if winners may be."""
        return why_not_comparable(self.summary)

    @property
    def comparable(self) -> bool:
        """True if winners may be named."""
        return not self.why_not_comparable

    @cached_property
    def comparisons(self) -> Mapping[str, Comparison]:
        """The rows of each problem, in the plan's order, and the accuracy at which their times are read off."""
        return comparisons(self.summary)

    @cached_property
    def _tables(self) -> Mapping[str, tuple[RowTable, ...]]:
        return {name: tuple(tables(comparison)) for name, comparison in self.comparisons.items()}

    @property
    def row_tables(self) -> Sequence[RowTable]:
        """The tables of all problems, one after the other."""
        return [table for of_problem in self._tables.values() for table in of_problem]

    @cached_property
    def judged(self) -> Judged | None:
        """The verdicts on all pairs of rows, judged together as one family; ``None`` if no winner may be named."""
        if not self.comparable:
            return None
        repeated = [comparisons(summary) for summary in repeats(Run(self.folder))]
        return Judged(self.comparisons, self._earlier, repeated)

    @cached_property
    def _earlier(self) -> Earlier | None:
        """The correlation of neighbouring blocks in a self-test of the run's machine."""
        return earlier(Run(self.folder))

    @cached_property
    def problems(self) -> tuple[ProblemAnalysis, ...]:
        """The problems with planned cells, in the plan's order."""
        return tuple(self._problems())

    def _problems(self) -> Iterator[ProblemAnalysis]:
        titles = {problem.name: problem.title for problem in self.summary.plan.problems}
        for name, comparison in self.comparisons.items():
            found = self._rankings(comparison.rows)
            ranked = tuple(
                RankedTable(table, self._rankings(table.rows) if table.name.startswith("matched") else found)
                for table in self._tables[name]
            )
            chosen = self._choice(comparison)
            answer = Answer(name, comparison, found, chosen, self.why_not_comparable)
            cells = tuple(self.summary.of_problem(name))
            advised = self._recommended(answer, cells)
            yield ProblemAnalysis(name, titles.get(name, ""), cells, comparison, ranked, answer, advised)

    def _choice(self, comparison: Comparison) -> BreakEven | None:
        """The cheapest rows of a problem; ``None`` if no winner may be named."""
        if self.judged is None:
            return None
        return find_break_even(comparison.rows, self._earlier, self.judged.runs.get(GRADIENT))

    def _recommended(self, answer: Answer, cells: Sequence[CellSummary]) -> Recommendation | None:
        """Return the way to take for the run's question, or for ``COUNT`` calls at the accuracy of the tables."""
        asked = self.summary.plan.advised
        if not any(cell.processes and cell.cell.caches == "cold" for cell in cells):
            return None
        if asked is not None:
            advised = Advised(asked.stage, asked.call, asked.count, asked.accuracy)
            advised = within_reach(cells, advised)
        elif answer.ranking is None:
            return None
        else:
            call, comparison = answer.ranking.quantity, answer.comparison
            target = comparison.gradient_target if call == GRADIENT else comparison.solve_target
            if target.digits is None:
                return None
            advised = Advised(RACE, call, COUNT, 10.0**-target.digits)
        return of_problem(answer.problem, cells, advised, self.why_not_comparable)

    def _rankings(self, rows: Sequence[Row]) -> dict[str, Ranking]:
        disturbed = self.summary.plan.profile.comparable and not self.comparable
        found = {quantity: ranking(rows, quantity, self.judged, disturbed=disturbed) for quantity in QUANTITIES}
        return {quantity: item for quantity, item in found.items() if item is not None}

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """The ways to take over the problems of each kind, by number of gradients; empty if no winner may be named."""
        return advice(self.summary.plan, self.row_tables) if self.comparable else ()

    @cached_property
    def failures(self) -> Sequence[Failure]:
        """The cells that failed, and how."""
        return failures(self.summary)

    @cached_property
    def cell_tally(self) -> CellTally:
        """The numbers of cells planned, measured, failed and skipped."""
        return cell_tally(self.summary)

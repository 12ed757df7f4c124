"""What a run says, found once: rows at equal accuracy, tables with who is fastest, advice, failures, and the sum.

Everything that shows a run — terminal, page, LaTeX, Markdown, JSON, exports, notebooks — reads it from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sciml_bench.analysis.advice import Advice, advice
from sciml_bench.analysis.comparable import why_not_comparable
from sciml_bench.analysis.failures import CellTally, Failure, cell_tally, failures
from sciml_bench.analysis.ranking import Lead, Standing, Standings, Tied, lead, standings
from sciml_bench.analysis.rows import DIVISIONS, Comparison, Row, RowTable, compare, tables
from sciml_bench.analysis.summary import CellSummary, RunSummary
from sciml_bench.stats.verdict import Verdict


@dataclass(frozen=True)
class RankedTable:
    """A table of rows that may be set against each other, and how each stands against the fastest of them.

    ``standings`` are empty where no winner may be named.
    """

    table: RowTable
    standings: tuple[Standing, ...]

    def lead(self, quantity: str) -> tuple[Lead, tuple[Tied, ...]]:
        """Whether the row with the least time is the fastest beyond chance, and which others may be as fast."""
        return lead(self.table.rows, self.standings, quantity)

    def fastest(self, quantity: str) -> Row | None:
        """The row with the least time, against which the others are judged; ``None`` where nothing is judged."""
        return next((item.fastest for item in self.standings if item.quantity == quantity), None)

    def standing(self, quantity: str, row: Row) -> Standing | None:
        """How a row stands against the one with the least time; ``None`` of that row itself."""
        return next((item for item in self.standings if item.quantity == quantity and item.row is row), None)

    def verdict(self, quantity: str, row: Row) -> str:
        """The word that says how a row stands against the one with the least time; of that row itself ``fastest``, or
        ``same`` or ``undecided`` where others may be as fast. Empty where it is not judged."""
        if self.fastest(quantity) is row:
            word = self.lead(quantity)[0]
            return "fastest" if word is Lead.CLEAR else word.value
        found = self.standing(quantity, row)
        return "" if found is None else found.judgement.verdict.value

    def is_best(self, quantity: str, row: Row) -> bool:
        """Whether a row is judged faster than every other one that has a time."""
        against = [item for item in self.standings if item.quantity == quantity]
        slower = all(item.judgement.verdict is Verdict.SLOWER for item in against)
        return bool(against) and slower and self.fastest(quantity) is row


@dataclass(frozen=True)
class ProblemAnalysis:
    """One problem: its cells, those of them that have a time as rows, and the tables of these."""

    name: str
    title: str
    cells: tuple[CellSummary, ...]
    comparison: Comparison
    tables: tuple[RankedTable, ...]

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
    """A run that was analysed. ``summary`` is what is kept of its records, ``folder`` where it is."""

    def __init__(self, summary: RunSummary, folder: Path = Path()):
        self.summary = summary
        self.folder = folder

    @cached_property
    def why_not_comparable(self) -> str:
        """Why no winner is named; empty where winners may be."""
        return why_not_comparable(self.summary)

    @property
    def comparable(self) -> bool:
        """Whether winners may be named."""
        return not self.why_not_comparable

    @cached_property
    def comparisons(self) -> Mapping[str, Comparison]:
        """The rows of each problem, in the plan's order, and the accuracy at which their times are read off."""
        return {name: compare(name, self.summary.of_problem(name)) for name in self.summary.problems}

    @cached_property
    def _tables(self) -> Mapping[str, tuple[RowTable, ...]]:
        return {name: tuple(tables(comparison)) for name, comparison in self.comparisons.items()}

    @property
    def row_tables(self) -> Sequence[RowTable]:
        """The tables of all problems, one after the other."""
        return [table for of_problem in self._tables.values() for table in of_problem]

    @cached_property
    def standings(self) -> Standings:
        """The verdicts within all tables, judged together as one family; none where no winner may be named."""
        return standings(self.row_tables if self.comparable else [])

    @cached_property
    def problems(self) -> tuple[ProblemAnalysis, ...]:
        """The problems with planned cells, in the plan's order."""
        return tuple(self._problems())

    def _problems(self) -> Iterator[ProblemAnalysis]:
        titles = {entry["name"]: entry["title"] for entry in self.summary.plan["problems"]}
        of_table = iter(self.standings.of_table)
        for name, comparison in self.comparisons.items():
            ranked = tuple(RankedTable(table, next(of_table, ())) for table in self._tables[name])
            cells = tuple(self.summary.of_problem(name))
            yield ProblemAnalysis(name, titles.get(name, ""), cells, comparison, ranked)

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """What to take for how many gradients, over the problems of each kind; none where no winner may be named."""
        return advice(self.summary.plan, self.row_tables) if self.comparable else ()

    @cached_property
    def failures(self) -> Sequence[Failure]:
        """The cells that failed, and how."""
        return failures(self.summary)

    @cached_property
    def cell_tally(self) -> CellTally:
        """How many cells were planned, measured, failed and skipped."""
        return cell_tally(self.summary)

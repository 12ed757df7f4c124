"""How often the report names a winner where there is none, by simulation through the code that judges.

    python benchmarks/verdict_error_rates.py                 1000 trials for each row
    python benchmarks/verdict_error_rates.py --quick         100 trials for each row
    python benchmarks/verdict_error_rates.py --trials 300    as many as that

Every trial makes a run of cells that are all the same, summarises it as a run is summarised, and asks the report: the
verdicts between the rows of a run, which is the fastest, which is the cheapest for so many gradients, what to take for
problems of a kind, which of a sweep is faster at a size, and whether one run is slower than another. A trial counts as
false when *any* winner is named, so a row's share is that of whole runs with an error, not of single comparisons.
Refused is the share of trials in which a winner by Student's t alone is held back: by too few processes, by
neighbouring blocks that are or may be alike, or since it is not known how far runs differ.

The noise is that of the logarithm of a process's time; where it is an autoregression, along the blocks. Ways of
``advice`` are equally good on average over problems and differ on each, by a standard deviation of 0.3 or 1.2 in logs,
by e^±1.2, or by a skewed amount. *Together*: a cell's solve and gradient have the same noise. With a run effect each
cell of a run takes some 3 % more or less in all of its processes; where runs are repeated, verdicts must allow for it.
``compare`` sets a run of the same cells against another, with Gauss 3 % within and, between runs, an effect on each
cell or on all of them, alone or with runs that repeat the base.

Exit code 1 when winners are named in more than 5 % of the trials of a row, but where winners are held back in most of
them: there the harness refuses to judge, and what it lets through differs by a factor of more than two.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from null_noise import ATTACKS, NULLS, RUN_ALONE, Floats, Noise, gauss

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sciml_bench.analysis import sweep
from sciml_bench.analysis.advice.advice import advice
from sciml_bench.analysis.advice.break_even import find_break_even
from sciml_bench.analysis.comparison.compare import compare_runs
from sciml_bench.analysis.comparison.sides import Side
from sciml_bench.analysis.process_summary import CallSummary, PointSummary, ProcessSummary
from sciml_bench.analysis.ranking import QUANTITIES, Judged, Lead, ranking
from sciml_bench.analysis.row_tables import RowTable, tables
from sciml_bench.analysis.rows import Comparison, compare
from sciml_bench.analysis.summary import CellSummary, RunSummary
from sciml_bench.planning.profiles import profile_named
from sciml_bench.planning.purpose import Sweep
from sciml_bench.planning.settings import Settings
from sciml_bench.planning.written_plan import WrittenCell, WrittenPlan, WrittenProblem
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.task import Cell
from sciml_bench.stats.ratio import Ratio
from sciml_bench.stats.verdict import Held, Judgement, Verdict, judge

BOUND = 0.05
REFUSES = 0.5
BLOCKS = (3, 5, 10)
CELLS = (2, 4)
PROBLEMS = (2, 3, 4, 5, 8)
SIZES = (10, 40, 160, 640)
FIRST_S, GRADIENT_S, SOLVE_S = 5.0, 0.02, 0.01
RTOL = 1e-6

EFFECTS = {"of cells, 5 %": (0.05, 0.0), "of all cells, 5 %": (0.0, 0.05), "of cells, 20 %": (0.2, 0.0)}
"""The standard deviation of a run's times from run to run: of each cell and quantity by itself, and of all together."""
REPEATS = (0, 1, 3)
BAND = 0.05


@dataclass
class Counts:
    """Of so many trials, those with any winner, and those in which one was held back."""

    trials: int = 0
    winners: int = 0
    held: int = 0

    def add(self, winner: bool, held: bool) -> None:
        """One more trial."""
        self.trials += 1
        self.winners += winner
        self.held += held

    @property
    def rate(self) -> float:
        """The share of trials with a winner."""
        return self.winners / self.trials

    @property
    def refused(self) -> float:
        """The share of trials in which a winner was held back."""
        return self.held / self.trials


@dataclass
class Row:
    """One line: a null, how many blocks, and the counts of each thing that is said."""

    null: str
    blocks: int
    of: str
    counts: dict[str, Counts] = field(default_factory=dict[str, Counts])


def cell(problem: str, number: int) -> Cell:
    """One of so many cells that are all the same."""
    return Cell(problem, "library", f"m{number}", "discrete", "compiled")


def summary(which: Cell, first: Floats, gradient: Floats, solve: Floats) -> CellSummary:
    """A cell whose processes, one for each block, took these seconds."""
    made = CellSummary(which, "idiomatic", "")
    triples = zip(first.tolist(), gradient.tolist(), solve.tolist(), strict=True)
    made.processes = [
        ProcessSummary(
            block=block,
            outcome=Outcome.OK,
            phase=None,
            message="",
            first_gradient_process_s=first_s,
            first_gradient_built_s=first_s,
            points=(PointSummary(RTOL, Outcome.OK, solve=CallSummary(solve_s), gradient=CallSummary(gradient_s)),),
        )
        for block, (first_s, gradient_s, solve_s) in enumerate(triples)
    ]
    return made


def table_of(problem: str, seconds: Floats) -> RowTable:
    """The table of a problem; ``seconds`` has (first, gradient, solve) × cells × blocks."""
    cells = [summary(cell(problem, number), *(of[number] for of in seconds)) for number in range(seconds.shape[1])]
    (found,) = tables(compare(problem, cells))
    return found


def is_winner(judgement: Judgement) -> bool:
    """Whether a side is named."""
    return judgement.verdict in (Verdict.FASTER, Verdict.SLOWER)


def is_held(judgement: Judgement) -> bool:
    """Whether a side would have been named by t alone."""
    return judgement.held in (Held.FEW, Held.ALIKE, Held.RUN)


@dataclass(frozen=True)
class Setup:
    """A run of problems with as many cells each. ``together``: a cell's solve and gradient have the same noise.

    ``effect`` is the standard deviation of a run's constant effect on each cell, ``repeats`` how many runs repeat it.
    """

    cells: int
    problems: int = 1
    together: bool = False
    effect: float = 0.0
    repeats: int = 0

    @property
    def words(self) -> str:
        """The setup in a table."""
        problems = f"{self.problems} × " if self.problems > 1 else ""
        repeated = f", {self.repeats} repeated" if self.effect else ""
        return f"{problems}{self.cells} cells{', together' if self.together else ''}{repeated}"

    def runs(self, noise: Noise, blocks: int, random: np.random.Generator) -> list[list[RowTable]]:
        """A run and those that repeat it: the table of each problem."""
        shape = (1 + self.repeats, self.problems, 3, self.cells)
        logs = noise(random, (*shape, blocks)) + random.normal(0, self.effect, (*shape, 1))
        if self.together:
            logs[:, :, 2] = logs[:, :, 1]
        scale = np.array([FIRST_S, GRADIENT_S, SOLVE_S])[:, None, None]
        return [[table_of(f"p{i}", scale * np.exp(each)) for i, each in enumerate(run)] for run in logs]


def comparisons(run: Sequence[RowTable]) -> dict[str, Comparison]:
    """The rows of each problem of a run."""
    return {table.problem: compare(table.problem, [item.summary for item in table.rows]) for table in run}


def run_row(null: str, noise: Noise, blocks: int, setup: Setup, trials: int, random: np.random.Generator) -> Row:
    """What is said of the rows of a run."""
    row = Row(null, blocks, setup.words, {name: Counts() for name in ("verdict", "fastest")})
    for _ in range(trials):
        run, *repeated = setup.runs(noise, blocks, random)
        judged = Judged(comparisons(run), repeated=[comparisons(each) for each in repeated])
        verdicts = [judgement for table in run for judgement in between(judged, table)]
        row.counts["verdict"].add(any(map(is_winner, verdicts)), any(map(is_held, verdicts)))
        rankings = [item for table in run for of in QUANTITIES if (item := ranking(table.rows, of, judged)) is not None]
        against = [item.judgement for found in rankings for item in found.standings]
        row.counts["fastest"].add(any(found.lead is Lead.CLEAR for found in rankings), any(map(is_held, against)))
    return row


def between(judged: Judged, table: RowTable) -> list[Judgement]:
    """The judgements on all pairs of rows of a table."""
    pairs = [judged.between(of, *pair) for of in QUANTITIES for pair in combinations(table.rows, 2)]
    return [judgement for judgement in pairs if judgement is not None]


def choice_row(null: str, noise: Noise, blocks: int, cells: int, trials: int, random: np.random.Generator) -> Row:
    """Which row of one table is called the cheapest."""
    row = Row(null, blocks, f"{cells} cells", {"cheapest": Counts()})
    for _ in range(trials):
        ((table,),) = Setup(cells).runs(noise, blocks, random)
        chosen = find_break_even(table.rows)
        assert chosen is not None
        tied = [item.judgement for best in chosen.best for item in best.tied if item.judgement is not None]
        row.counts["cheapest"].add(any(best.lead is Lead.CLEAR for best in chosen.best), any(map(is_held, tied)))
    return row


def sweep_row(null: str, noise: Noise, blocks: int, cells: int, trials: int, random: np.random.Generator) -> Row:
    """Which of some cells is said to be faster at a size of a sweep, or up to one."""
    row = Row(null, blocks, f"{len(SIZES)} sizes × {cells} cells", {"sweep": Counts()})
    names = [f"p{size}" for size in SIZES]
    made = replace(plan(names, cells), sweep=Sweep("parameters", "p", dict(zip(names, SIZES, strict=True))))
    scale = np.array([FIRST_S, GRADIENT_S, SOLVE_S])[:, None]
    for _ in range(trials):
        logs = noise(random, (len(SIZES), cells, 3, blocks))
        found = RunSummary(
            made,
            {
                f"{name} {number}": summary(cell(name, number), *(scale * np.exp(logs[place, number])))
                for place, name in enumerate(names)
                for number in range(cells)
            },
        )
        judged: list[Judgement] = []
        with patch.object(sweep, "judge", partial(_kept, judged)):
            meetings = [meeting for table in sweep.sweep_tables(found) for meeting in table.meetings]
        assert meetings
        ahead = any(who is not None for each in meetings for who in each.ahead.values())
        row.counts["sweep"].add(ahead, any(map(is_held, judged)))
    return row


def _kept(judged: list[Judgement], family: Mapping[Any, Ratio], **options: Any) -> dict[Any, Judgement]:
    """Judge a family, and keep its judgements."""
    found = judge(family, **options)
    judged += found.values()
    return found


@dataclass(frozen=True)
class Apart:
    """How far the ways differ on a problem, in logs."""

    words: str
    draw: Noise


APART = (
    Apart("0.3", gauss(0.3)),
    Apart("1.2", gauss(1.2)),
    Apart("two classes", lambda random, shape: 1.2 * random.choice((-1.0, 1.0), shape)),
    Apart("skewed", lambda random, shape: 0.6 * random.exponential(1.0, shape)),
)


def advice_row(
    null: str, noise: Noise, blocks: int, problems: int, apart: Apart, trials: int, random: np.random.Generator
) -> Row:
    """What is said to be taken of three ways that are equally good on average over problems."""
    row = Row(null, blocks, f"{problems} problems, {apart.words}", {"advice": Counts()})
    names = [f"p{number}" for number in range(problems)]
    made = plan(names, 3)
    scale = np.array([FIRST_S, GRADIENT_S, SOLVE_S])[:, None, None]
    of_problem = apart.draw(random, (trials, problems, 1, 3, 1))
    for logs in of_problem + noise(random, (trials, problems, 3, 3, blocks)):
        shown = [table_of(name, scale * np.exp(each)) for name, each in zip(names, logs, strict=True)]
        rivals = [rival.judgement for item in advice(made, shown) for rival in (*item.even, item.next) if rival]
        row.counts["advice"].add(any(map(is_winner, rivals)), any(map(is_held, rivals)))
    return row


def compare_row(
    effect: str, sd: tuple[float, float], blocks: int, repeats: int, trials: int, random: np.random.Generator
) -> Row:
    """What is said of a run against another of the same cells, with so many runs that repeat the base."""
    row = Row(f"run effect {effect}", blocks, f"4 cells, {repeats} repeated", {"compare": Counts()})
    for _ in range(trials):
        base, new, *repeated = (side(str(number), sd, blocks, random) for number in range(2 + repeats))
        judged = [line.judgement for line in compare_runs(base, new, band=BAND, repeated=repeated).lines]
        row.counts["compare"].add(any(map(is_winner, judged)), any(map(is_held, judged)))
    return row


def side(name: str, sd: tuple[float, float], blocks: int, random: np.random.Generator) -> Side:
    """A run of four cells whose times differ from those of other runs by an effect of each cell and one of the run."""
    of_cell, of_run = sd
    logs = random.normal(0, 0.03, (4, 3, blocks)) + random.normal(0, of_cell, (4, 3, 1)) + random.normal(0, of_run)
    scale = np.array([FIRST_S, GRADIENT_S, SOLVE_S])[:, None]
    cells = {str(number): summary(cell("p", number), *(scale * np.exp(of))) for number, of in enumerate(logs)}
    made = plan(["p"], 0)
    return Side(name, made, {}, RunSummary(made, cells))


def plan(names: Sequence[str], ways: int) -> WrittenPlan:
    """A plan of so many ways to solve each of these problems."""
    cells = [cell(name, number) for name in names for number in range(ways)]
    return WrittenPlan(
        schema=1,
        version="",
        profile=profile_named("standard"),
        settings=Settings(),
        problems=tuple(
            WrittenProblem(name, "", "same", None, suite="nonstiff", n_states=2, n_theta=4, batch=1, stiff=False)
            for name in names
        ),
        cells=tuple(WrittenCell(which.label, which, which.label, "idiomatic", "") for which in cells),
        skipped=(),
    )


SETUPS = (Setup(2), Setup(4), Setup(2, together=True), Setup(3, together=True), Setup(3, 4, together=True))
RUN_EFFECTS = tuple(
    Setup(*shape, effect=0.03, repeats=repeats) for shape in ((2,), (4,), (3, 4)) for repeats in (0, 2, 4)
)


def rows(trials: int, seed: int = 0) -> Iterator[Row]:
    """All lines, each from its own seed."""

    def random(*place: int) -> np.random.Generator:
        return np.random.default_rng([seed, *place])

    for number, (null, noise) in enumerate({**NULLS, **ATTACKS}.items()):
        for blocks in BLOCKS:
            for place, setup in enumerate(SETUPS):
                yield run_row(null, noise, blocks, setup, trials, random(number, blocks, place))
            for cells in CELLS:
                yield choice_row(null, noise, blocks, cells, trials // 2, random(number, blocks, cells, 1))
                yield sweep_row(null, noise, blocks, cells, trials // 2, random(number, blocks, cells, 3))
    for number, (null, noise) in enumerate(RUN_ALONE.items()):
        for blocks in BLOCKS:
            for place, setup in enumerate(SETUPS):
                yield run_row(null, noise, blocks, setup, trials // 2, random(97, number, blocks, place))
    for place, setup in enumerate(RUN_EFFECTS):
        for blocks in BLOCKS:
            yield run_row("run effect 3 %", gauss(0.06), blocks, setup, trials // 2, random(98, blocks, place))
    for number, (null, noise) in enumerate(NULLS.items()):
        for blocks in BLOCKS:
            for problems in PROBLEMS:
                for place, apart in enumerate(APART if number == 0 else APART[:1]):
                    of_row = random(number, blocks, problems, place, 2)
                    yield advice_row(null, noise, blocks, problems, apart, trials // 2, of_row)
    for number, (effect, sd) in enumerate(EFFECTS.items()):
        for blocks in BLOCKS:
            for repeats in REPEATS:
                yield compare_row(effect, sd, blocks, repeats, trials // 2, random(99, number, blocks, repeats))


def main() -> int:
    """Print the table; the exit code says whether every row keeps the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the trials")
    parser.add_argument("--trials", type=int, default=1000, help="for each row (default 1000)")
    parser.add_argument("--seed", type=int, default=0, help="of all draws (default 0)")
    options = parser.parse_args()
    print(f"{'null':<24} {'n':>3}  {'of':<24} {'said':<9} {'trials':>6} {'false':>7} {'refused':>8}")
    worst = 0.0
    for row in rows(100 if options.quick else options.trials, options.seed):
        for said, counts in row.counts.items():
            refuses = counts.refused > REFUSES
            mark = "  above the bound" if counts.rate > BOUND else ""
            mark = "  refuses to judge" if refuses else mark
            if row.null in RUN_ALONE or (row.of.endswith("0 repeated") and said != "compare"):
                # Without repeats a verdict is about its run, in which the cells do differ.
                refuses, mark = True, "  of this run alone"
            worst = worst if refuses else max(worst, counts.rate)
            print(
                f"{row.null:<24} {row.blocks:>3}  {row.of:<24} {said:<9} {counts.trials:>6} {counts.rate:>7.1%} "
                f"{counts.refused:>8.1%}{mark}",
                flush=True,
            )
    print(f"the largest share of trials with a false winner, where it judges, is {worst:.1%}; the bound is {BOUND:.0%}")
    return int(worst > BOUND)


if __name__ == "__main__":
    sys.exit(main())

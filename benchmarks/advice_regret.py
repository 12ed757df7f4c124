"""The regret of advice, and of every published rule: cost of what is taken over that of the cheapest way.

    python benchmarks/advice_regret.py results/exhaustive --write docs/regret.md

Costs come from exhaustive runs (``benchmarks/exhaustive.py``): medians over fresh processes, at equal error. Advice is
replayed through the code that gives it: the order in which ways are looked at, with what was learnt from the *other*
problems alone; what competes; and the race, whose blocks are drawn from those of the run, since it may want more. Time
is that of the processes of the run. A rule is held against the same costs. What it leaves open (the library, the
order of a method) is filled in twice: as well as it can be, and by the middle one of the ways that it allows; a way
that fails counts 100.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from published_rules import RULES, Rule, Traits

from sciml_bench.adapters.registry import adapters
from sciml_bench.analysis.advice.call_cost import call_cost
from sciml_bench.analysis.advice.competitors import nearest, total_s
from sciml_bench.analysis.advice.experience import WORST, Features, Known, turns
from sciml_bench.analysis.advice.experience_file import merged, write
from sciml_bench.analysis.summary import CellSummary, summarise
from sciml_bench.execution.advising import LOOKING_SHARE
from sciml_bench.execution.screening import Order
from sciml_bench.planning.candidates import Candidates, ranked
from sciml_bench.planning.problems import PlannedProblem, entry_named
from sciml_bench.planning.purpose import RACE, SCREEN, Advised
from sciml_bench.planning.written_plan import written_plan
from sciml_bench.record.process import STARTUP
from sciml_bench.record.run_folder import Run, runs_in
from sciml_bench.record.task import GRADIENT, Cell
from sciml_bench.stats.race import Race

QUESTIONS = [(accuracy, count) for accuracy in (1e-6, 1e-4) for count in (1000, 100_000)]
"""Accuracy and number of gradients; the first is what ``advise`` assumes."""

BLOCKS = 60


@dataclass(frozen=True)
class Measured:
    """A problem with its two exhaustive runs."""

    name: str
    looked: Run
    near: Run

    @cached_property
    def entry(self) -> PlannedProblem:
        """The problem as it is planned today."""
        return entry_named(self.name)

    @cached_property
    def features(self) -> Features:
        """What experience knows a problem by."""
        found = Features.of_written(written_plan(self.looked).problems[0])
        assert found is not None
        return found

    @cached_property
    def ways(self) -> Mapping[Cell, CellSummary]:
        """All ways, as they were looked at."""
        return _by_cell(self.looked)

    @cached_property
    def close(self) -> Mapping[Cell, CellSummary]:
        """Those near the best, in fresh processes."""
        return _by_cell(self.near)

    @cached_property
    def known(self) -> Known:
        """What other problems may learn from this one."""
        return merged([self.looked, self.near])[0]

    @property
    def disturbed(self) -> tuple[float, float]:
        """Shares of the processes of both runs that other work disturbed."""
        of_run = ([process for cell in run.values() for process in cell.processes] for run in (self.ways, self.close))
        shares = [statistics.fmean(bool(process.noisy) for process in processes) for processes in of_run]
        return shares[0], shares[1]

    def totals(self, advised: Advised) -> dict[Cell, float]:
        """What each way costs that gets there, in seconds."""
        found: dict[Cell, float] = {}
        for cell in {**self.ways, **self.close}:
            processes = (self.close.get(cell) or self.ways[cell]).processes
            costs = [cost for process in processes if (cost := total_s(process, advised)) is not None]
            if 2 * len(costs) > len(processes):
                found[cell] = statistics.median(costs)
        return found


def _by_cell(run: Run) -> dict[Cell, CellSummary]:
    summary = summarise(written_plan(run), run.records(on_damage=lambda _: None))
    return {item.cell: item for item in summary.cells.values() if item.processes}


def read(folder: Path) -> list[Measured]:
    """The problems both of whose runs are there, the newest runs of each."""
    found: dict[str, dict[str, Run]] = {}
    for run in runs_in(folder):
        plan = written_plan(run)
        assert plan.advised is not None
        found.setdefault(plan.problems[0].name, {})[plan.advised.stage] = run
    return [Measured(name, runs[SCREEN], runs[RACE]) for name, runs in sorted(found.items()) if len(runs) == 2]


@dataclass(frozen=True)
class Outcome:
    """What advice took, its ``factor`` over the cheapest way, after how long, and whether it was decided."""

    cell: Cell | None
    factor: float
    spent_s: float
    looked_at: int
    decided: bool


def advised_way(item: Measured, advised: Advised, turns: Mapping[Cell, float], within_s: float) -> Outcome:
    """Replay advice: screening in the order of ``turns``, then the race."""
    order, left, started, spent_s = Order(advised, turns), set(turns), set[str](), 0.0
    seen: list[CellSummary] = []
    while left and not order.settled and spent_s < LOOKING_SHARE * within_s:
        cell = order.next(left)
        left.remove(cell)
        process = item.ways[cell].processes[0]
        spent_s += process.wall_s
        if cell.adapter in started:
            spent_s -= sum(process.phases_s.get(phase, 0.0) for phase in STARTUP)
        started.add(cell.adapter)
        order.keep(cell, call_cost(process, advised.call, advised.digits))
        seen.append(item.ways[cell])
    best = [found.cell for found in nearest(seen, advised)]
    if not best:
        return Outcome(None, WORST, spent_s, len(seen), decided=False)
    race, draw = Race(tuple(best)), random.Random(0)
    for block in range(BLOCKS):
        running = [item.close.get(cell) or item.ways[cell] for cell in race.running]
        place = draw.random()
        processes = [found.processes[int(place * len(found.processes))] for found in running]
        took_s = sum(process.wall_s for process in processes)
        if (race.standing.decided and race.tried) or (block and spent_s + took_s > within_s):
            break
        spent_s += took_s
        race.keep(block, {found.cell: total_s(p, advised) for found, p in zip(running, processes, strict=True)})
    leads, totals = race.standing.leads, item.totals(advised)
    factor = min(WORST, totals[leads] / min(totals.values())) if leads in totals else WORST
    return Outcome(leads, factor, spent_s, len(seen), race.standing.decided)


def order_of(item: Measured, others: Sequence[Known], advised: Advised) -> dict[Cell, float]:
    """How early each way is tried, with what was measured on others; without any by the rules alone."""
    measured = Candidates(tuple(item.ways), {}, {})
    tiers = ranked(measured, item.entry, adapters(), GRADIENT)
    return turns(tiers, item.features, others, digits=advised.digits, gradients=advised.count)


def of_rule(rule: Rule, item: Measured, advised: Advised) -> tuple[float, float] | None:
    """The regret of a rule at its best, and in the middle of what it allows; ``None`` where it allows nothing."""
    traits, totals, known = Traits.of(item.entry, advised.accuracy), item.totals(advised), adapters()
    allowed = [cell for cell in item.ways if rule.allows(traits, cell, known[cell.adapter].method(cell.method))]
    if not allowed:
        return None
    least = min(totals.values())
    factors = sorted(min(WORST, totals[cell] / least) if cell in totals else WORST for cell in allowed)
    return factors[0], factors[len(factors) // 2]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table in Markdown."""
    return [_line(head), "|---|" + "--:|" * (len(head) - 1), *map(_line, rows), ""]


def _line(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


def spread(factors: Sequence[float]) -> list[str]:
    """Median, the ninth of ten, and the worst."""
    known = sorted(factors)
    if not known:
        return ["", "", ""]
    return [_short(value) for value in (statistics.median(known), known[-(-9 * len(known) // 10) - 1], known[-1])]


def _short(factor: float) -> str:
    return "fails" if factor >= WORST else f"{factor:.3g}"


def page(problems: Sequence[Measured], within_s: float, learn: bool) -> Iterator[str]:
    """The page of the docs, line by line."""
    yield INTRODUCTION.format(
        count=len(problems), names=", ".join(item.name for item in problems), minutes=within_s / 60
    )
    for number, (accuracy, count) in enumerate(QUESTIONS):
        advised = Advised(SCREEN, GRADIENT, count, accuracy)
        yield f"## {count:,} gradients at a relative error of {accuracy:g}".replace(",", "\u202f")
        yield ""
        answered = [item for item in problems if item.totals(advised)]
        taken = [of_advice(item, problems if learn else (), advised, within_s) for item in answered]
        if number == 0:
            yield from table(
                ("problem", "cheapest", "total", "advice", "regret", "answer after", "tried", "decided", "disturbed"),
                [_of_problem(item, advised, out) for item, out in zip(answered, taken, strict=True)],
            )
        rows = [["`sciml-bench advise`", *spread([out.factor for out in taken]), "", "", "", str(len(taken))]]
        for rule in RULES:
            both = [found for item in answered if (found := of_rule(rule, item, advised)) is not None]
            name = f"[{rule.name}]({rule.source})"
            rows.append([name, *spread([a for a, _ in both]), *spread([b for _, b in both]), str(len(both))])
        head = ("rule", "median", "9 of 10", "worst", "median, middle way", "9 of 10", "worst", "problems")
        yield from table(head, rows)
    yield "## The rules"
    yield ""
    yield from (f"- **{rule.name}.** {rule.says}" for rule in RULES)


def text_of(problems: Sequence[Measured], within_s: float = 600.0, learn: bool = True) -> str:
    """The page of the docs."""
    return "\n".join(page(problems, within_s, learn)) + "\n"


def of_advice(item: Measured, problems: Sequence[Measured], advised: Advised, within_s: float) -> Outcome:
    """What advice takes, with what was learnt from the other problems alone."""
    others = [other.known for other in problems if other is not item]
    return advised_way(item, advised, order_of(item, others, advised), within_s)


def _of_problem(item: Measured, advised: Advised, out: Outcome) -> list[str]:
    totals = item.totals(advised)
    best = min(totals, key=lambda cell: totals[cell])
    taken = "nothing" if out.cell is None else "the same" if out.cell == best else out.cell.solver
    disturbed = " and ".join(f"{100 * share:.0f} %" for share in item.disturbed)
    seconds = f"{out.spent_s:.0f} s", str(out.looked_at), "yes" if out.decided else "no", disturbed
    return [item.name, best.solver, f"{totals[best]:.3g} s", taken, _short(out.factor), *seconds]


INTRODUCTION = """\
# Regret: the cost of following advice, or a published rule

Regret is the cost of the chosen way over the cost of the cheapest way: 1 is perfect, 2 is twice the time. Costs are
totals from the start of the process, with compilation, at equal error of the gradient, on one core. Every way of
{count} problems was measured by `benchmarks/exhaustive.py`: {names}. The runs are in
[`results/exhaustive`](../results/exhaustive), and `benchmarks/advice_regret.py` makes this page from them. Julia was
not installed, so what rules say about Julia's methods is applied to the same kinds of methods in Python's libraries.

`advise` is replayed through its own code with {minutes:.0f} minutes. It knows only what it sees of the problem at hand:
the order in which it tries ways was learnt from the other problems. The time that a slow way costs until it is ended,
and its tolerances, are taken from the runs; a real race tunes tolerances to the requested accuracy.
One rule of its order, that a wrong gradient brings the other kinds of gradient forward, was added after `pleiades` was
measured. The replay takes the times of disturbed processes as they are, where a race would name no winner.

A rule leaves something open, at least the library. Its regret is given for the best of the ways that it allows, which
nobody can know beforehand, and for the middle one of them. A way that fails, or never reaches the accuracy, counts as
100 and is shown as *fails*. The links lead to the published rules; the end of the page says how each was implemented.

*Disturbed* is the share of the processes of a problem that other work on the machine disturbed, over both runs: the
first, in which all ways are tried once, and the second, in which the best ones are compared in fresh processes.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the exhaustive runs")
    parser.add_argument("--within", type=float, default=600.0, help="seconds that advice may take; 600 if not given")
    parser.add_argument("--rules-alone", action="store_true", help="look at ways in the order of the rules, unlearned")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the page to this file")
    parser.add_argument("--learn", type=Path, metavar="FILE", help="write what was learnt of all problems to this file")
    chosen = parser.parse_args()
    problems = read(chosen.folder)
    text = text_of(problems, chosen.within, not chosen.rules_alone)
    if chosen.learn is not None:
        write(chosen.learn, (item.known for item in problems))
    if chosen.write is None:
        print(text)
    else:
        chosen.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

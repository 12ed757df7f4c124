"""The library, method and kind of gradient to take for problems of a kind: one answer over all of its problems.

On each problem a cell costs what ``choice`` says: its time to the first gradient from the start of the process and
then as many steady gradients as are wanted, at the accuracy at which the problem's table compares. Costs of different
problems do not add up, so a cell is as good as the geometric mean of its costs; a cell without a cost on a problem of
the kind, since it failed there or is not accurate enough, is not advised. A problem that one library alone can run, of
several that run most of its kind, is no contest and has no part in this, nor has one on which every way failed. If
only one way has costs on all the others, take it.

The problems of a run represent others of their kind. So the problem is the unit of replication here: two ways are
judged by their ratio on each problem, over the problems, and the family is all pairs of ways that have costs on all of
them, whichever turned out to be the cheapest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from sciml_bench.analysis.advice.break_even import GRADIENTS, cost
from sciml_bench.analysis.ranking import Lead, lead_of, turned
from sciml_bench.analysis.row_tables import RowTable
from sciml_bench.analysis.rows import Row
from sciml_bench.planning.written_plan import WrittenPlan, WrittenProblem
from sciml_bench.stats.break_even import Cost
from sciml_bench.stats.problem_resampling import FEWEST, resampled_mean
from sciml_bench.stats.ratio import Ratio, paired_ratio
from sciml_bench.stats.verdict import Judgement, Verdict, judge, with_bound

LARGE = 1000
"""A problem is large from this many components of the state or of theta on, over all trajectories."""

LEVEL = 0.035
"""Problems are few and their ratios far from normal: at this level a way is named in at most 5 % of cases without a
best one.
"""

KINDS = ("small", "stiff", "large")

Solver = str
"""Adapter, method, sensitivity, mode, precision and device: a cell without its problem, :attr:`Cell.solver`."""


@dataclass(frozen=True)
class Rival:
    """Another solver, and its cost over the cost of the one to take, over the problems."""

    solver: Solver
    judgement: Judgement


@dataclass(frozen=True)
class Advice:
    """The solver to take for ``gradients`` gradients of problems of a kind.

    ``factor`` is the geometric mean over the problems of its cost over the least cost that any solver has there.
    ``alone`` names the problems of the kind that only one library of several can run, and that library. ``lead`` says
    whether it is the one to take beyond chance: ``even`` are the rivals not distinguished from it, ``next`` is the
    cheapest of the distinguished rivals. ``missed`` maps each planned solver without a cost to its problems without
    one; no solver has a cost on the problems in ``failed``.
    """

    kind: str
    problems: tuple[str, ...]
    gradients: int
    solver: Solver
    factor: float
    lead: Lead
    even: tuple[Rival, ...]
    next: Rival | None
    missed: Mapping[Solver, tuple[str, ...]]
    alone: Mapping[str, str]
    failed: tuple[str, ...]


def kind_of(problem: WrittenProblem) -> str:
    """The kind of a differential equation of a plan; empty for models, and for plans without it."""
    n_states, n_theta, batch = problem.n_states, problem.n_theta, problem.batch
    if problem.is_model or problem.stiff is None or n_states is None or n_theta is None or batch is None:
        return ""
    return "stiff" if problem.stiff else "large" if max(n_states, n_theta) * batch >= LARGE else "small"


def advice(plan: WrittenPlan, tables: Sequence[RowTable], fewest: int = FEWEST) -> tuple[Advice, ...]:
    """The solver to take for the problems of each kind, among the recommended ways of all libraries.

    A kind is left out if it has fewer than ``fewest`` problems, which say nothing of others, or if fewer than two ways
    were planned or none has costs on all its problems.
    """
    rows = {table.problem: table.rows for table in tables if table.name == "idiomatic"}
    fields = [field for kind in KINDS if len((field := _field(plan, kind, rows)).problems) >= fewest]
    judged = judge({key: ratio for field in fields for key, ratio in _family(field)}, level=LEVEL)
    return tuple(
        item for field in fields for gradients in GRADIENTS if (item := _advice(field, gradients, judged)) is not None
    )


def unadvised(plan: WrittenPlan, found: Sequence[Advice], fewest: int = FEWEST) -> dict[str, tuple[str, ...]]:
    """The kinds without advice although at least two ways were planned, with their problems."""
    told = {item.kind for item in found}
    of_kind = {kind: _problems(plan, kind) for kind in KINDS if kind not in told}
    return {kind: names for kind, names in of_kind.items() if len(names) >= fewest and len(_planned(plan, names)) > 1}


def _problems(plan: WrittenPlan, kind: str) -> tuple[str, ...]:
    return tuple(problem.name for problem in plan.problems if kind_of(problem) == kind)


def _planned(plan: WrittenPlan, names: Sequence[str]) -> dict[Solver, set[str]]:
    """The recommended ways that were to run any of these problems, and which of them."""
    found: dict[Solver, set[str]] = {}
    for item in plan.cells:
        if item.division == "idiomatic" and item.cell.problem in names:
            found.setdefault(item.cell.solver, set()).add(item.cell.problem)
    return found


@dataclass(frozen=True)
class _Field:
    """The problems of a kind on which solvers are compared with each other, and every solver's costs there.

    ``bounded`` are the solvers with a cost that is an upper bound. ``alone`` and ``failed`` are the excluded problems
    of the kind, as in :class:`Advice`.
    """

    kind: str
    problems: tuple[str, ...]
    costs: Mapping[Solver, Mapping[str, Cost]]
    bounded: frozenset[Solver]
    alone: Mapping[str, str]
    failed: tuple[str, ...]

    @property
    def complete(self) -> list[Solver]:
        """The solvers with a cost on every problem; empty if there is no choice."""
        if not self.problems or len(self.costs) < 2:
            return []
        return [solver for solver, known in self.costs.items() if len(known) == len(self.problems)]

    def totals(self, solver: Solver, gradients: int) -> list[float]:
        """Seconds for ``gradients`` gradients on each problem."""
        return [self.costs[solver][name].total_s(gradients) for name in self.problems]


def _field(plan: WrittenPlan, kind: str, rows: Mapping[str, Sequence[Row]]) -> _Field:
    names = [name for name in _problems(plan, kind) if _planned(plan, [name])]
    alone = _alone(plan, names)
    contested = [name for name in names if name not in alone]
    costs: dict[Solver, dict[str, Cost]] = {solver: {} for solver in _planned(plan, contested)}
    bounded: set[Solver] = set()
    for name in contested:
        for row in rows.get(name, ()):
            # One that fails now and then is none to take for all problems of a kind.
            if (found := cost(row)) is not None and not row.summary.failing:
                costs.setdefault(row.summary.cell.solver, {})[name] = found
                bounded |= {row.summary.cell.solver} if row.gradient.at_most else set()
    solved = {name for known in costs.values() for name in known}
    return _Field(
        kind=kind,
        problems=tuple(name for name in contested if name in solved),
        costs=costs,
        bounded=frozenset(bounded),
        alone=alone,
        failed=tuple(name for name in contested if name not in solved),
    )


def _alone(plan: WrittenPlan, names: Sequence[str]) -> dict[str, str]:
    """The problems among these that only one library runs, as planned, of the libraries that run more than half of
    them.
    """
    libraries: dict[str, set[str]] = {}
    for item in plan.cells:
        if item.cell.problem in names:
            libraries.setdefault(item.cell.adapter, set()).add(item.cell.problem)
    rivals = {library: problems for library, problems in libraries.items() if 2 * len(problems) > len(names)}
    if len(rivals) < 2:
        return {}
    running = {name: [library for library, problems in rivals.items() if name in problems] for name in names}
    return {name: found[0] for name, found in running.items() if len(found) == 1}


_Pair = tuple[str, int, Solver, Solver]
"""A kind, a number of gradients, and two solvers: the base and the other."""


def _family(field: _Field) -> Iterator[tuple[_Pair, Ratio]]:
    """All pairs of solvers with costs on all problems of a kind."""
    for gradients in GRADIENTS:
        totals = {solver: field.totals(solver, gradients) for solver in field.complete}
        for base, new in combinations(totals, 2):
            yield (field.kind, gradients, base, new), ratio_over(totals[base], totals[new])


def ratio_over(base: Sequence[float], new: Sequence[float]) -> Ratio:
    """new / base over problems: the paired ratio with its t interval, from 5 problems on with the wider of that and the
    interval from resampling the problems."""
    ratio = paired_ratio(base, new, ordered=False)
    found = resampled_mean([b / a for a, b in zip(base, new, strict=True)])
    return ratio if found is None else replace(ratio, low=min(ratio.low, found[0]), high=max(ratio.high, found[1]))


def _mean(costs: Iterable[Cost], gradients: int) -> float:
    logs = [math.log(item.total_s(gradients)) for item in costs]
    return math.exp(sum(logs) / len(logs))


def _least(field: _Field, gradients: int) -> list[Cost]:
    """The cheapest on each problem, of all solvers that have a cost there."""
    return [
        min((known[name] for known in field.costs.values() if name in known), key=lambda item: item.total_s(gradients))
        for name in field.problems
    ]


def _advice(field: _Field, gradients: int, judged: Mapping[_Pair, Judgement]) -> Advice | None:
    means = {solver: _mean(field.costs[solver].values(), gradients) for solver in field.complete}
    if not means:
        return None
    best = min(means, key=lambda solver: means[solver])
    rivals = [Rival(solver, _against(field, gradients, best, solver, judged)) for solver in means if solver != best]
    rivals.sort(key=lambda rival: rival.judgement.ratio.estimate)
    slower = [rival for rival in rivals if rival.judgement.verdict is Verdict.SLOWER]
    even = tuple(rival for rival in rivals if rival.judgement.verdict is not Verdict.SLOWER)
    missed = {solver: tuple(n for n in field.problems if n not in known) for solver, known in field.costs.items()}
    return Advice(
        kind=field.kind,
        problems=field.problems,
        gradients=gradients,
        solver=best,
        factor=means[best] / _mean(_least(field, gradients), gradients),
        lead=lead_of([rival.judgement for rival in even]),
        even=even,
        next=slower[0] if slower else None,
        missed={solver: names for solver, names in missed.items() if names},
        alone=field.alone,
        failed=field.failed,
    )


def _against(
    field: _Field, gradients: int, best: Solver, other: Solver, judged: Mapping[_Pair, Judgement]
) -> Judgement:
    found = judged.get((field.kind, gradients, best, other))
    judgement = turned(judged[field.kind, gradients, other, best]) if found is None else found
    if judgement.ratio.low <= 1 <= judgement.ratio.high and judgement.verdict is not Verdict.SAME:
        # t alone names a winner, and other problems drawn from these do not.
        judgement = replace(judgement, verdict=Verdict.UNDECIDED)
    return with_bound(judgement, best in field.bounded, other in field.bounded)

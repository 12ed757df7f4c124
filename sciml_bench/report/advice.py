"""Which library, method and kind of gradient to take for problems of a kind: one answer over all of its problems.

On each problem a cell costs what ``choice`` says: its time to the first gradient from the start of the process and then
as many steady gradients as are wanted, at the accuracy at which the problem's table compares. Costs of different
problems do not add up, so a cell is as good as the geometric mean of its costs; one that lacks a cost on a problem of
the kind, since it failed there or is not accurate enough, is not advised. A problem that one library alone can run, of
several that run most of its kind, is no contest and has no part in this, nor has one on which every way failed. Where
one way alone has costs on all the others, it is the one to take.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sciml_bench.report.choice import GRADIENTS, block_costs, cost
from sciml_bench.report.rows import Row
from sciml_bench.report.tables import RowTable
from sciml_bench.stats.breakeven import Cost
from sciml_bench.stats.ratio import Ratio, pair, paired_ratio
from sciml_bench.stats.verdict import Judgement, Verdict, judge
from sciml_bench.task import Cell

LARGE = 1000
"""From so many components on, of the state or of theta, over all trajectories, a problem is large."""

KINDS = ("small", "stiff", "large")

Solver = tuple[str, ...]
"""Adapter, method, sensitivity, mode, precision and device: a cell without its problem."""


@dataclass(frozen=True)
class Rival:
    """Another solver, and its cost over that of the one to take."""

    solver: Solver
    judgement: Judgement


@dataclass(frozen=True)
class Advice:
    """What to take for so many gradients of problems of a kind.

    ``factor`` is the geometric mean over the problems of its cost over the least cost that any solver has there.
    ``alone`` names the problems of the kind that only one library of several can run, and that library.
    ``even`` are the rivals that are not told apart from it, ``next`` is the cheapest of those that are; ``missed``
    names for each solver that was planned and lacks a cost the problems where it does; on those of ``failed`` all do.
    """

    kind: str
    problems: tuple[str, ...]
    gradients: int
    solver: Solver
    factor: float
    even: tuple[Rival, ...]
    next: Rival | None
    missed: Mapping[Solver, tuple[str, ...]]
    alone: Mapping[str, str]
    failed: tuple[str, ...]


def kind_of(entry: Mapping[str, object]) -> str:
    """The kind of a differential equation, by its entry in a plan; empty for plans that do not tell."""
    numbers = [entry.get(name) for name in ("n_states", "n_theta", "batch")]
    told = "stiff" in entry and all(isinstance(number, int) for number in numbers)
    if not told or entry.get("suite") == "conventional":
        return ""
    n_states, n_theta, batch = (int(str(number)) for number in numbers)
    return "stiff" if entry["stiff"] else "large" if max(n_states, n_theta) * batch >= LARGE else "small"


def advice(plan: Mapping[str, Any], tables: Sequence[RowTable]) -> tuple[Advice, ...]:
    """What to take for the problems of each kind, of the recommended ways of all libraries.

    Nothing is said of a kind that fewer than two ways were to run, or of which none has costs on all problems.
    """
    rows = {table.problem: table.rows for table in tables if table.name == "idiomatic"}
    candidates: list[_Candidate] = []
    for kind in KINDS:
        candidates += _candidates(_field(plan, kind, rows))
    judged = judge({(place, rival): ratio for place, of in enumerate(candidates) for rival, ratio in of.rivals.items()})
    return tuple(_advice(place, candidate, judged) for place, candidate in enumerate(candidates))


def unadvised(plan: Mapping[str, Any], found: Sequence[Advice]) -> dict[str, tuple[str, ...]]:
    """The kinds of which nothing can be said though two ways or more were to run them, with their problems."""
    told = {item.kind for item in found}
    silent = [kind for kind in KINDS if kind not in told and len(_planned(plan, _problems(plan, kind))) > 1]
    return {kind: _problems(plan, kind) for kind in silent}


def _problems(plan: Mapping[str, Any], kind: str) -> tuple[str, ...]:
    return tuple(str(entry["name"]) for entry in plan["problems"] if kind_of(entry) == kind)


def _planned(plan: Mapping[str, Any], names: Sequence[str]) -> dict[Solver, set[str]]:
    """The recommended ways that were to run any of these problems, and which of them."""
    found: dict[Solver, set[str]] = {}
    for item in plan["cells"]:
        if item["division"] == "idiomatic" and item["cell"]["problem"] in names:
            found.setdefault(solver_of(Cell(**item["cell"])), set()).add(item["cell"]["problem"])
    return found


@dataclass(frozen=True)
class _Field:
    """The problems of a kind on which solvers are set against each other, and every solver's costs there.

    ``alone`` and ``failed`` are the problems of the kind that have no part in it, as in :class:`Advice`.
    """

    kind: str
    problems: tuple[str, ...]
    costs: Mapping[Solver, Mapping[str, Cost]]
    blocks: Mapping[Solver, Mapping[str, Mapping[int, Cost]]]
    alone: Mapping[str, str]
    failed: tuple[str, ...]


def _field(plan: Mapping[str, Any], kind: str, rows: Mapping[str, Sequence[Row]]) -> _Field:
    names = [name for name in _problems(plan, kind) if _planned(plan, [name])]
    alone = _alone(plan, names)
    contested = [name for name in names if name not in alone]
    costs: dict[Solver, dict[str, Cost]] = {solver: {} for solver in _planned(plan, contested)}
    blocks: dict[Solver, dict[str, dict[int, Cost]]] = {}
    for name in contested:
        for row in rows.get(name, ()):
            if (found := cost(row)) is not None:
                costs.setdefault(solver_of(row.summary.cell), {})[name] = found
                blocks.setdefault(solver_of(row.summary.cell), {})[name] = block_costs(row)
    solved = {name for known in costs.values() for name in known}
    return _Field(
        kind=kind,
        problems=tuple(name for name in contested if name in solved),
        costs=costs,
        blocks=blocks,
        alone=alone,
        failed=tuple(name for name in contested if name not in solved),
    )


def _alone(plan: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    """The problems among these that one library alone runs, as planned, of those that run more than half of them."""
    libraries: dict[str, set[str]] = {}
    for item in plan["cells"]:
        if item["cell"]["problem"] in names:
            libraries.setdefault(item["cell"]["adapter"], set()).add(item["cell"]["problem"])
    rivals = {library: problems for library, problems in libraries.items() if 2 * len(problems) > len(names)}
    if len(rivals) < 2:
        return {}
    running = {name: [library for library, problems in rivals.items() if name in problems] for name in names}
    return {name: found[0] for name, found in running.items() if len(found) == 1}


@dataclass(frozen=True)
class _Candidate:
    """The cheapest solver for so many gradients of a kind, not yet judged against its rivals."""

    field: _Field
    gradients: int
    solver: Solver
    factor: float
    rivals: Mapping[Solver, Ratio]


def _candidates(field: _Field) -> Iterator[_Candidate]:
    complete = [solver for solver, known in field.costs.items() if field.problems and len(known) == len(field.problems)]
    if not complete or len(field.costs) < 2:
        return
    for gradients in GRADIENTS:
        means = {solver: _mean(field.costs[solver].values(), gradients) for solver in complete}
        best = min(means, key=lambda solver: means[solver])
        base = _by_block(field.blocks[best], gradients)
        ratios = {s: _ratio(base, _by_block(field.blocks[s], gradients)) for s in complete if s != best}
        yield _Candidate(
            field=field,
            gradients=gradients,
            solver=best,
            factor=means[best] / _mean(_least(field, gradients), gradients),
            rivals={solver: ratio for solver, ratio in ratios.items() if ratio is not None},
        )


def solver_of(cell: Cell) -> Solver:
    """A cell without its problem."""
    return (cell.adapter, cell.method, cell.sensitivity, cell.mode, cell.precision, cell.device)


def _mean(costs: Iterable[Cost], gradients: int) -> float:
    logs = [math.log(item.total_s(gradients)) for item in costs]
    return math.exp(sum(logs) / len(logs))


def _least(field: _Field, gradients: int) -> list[Cost]:
    """The cheapest on each problem, of all solvers that have a cost there."""
    return [
        min((known[name] for known in field.costs.values() if name in known), key=lambda item: item.total_s(gradients))
        for name in field.problems
    ]


def _by_block(costs: Mapping[str, Mapping[int, Cost]], gradients: int) -> dict[int, float | None]:
    """The mean over the problems in each block that has all of them."""
    common = set.intersection(*(set(of_block) for of_block in costs.values()))
    return {block: _mean([of_block[block] for of_block in costs.values()], gradients) for block in common}


def _ratio(base: Mapping[int, float | None], new: Mapping[int, float | None]) -> Ratio | None:
    pairs = pair(base, new)
    return paired_ratio(pairs.base, pairs.new) if pairs.blocks else None


def _advice(place: int, candidate: _Candidate, judged: Mapping[tuple[int, Solver], Judgement]) -> Advice:
    rivals = [Rival(solver, judged[place, solver]) for solver in candidate.rivals]
    rivals.sort(key=lambda rival: rival.judgement.ratio.estimate)
    slower = [rival for rival in rivals if rival.judgement.verdict is Verdict.SLOWER]
    field = candidate.field
    missed = {solver: tuple(n for n in field.problems if n not in known) for solver, known in field.costs.items()}
    return Advice(
        kind=field.kind,
        problems=field.problems,
        gradients=candidate.gradients,
        solver=candidate.solver,
        factor=candidate.factor,
        even=tuple(rival for rival in rivals if rival.judgement.verdict is not Verdict.SLOWER),
        next=slower[0] if slower else None,
        missed={solver: names for solver, names in missed.items() if names},
        alone=field.alone,
        failed=field.failed,
    )

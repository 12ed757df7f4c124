"""Which library, method and kind of gradient to take for problems of a kind: one answer over all of its problems.

On each problem a cell costs what ``choice`` says: its time to the first gradient from the start of the process and then
as many steady gradients as are wanted, at the accuracy at which the problem's table compares. Costs of different
problems do not add up, so a cell is as good as the geometric mean of its costs; one that lacks a cost on a problem of
the kind, since it failed there or is not accurate enough, is not advised. A problem that one library alone can run, of
several that run most of its kind, is no contest and has no part in this.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sciml_bench.report.choice import GRADIENTS, block_costs, cost
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
    names for each solver that lacks a cost the problems where it does.
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

    Nothing is said of a kind for which fewer than two solvers have costs on all of its problems.
    """
    kinds = {str(entry["name"]): kind_of(entry) for entry in plan["problems"]}
    recommended = {table.problem: table for table in tables if table.name == "idiomatic"}
    candidates: list[_Candidate] = []
    for kind in KINDS:
        alone = _alone(plan, [name for name in recommended if kinds.get(name) == kind])
        known = {n: table for n, table in recommended.items() if kinds.get(n) == kind and n not in alone}
        candidates += _candidates(kind, known, alone)
    judged = judge({(place, rival): ratio for place, of in enumerate(candidates) for rival, ratio in of.rivals.items()})
    return tuple(_advice(place, candidate, judged) for place, candidate in enumerate(candidates))


def unadvised(plan: Mapping[str, Any], found: Sequence[Advice]) -> dict[str, tuple[str, ...]]:
    """The kinds of which nothing can be said though two ways or more were to run them, with their problems."""
    told = {item.kind for item in found}
    ways: dict[str, set[Solver]] = {}
    problems: dict[str, tuple[str, ...]] = {}
    for entry in plan["problems"]:
        name, kind = str(entry["name"]), kind_of(entry)
        problems[kind] = (*problems.get(kind, ()), name)
        cells = [Cell(**item["cell"]) for item in plan["cells"] if item["cell"]["problem"] == name]
        ways.setdefault(kind, set()).update(solver_of(cell) for cell in cells)
    return {kind: problems[kind] for kind in KINDS if kind not in told and len(ways.get(kind, ())) > 1}


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

    kind: str
    problems: tuple[str, ...]
    gradients: int
    solver: Solver
    factor: float
    rivals: Mapping[Solver, Ratio]
    missed: Mapping[Solver, tuple[str, ...]]
    alone: Mapping[str, str]


def _candidates(kind: str, tables: Mapping[str, RowTable], alone: Mapping[str, str]) -> Iterator[_Candidate]:
    costs: dict[Solver, dict[str, Cost]] = {}
    blocks: dict[Solver, dict[str, dict[int, Cost]]] = {}
    for name, table in tables.items():
        for row in table.rows:
            of_solver = costs.setdefault(solver_of(row.summary.cell), {})
            if (found := cost(row)) is not None:
                of_solver[name] = found
                blocks.setdefault(solver_of(row.summary.cell), {})[name] = block_costs(row)
    complete = [solver for solver, known in costs.items() if len(known) == len(tables)]
    missed = {
        solver: tuple(name for name in tables if name not in known)
        for solver, known in costs.items()
        if len(known) < len(tables)
    }
    if len(complete) < 2:
        return
    for gradients in GRADIENTS:
        means = {solver: _mean(costs[solver].values(), gradients) for solver in complete}
        best = min(means, key=lambda solver: means[solver])
        base = _by_block(blocks[best], gradients)
        ratios = {s: _ratio(base, _by_block(blocks[s], gradients)) for s in complete if s != best}
        yield _Candidate(
            kind=kind,
            problems=tuple(tables),
            gradients=gradients,
            solver=best,
            factor=means[best] / _mean(_least(costs, tables, gradients), gradients),
            rivals={solver: ratio for solver, ratio in ratios.items() if ratio is not None},
            missed=missed,
            alone=alone,
        )


def solver_of(cell: Cell) -> Solver:
    """A cell without its problem."""
    return (cell.adapter, cell.method, cell.sensitivity, cell.mode, cell.precision, cell.device)


def _mean(costs: Iterable[Cost], gradients: int) -> float:
    logs = [math.log(item.total_s(gradients)) for item in costs]
    return math.exp(sum(logs) / len(logs))


def _least(costs: Mapping[Solver, Mapping[str, Cost]], tables: Mapping[str, RowTable], gradients: int) -> list[Cost]:
    """The cheapest on each problem, of all solvers that have a cost there."""
    return [
        min((known[name] for known in costs.values() if name in known), key=lambda item: item.total_s(gradients))
        for name in tables
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
    return Advice(
        kind=candidate.kind,
        problems=candidate.problems,
        gradients=candidate.gradients,
        solver=candidate.solver,
        factor=candidate.factor,
        even=tuple(rival for rival in rivals if rival.judgement.verdict is not Verdict.SLOWER),
        next=slower[0] if slower else None,
        missed=candidate.missed,
        alone=candidate.alone,
    )

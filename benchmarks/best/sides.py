"""The two sides of a comparison: the cells that the suite recommends, and the experts' configurations."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from best import Expert, Vector

LIBRARIES: dict[str, tuple[str, ...]] = {
    "scipy": ("scipy_robertson", "scipy_hires", "scipy_nonstiff", "scipy_brusselator"),
    "diffrax": ("diffrax_stiff", "diffrax_nonstiff"),
    "torchdiffeq": ("torchdiffeq_experts",),
    "tensorflow": ("tensorflow_experts",),
}
"""The modules of each library's experts."""

PROBLEMS = ("robertson", "hires", "brusselator-1d", "lotka-volterra", "spiral-node")

NOT_COMPARED = {
    ("scipy", "spiral-node"): "SciPy has no automatic differentiation; nobody trains a network by it",
    ("torchdiffeq", "robertson"): "an explicit method takes hundreds of millions of steps",
}
SLOW = {("torchdiffeq", "hires"): "an explicit method takes 8 s a solve and 28 s a gradient; --slow compares them"}


@dataclass(frozen=True)
class Suite:
    """The suite's cell: its label, its program as a side, its task's numbers and truth."""

    label: str
    side: Expert
    task: Any


def recommended(library: str, problem: str) -> list[Suite] | str:
    """The cells that the suite recommends of a library for a problem, the first one first; or why there are none."""
    from sciml_bench.adapters import registry
    from sciml_bench.planning.cells import BEST
    from sciml_bench.planning.plan import make_plan
    from sciml_bench.planning.profiles import profile_named
    from sciml_bench.planning.selection import Selection
    from sciml_bench.planning.settings import Settings

    adapters = {library: registry.adapter(library)}
    # Of a problem that is named, quick takes all recommended cells.
    plan = make_plan(Selection(problems=(problem,)), adapters, profile_named("quick"), Settings())
    # Those that match a cell of another library are not recommended for their own sake.
    chosen = [index for index, item in enumerate(plan.planned) if item.role or item.division == "idiomatic"]
    chosen.sort(key=lambda index: plan.planned[index].role != BEST)
    if not chosen:
        reasons = {item.reason for item in plan.skipped if item.outcome is not None}
        return "; ".join(sorted(reasons)) or "the suite recommends no cell"
    tasks = [plan.task(next(slot for slot in plan.slots if slot.index == index)) for index in chosen]
    return [Suite(plan.planned[index].cell.label, built(task), task) for index, task in zip(chosen, tasks, strict=True)]


def other_cell(suite: Suite, cell: str) -> Suite:
    """Another cell ``method/sensitivity/mode`` in the place of the recommended one."""
    from sciml_bench.adapters import registry
    from sciml_bench.emit import source
    from sciml_bench.spec import catalog

    method, sensitivity, mode = cell.split("/")
    changed = replace(suite.task.cell, method=method, sensitivity=sensitivity, mode=mode)
    target = registry.adapter(changed.adapter).target_of(changed)
    task = replace(suite.task, cell=changed, source=source(catalog.load(changed.problem), target))
    return Suite(changed.label, built(task), task)


def built(task: Any) -> Expert:
    """The suite's program for a task in the form of an expert's."""
    from sciml_bench.record.task import Point

    module, _, function = task.program.partition(":")
    program = getattr(importlib.import_module(module), function)(task)

    def prepare(theta: Vector, rtol: float) -> Any:
        return program.prepare(theta, Point(rtol, rtol))

    def states(output: Any) -> Vector:
        return program.read_solution(output).ys

    def slopes(output: Any) -> Vector:
        return program.read_gradient(output).gradient

    return Expert("suite", prepare, program.solve, program.gradient, program.synchronise, states, slopes)


def experts(library: str, problem: str) -> tuple[Callable[[], Expert], ...]:
    """What builds each expert of a library for a problem."""
    for name in LIBRARIES[library]:
        found = importlib.import_module(f"best.{name}").EXPERTS
        if problem in found:
            return found[problem]
    return ()

"""Chooses the cells of an adapter to check, makes their tasks, and runs each cell in a fresh process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import sciml_bench
from sciml_bench.adapters.base import Adapter, ProblemTraits, calls_of
from sciml_bench.adapters.conformance import problems
from sciml_bench.adapters.conformance.checks import Check, Status
from sciml_bench.adapters.conformance.problems import Expected, KnownProblem
from sciml_bench.adapters.registry import missing
from sciml_bench.record.task import DEFAULT_SAVING, Cell, Numbers, Point, Reference, Sampling, Task

TIMEOUT_S = 300.0
#: Steps over the time span for fixed-step methods of any order, roughly.
FIXED_STEPS = 400
_FIRST = "nonstiff"
_PROBLEMS = {
    _FIRST: problems.NONSTIFF,
    "stiff": problems.STIFF,
    "switched": problems.SWITCHED,
    "blow-up": problems.BLOW_UP,
}


@dataclass(frozen=True)
class Case:
    """One cell to check: its tasks by the name of the problem, and the reasons why problems are refused.

    Without the first problem no other is tried.
    """

    cell: Cell
    tasks: dict[str, Task]
    refusals: dict[str, str]

    @property
    def refusal(self) -> str | None:
        """The reason why the cell cannot run at all; ``None`` if it can."""
        return self.refusals.get(_FIRST)


def cells(adapter: Adapter, everything: bool = False) -> tuple[Cell, ...]:
    """Return the cells that are checked: every method once, the first of each family that lands on saved times with
    that too, and, with the first method, every sensitivity and mode.

    ``everything`` asks for all combinations, single precision excepted.
    """
    first = (adapter.sensitivities[0], adapter.modes[0])
    landing = {method.family: method for method in reversed(adapter.methods) if method.lands}
    pairs = [(sensitivity, mode) for sensitivity in adapter.sensitivities for mode in adapter.modes]
    return tuple(
        Cell("conformance", adapter.name, method.name, sensitivity, mode, saving=saving)
        for index, method in enumerate(adapter.methods)
        for sensitivity, mode in pairs
        for saving in method.savings
        if everything
        or (saving == DEFAULT_SAVING and (index == 0 or (sensitivity, mode) == first))
        or (saving != DEFAULT_SAVING and (sensitivity, mode) == first and landing[method.family] is method)
    )


def check(
    adapter: Adapter, chosen: Iterable[Cell] | None = None, timeout_s: float = TIMEOUT_S, threads: int = 1
) -> Iterator[Check]:
    """Check cells of an adapter one after another, each in a fresh process, and give every result as it comes."""
    for cell in cells(adapter) if chosen is None else chosen:
        yield from _run(case(adapter, cell, threads), adapter.variables(), timeout_s, adapter.interpreter)


def case(adapter: Adapter, cell: Cell, threads: int = 1) -> Case:
    """The tasks on which a cell is checked."""
    method = adapter.method(cell.method)
    names = ["nonstiff", "switched"]
    if method.stiff and method.adaptive:
        names.append("stiff")
    if method.adaptive or not method.implicit:
        # An implicit method with fixed steps can step across a pole and never see it.
        names.append("blow-up")
    facts = {name: _facts(name, _PROBLEMS[name], method.stiff) for name in names}
    reasons = {name: adapter.why_not(cell, known) for name, known in facts.items()}
    refusals = {name: reason for name, reason in reasons.items() if reason}
    tasks = {name: known_task(adapter, cell, name, threads) for name in names if name not in refusals}
    if absent := missing(adapter, cell.mode):
        refusals = {_FIRST: absent.reason}
    return Case(cell, tasks, refusals)


def known_task(adapter: Adapter, cell: Cell, name: str = _FIRST, threads: int = 1) -> Task:
    """The task of a cell on one of the problems, whatever the adapter refuses."""
    # Emitting needs SymPy; listing cells does not.
    from sciml_bench.emit import source

    method, known = adapter.method(cell.method), _PROBLEMS[name]
    rtol = 1e-6 if method.adaptive else FIXED_STEPS**-1.0 if method.order == 1 else (FIXED_STEPS / 10) ** -method.order
    rtol, problem = max(rtol, 1e-8), known.load()
    return Task(
        cell=cell,
        program=adapter.program,
        source=source(problem, adapter.target_of(cell)),
        numbers=problem.numbers(),
        points=(Point(rtol, rtol / 100),),
        sampling=Sampling(warm_up_calls=1, steady_calls=3, steady_s=0.0, max_steady_calls=3, perturbation=0.0),
        seed=0,
        threads=threads,
        error_bound=1e-3,
        gradient_error_bound=1e-2,
        reference=_reference(known.expected, problem.numbers()),
        calls=calls_of(cell),
    )


def _reference(expected: Expected, numbers: Numbers) -> Reference | None:
    if expected.solution is None:
        return None
    return Reference(
        kind="double",
        rows=tuple(range(len(numbers.save_times))),
        solution=expected.solution,
        solution_digits=(9.0,) * len(numbers.y0),
        gradient=expected.gradient,
        gradient_digits=(9.0,) * len(expected.gradient or ()),
    )


def _facts(name: str, known: KnownProblem, stiff: bool) -> ProblemTraits:
    # Loading needs SymPy; listing cells does not.
    from sciml_bench.emit.symbolic.elementary import functions_of

    problem = known.load()
    numbers = problem.numbers()
    return ProblemTraits(
        name=f"conformance-{name}",
        suite="stiff" if name == "stiff" else "nonstiff",
        n_states=len(numbers.y0),
        n_parameters=len(numbers.p),
        n_breakpoints=len(numbers.breakpoints),
        wrt=numbers.wrt,
        stiff=stiff and name == "stiff",
        split=True,
        functions=functions_of(problem),
        n_saved=len(numbers.save_times),
    )


def _run(one: Case, variables: Mapping[str, str], timeout_s: float, interpreter: str = "") -> Iterator[Check]:
    landing = [one.cell.saving] * (one.cell.saving != DEFAULT_SAVING)
    label = "/".join((one.cell.method, one.cell.sensitivity, one.cell.mode, *landing))
    if one.refusal is not None:
        yield Check(label, "refusal", Status.REFUSED, one.refusal)
        return
    for name, reason in one.refusals.items():
        yield Check(label, f"refusal of {name}", Status.REFUSED, reason)
    tasks = json.dumps({name: task.to_json() for name, task in one.tasks.items()})
    root = str(Path(sciml_bench.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH", ""))))
    command = [interpreter or sys.executable, "-m", "sciml_bench.adapters.conformance.worker"]
    try:
        worker = subprocess.run(
            command, input=tasks, capture_output=True, text=True, timeout=timeout_s, check=False,
            env={**os.environ, "PYTHONPATH": path, **variables},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        yield Check(label, "worker", Status.FAILED, f"no answer within {timeout_s:g} s")
        return
    for line in worker.stdout.splitlines():
        found = json.loads(line)
        yield Check(label, found["name"], Status(found["status"]), found["message"])
    if worker.returncode != 0:
        last = worker.stderr.strip().splitlines()[-1:] or ["nothing was written to standard error"]
        yield Check(label, "worker", Status.FAILED, f"the process died with code {worker.returncode}: {last[0]}")

"""Run in a process of its own: losses and gradients of one adapter for problems that compute around their solve.

Prints one JSON object: for each cell the larger of the relative errors of its loss and of its gradient.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from stubs import doses
from stubs.latents import controlled, latent, stochastic
from stubs.measured import measured

from sciml_bench.adapters import registry
from sciml_bench.emit import source
from sciml_bench.record.task import Cell, Point, Sampling, Task
from sciml_bench.references.engine.adjoint import gradient
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.radau import solve
from sciml_bench.references.engine.trajectory import Settings
from sciml_bench.spec.model import Problem

POINT = Point(1e-8, 1e-10)
#: Far beyond what doubles show, and quick.
SETTINGS = Settings(10, 1e-12, 25)
SIZES = {"parameters": 1, "classifier": 3, "autoencoder": 2}


def made(folder: Path, name: str) -> Problem:
    """A problem by its name; paths through data are named by their interpolation."""
    if name == "stochastic":
        return stochastic(folder, 2)
    if name in ("measured", "doses"):
        return measured(folder) if name == "measured" else doses.made(folder)
    return latent(folder, name, SIZES[name]) if name in SIZES else controlled(folder, name, 2)


def truth(problem: Problem) -> tuple[float, np.ndarray]:
    """The loss and its gradient by the reference engine."""
    loss, total, first = 0.0, np.zeros(problem.n_parameters), None
    for trajectory in problem.trajectories():
        case = Case(trajectory, like=first)
        first = first or case
        solved = solve(case.dynamics, case.start, problem.t0, problem.save_times, SETTINGS, keep_steps=True)
        found = gradient(solved, case.start, case.objective)
        loss += float(found.value)
        total += np.array([float(value) for value in found.p])
    return loss, total


def error(problem: Problem, cell: Cell, expected: tuple[float, np.ndarray]) -> float:
    """The larger of the two relative errors of a cell."""
    adapter = registry.adapter(cell.adapter)
    task = Task(
        cell=cell, program=adapter.program, source=source(problem, adapter.target_of(cell)), numbers=problem.numbers(),
        points=(POINT,), sampling=Sampling(1, 1, 1, 1, 0.0), seed=0, threads=1, error_bound=1, gradient_error_bound=1,
    )  # fmt: skip
    module, _, build = adapter.program.partition(":")
    program = getattr(importlib.import_module(module), build)(task)
    output = program.gradient(program.prepare(np.array(task.numbers.theta), POINT))
    program.synchronise(output)
    found = program.read_gradient(output)
    loss, values = expected
    return float(
        max(abs(found.loss - loss) / abs(loss), np.linalg.norm(found.gradient - values) / np.linalg.norm(values))
    )


def main(adapter: str, cells: list[list[str]]) -> None:
    """All cells of an adapter."""
    errors: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        problems = {name: made(Path(folder), name) for name in {cell[0] for cell in cells}}
        truths = {name: truth(problem) for name, problem in problems.items()}
        for name, method, sensitivity, mode in cells:
            cell = Cell(name, adapter, method, sensitivity, mode)
            errors["/".join((name, method, sensitivity, mode))] = error(problems[name], cell, truths[name])
    print(json.dumps(errors))


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))

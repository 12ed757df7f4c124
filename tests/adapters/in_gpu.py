"""Run in a process of its own, with the adapter and the device as variables: what one adapter computes there."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from adapters.cells import build, source_task

from sciml_bench.adapters import registry
from sciml_bench.adapters.program import Program
from sciml_bench.emit import source
from sciml_bench.host.processes.process import Clock
from sciml_bench.measure.sampling import check_blocking, gradient_call, solve_call, timed
from sciml_bench.record.task import Cell, Point, Task
from sciml_bench.spec import Problem, catalog, load_problem
from sciml_bench.spec.variant import family

METHODS = {
    "torchdiffeq": ("dopri5", "discrete", "eager"),
    "torchode": ("dopri5", "discrete", "eager"),
    "diffrax": ("dopri5", "checkpointed", "compiled"),
    "tensorflow": ("dormand_prince", "backsolve", "graph"),
}
POINT = Point(1e-6, 1e-6)
BATCH = 4096


def batch_of_lorenz(folder: Path) -> Problem:
    """The ensemble that most published comparisons on GPUs run."""
    made = family(catalog.path("lorenz"), "batch", (1, 64, BATCH))
    return load_problem(made.write(folder)[-1])


def computed(program: Program, task: Task) -> dict[str, Any]:
    """Solution, gradient, the solver's counts, and whether waiting for a call really waits."""
    theta, clock = np.array(task.numbers.theta), Clock()
    gradient, solve = gradient_call(program, task, POINT), solve_call(program, task, POINT)
    found, solution = timed(gradient, theta, clock)[0], timed(solve, theta, clock)[0]
    for call in (solve, gradient):
        samples = [timed(call, theta * (1 + 1e-6 * k), clock)[1] for k in range(1, 6)]
        check_blocking(call, iter([theta * (1 - 1e-6 * k) for k in range(1, 20)]), samples, clock)
    return {
        "end": solution.ys[-1].tolist(),
        "gradient": found.gradient.tolist(),
        "counts": solution.statistics,
        "gradient_counts": found.statistics,
        "peak_array_bytes": program.peak_device_bytes(),
        "versions": program.versions(),
    }


def main() -> None:
    """Print the findings of each problem."""
    adapter, device = os.environ["GPU_ADAPTER"], os.environ["GPU_DEVICE"]
    folder = Path(tempfile.mkdtemp())
    problems = {
        "lorenz": catalog.load("lorenz"),
        "lorenz-batch": batch_of_lorenz(folder),
        **({} if adapter == "torchode" else {"spiral-node": catalog.load("spiral-node")}),
    }
    told: dict[str, Any] = {}
    for name, problem in problems.items():
        cell = Cell(problem.name, adapter, *METHODS[adapter], device=device)
        text = source(problem, registry.adapter(adapter).target_of(cell))
        task = source_task(text, problem.numbers(), cell)
        told[name] = computed(build(task), task)
    print(json.dumps(told))


if __name__ == "__main__":
    main()

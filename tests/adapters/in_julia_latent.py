"""Run in a process of its own: Julia's losses and gradients of problems that compute around their solve, as JSON.

Arguments ``PROBLEM/METHOD/SENSITIVITY`` ask for the errors of these cells on problems of the catalog alone.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

# Julia comes before NumPy and all else.
import juliacall  # noqa: F401
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from adapters import in_latent
from adapters.cells import build, source_task
from flint import arb

from sciml_bench.emit import source
from sciml_bench.record.task import Cell, Point, Reference
from sciml_bench.references.engine.around import Around
from sciml_bench.references.engine.numbers import precision
from sciml_bench.references.engine.observed_loss import ObservedLoss
from sciml_bench.references.truth import truth
from sciml_bench.spec import catalog
from sciml_bench.spec.model import Problem

POINT = Point(1e-10, 1e-10)
CATALOG = (
    "digits-node/vern7/gauss-reversediff", "ffjord-moons/vern7/gauss-zygote", "neural-cde/vern7/gauss-reversediff",
    "neural-sde/tsit5/forward",
)  # fmt: skip
#: Each kind of problem, and each way to differentiate what stands around the solve.
SMALL = (
    ("classifier", "tsit5", "forward"), ("autoencoder", "tsit5", "gauss-reversediff"),
    ("autoencoder", "vern7", "interpolating-zygote"), ("parameters", "rodas5p", "forward"),
)  # fmt: skip


def loss_at(problem: Problem, reference: Reference) -> float:
    """The loss of the certified solution."""
    rows, total = np.array(reference.solution).reshape(len(reference.solution), problem.batch.size, -1), 0.0
    with precision(128):
        p = [arb(value) for value in problem.numbers().p]
        for b, trajectory in enumerate(problem.trajectories()):
            ys = [[arb(value) for value in row] for row in rows[:, b].tolist()]
            total += float(ObservedLoss.of(trajectory, Around(trajectory)).value(ys, p))
    return total


def errors(name: str, method: str, sensitivity: str) -> dict[str, float]:
    """The relative errors of the loss, of the gradient along eight directions, and of the solution, the largest."""
    problem = catalog.load(name)
    reference = truth(problem)
    assert reference is not None
    assert reference.gradient is not None
    numbers = problem.numbers()
    program = build(
        source_task(source(problem, "julia"), numbers, Cell(name, "julia", method, sensitivity, "compiled"))
    )
    inputs = program.prepare(np.array(numbers.theta), POINT)
    states, found = program.read_solution(program.solve(inputs)), program.read_gradient(program.gradient(inputs))
    expected, loss, solution = np.array(reference.gradient), loss_at(problem, reference), np.array(reference.solution)
    directions = np.random.default_rng(0).normal(size=(8, len(expected)))
    return {
        "loss": abs(found.loss - loss) / abs(loss),
        "slopes": float(np.max(np.abs(directions @ (found.gradient - expected)) / np.abs(directions @ expected))),
        "gradient": float(np.linalg.norm(found.gradient - expected) / np.linalg.norm(expected)),
        "states": float(np.max(np.abs(states.ys - solution)) / np.max(np.abs(solution))),
    }


def small_errors() -> dict[str, float]:
    """The larger of the errors of the loss and of the gradient of small problems, against the reference engine."""
    with tempfile.TemporaryDirectory() as folder:
        problems = {name: in_latent.made(Path(folder), name) for name, _, _ in SMALL}
        truths = {name: in_latent.truth(problem) for name, problem in problems.items()}
        return {
            "/".join(cell): in_latent.error(
                problems[cell[0]], Cell(cell[0], "julia", *cell[1:], "compiled"), truths[cell[0]]
            )
            for cell in SMALL
        }


def main(cells: list[str]) -> None:
    """Prints what was found."""
    found = {cell: errors(*cell.split("/")) for cell in cells or CATALOG}
    print(json.dumps(found if cells else {"catalog": found, "small": small_errors()}))


if __name__ == "__main__":
    main(sys.argv[1:])

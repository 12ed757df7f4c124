"""Run in a process of its own: what the Julia adapter does with networks, batches and training, as one JSON object."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

# Julia comes before NumPy and all else.
import juliacall  # noqa: F401
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from adapters.cells import build, source_task
from adapters.trainings import findings as training_findings
from emit import fields_with_networks, networks
from emit.evaluation import evaluate, sample

from sciml_bench.adapters.julia.program import julia, loaded
from sciml_bench.adapters.julia.training import optimiser_numbers
from sciml_bench.emit import source
from sciml_bench.record.outcome import SolverFailure
from sciml_bench.record.task import Cell, Numbers, Point, Training
from sciml_bench.references.truth import truth
from sciml_bench.spec import catalog
from sciml_bench.spec.batch import ONE, Batch
from sciml_bench.spec.model import Problem

EVALUATED = """
(emitted, y, p, t) -> Base.invokelatest() do
    form = SciMLBench.Named(emitted.named)
    values = collect(Float64, p)
    emitted.out_of_place(collect(Float64, y), form.named(values[SciMLBench.places(form, length(values))]), t)
end
"""
STEPPED = """
(name, numbers, theta, gradients) -> begin
    package = SciMLBench.loaded(:Optimisers)
    Base.invokelatest() do
        values = collect(Float64, theta)
        state = package.setup(SciMLBench.rule_of(package, string(name), numbers), values)
        for gradient in gradients
            state, values = package.update!(state, values, collect(Float64, gradient))
        end
        values
    end
end
"""
# y' = p y, whose loss is minus the sum of squares.
RUNAWAY = """
const N_STATES = 1
const N_PARAMETERS = 1
const HAS_BRANCHES = false
const STENCILS = nothing
function rhs!(dy, y, p, t)
    dy[1] = p[1]*y[1]
    return nothing
end
loss(ys) = -sum(y -> sum(abs2, y), ys)
"""
# The trajectories of y' = p y^2 that start at 1 or above are infinite before t = 1.
BLOW_UP = RUNAWAY.replace("p[1]*y[1]", "p[1]*y[1]^2")


def right_hand_sides() -> dict[str, float]:
    """How far each problem with networks is from its scalar form, neuron by neuron."""
    neural = [name for name in catalog.names() if catalog.header(name).suite == "neural"]
    cases = {name: catalog.load(name) for name in neural}
    cases = {name: problem for name, problem in cases.items() if not problem.latent}
    cases |= networks.problems(batched=False) | fields_with_networks.problems()
    bench = loaded("gauss-zygote")
    run, errors = julia.seval(EVALUATED), dict[str, float]()
    for name, problem in cases.items():
        t, y, p = sample(dataclasses.replace(problem, batch=ONE))
        expected = evaluate(problem, t, y, p)
        found = np.array(run(bench.equations(source(problem, "julia")), y, p, t))
        errors[name] = float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))
    return errors


def gradient_errors(problem: str, sensitivity: str) -> dict[str, float]:
    """How far loss and gradient are off the certified ones: the loss, and the gradient along eight directions."""
    loaded = catalog.load(problem)
    reference = truth(loaded)
    assert reference is not None
    assert reference.gradient is not None
    found, _ = gradient(loaded, loaded.numbers(), sensitivity)
    expected = np.array(reference.gradient)
    directions = np.random.default_rng(0).normal(size=(8, len(expected)))
    return {"gradient": float(np.max(np.abs(directions @ (found.gradient - expected)) / np.abs(directions @ expected)))}


def gradient(problem: Problem, numbers: Numbers, sensitivity: str) -> tuple[Any, Any]:
    """The gradient and the solution at a tight tolerance."""
    cell = Cell("any", "julia", "tsit5", sensitivity, "compiled")
    program = build(source_task(source(problem, "julia"), numbers, cell))
    inputs = program.prepare(np.array(numbers.theta), Point(1e-10, 1e-12))
    return program.read_gradient(program.gradient(inputs)), program.read_solution(program.solve(inputs))


def batch(sensitivity: str) -> dict[str, Any]:
    """A batch against the same trajectories one by one."""
    problem = dataclasses.replace(networks.problem(networks.VECTOR), batch=Batch(3, 0.5, 5))
    numbers = problem.numbers()
    whole, states = gradient(problem, numbers, sensitivity)
    n, singles = numbers.n_states, list[tuple[Any, Any]]()
    for b in range(3):
        part = slice(b * n, (b + 1) * n)
        one = dataclasses.replace(numbers, y0=numbers.y0[part], atol_scale=numbers.atol_scale[part], batch=1)
        singles.append(gradient(dataclasses.replace(problem, batch=ONE), one, sensitivity))
    summed = sum(found.gradient for found, _ in singles)
    told = states.trajectories
    return {
        "loss": abs(whole.loss - sum(found.loss for found, _ in singles)) / abs(whole.loss),
        "gradient": float(np.linalg.norm(whole.gradient - summed) / np.linalg.norm(summed)),
        "states": float(np.max(np.abs(states.ys - np.hstack([alone.ys for _, alone in singles])))),
        "n_steps": list(told.n_steps),
        "n_steps_alone": [alone.statistics["n_steps"] for _, alone in singles],
        "most": states.statistics["n_steps"],
        "shared": told.shared_steps,
    }


def failing_batch() -> dict[str, Any]:
    """Two of four trajectories become infinite."""
    numbers = Numbers((0.1, 2.0, 0.2, 4.0), (1.0,), 0.0, 1.0, (0.5, 1.0), (), (1.0,) * 4, "parameters", batch=4)
    program = build(source_task(BLOW_UP, numbers, Cell("any", "julia", "tsit5", "forward", "compiled")))
    inputs = program.prepare(np.array([1.0]), Point(1e-6, 1e-8))
    try:
        program.read_solution(program.solve(inputs))
    except SolverFailure as failed:
        told = failed.trajectories.failed if failed.trajectories else ()
        return {"message": str(failed), "failed": [index for index, _ in told]}
    return {}


def apply(training: Training, theta: np.ndarray, gradients: list[np.ndarray]) -> np.ndarray:
    """Steps of the optimiser of Optimisers.jl."""
    return np.array(julia.seval(STEPPED)(training.optimiser, optimiser_numbers(training), theta, gradients))


def findings() -> dict[str, Any]:
    """Everything, by name."""
    forward, adjoint = "forward", "gauss-reversediff"
    return {
        "right_hand_sides": right_hand_sides(),
        "gradients": {
            "lynx-hare-ude/forward": gradient_errors("lynx-hare-ude", forward),
            "lotka-volterra-ude/gauss-reversediff": gradient_errors("lotka-volterra-ude", adjoint),
            "spiral-node/gauss-zygote": gradient_errors("spiral-node", "gauss-zygote"),
        },
        "batches": {sensitivity: batch(sensitivity) for sensitivity in (forward, adjoint)},
        "failing": failing_batch(),
        "training": training_findings(Cell("any", "julia", "tsit5", forward, "compiled"), apply, RUNAWAY),
    }


if __name__ == "__main__":
    print(json.dumps(findings()))

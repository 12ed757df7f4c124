"""Run in a process of its own: TensorFlow's forward sensitivities, as one JSON object of named findings."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from adapters.cells import build, catalog_task, outcome, steady_traces
from adapters.in_tensorflow import BLOW_UP, TIME_DEPENDENT

from sciml_bench.record.task import Cell, Point
from sciml_bench.references.truth import truth
from sciml_bench.spec import catalog

NO_SLOPE = TIME_DEPENDENT.replace("p[0]*t**3 + 0*y[0]", "p[0]*tf.sqrt(tf.abs(y[0] - 1))")
"""The solution stays at 1, where the right-hand side has no derivative."""


def cell(method: str, mode: str = "xla") -> Cell:
    """A cell with forward sensitivities."""
    return Cell("any", "tensorflow", method, "forward", mode)


def gradient(problem: str, method: str, mode: str, rtol: float) -> dict[str, Any]:
    """Its relative errors: of d loss / d log theta as a whole, of the worst component, and of the loss."""
    loaded = catalog.load(problem)
    theta, reference = np.array(loaded.numbers().theta), truth(loaded, affordable_s=0)
    assert reference is not None
    program = build(catalog_task(problem, "tensorflow", method, "forward", mode))
    found = program.read_gradient(program.gradient(program.prepare(theta, Point(rtol, rtol))))
    right = np.array(reference.gradient)
    sizes = np.where(theta == 0, 1.0, np.abs(theta))
    off = (found.gradient - right) * sizes
    return {
        "error": float(np.linalg.norm(off) / np.linalg.norm(right * sizes)),
        "worst": float(np.max(np.abs(off) / np.abs(right * sizes))),
        "statistics": found.statistics,
    }


def matrices(problem: str, coupled: bool) -> dict[str, float]:
    """How far the Newton matrix is from the derivatives of the right-hand side, over the largest of these: in the
    blocks of the diagonal, below the first one, and anywhere else."""
    import tensorflow as tf

    from sciml_bench.adapters.emitted_source import load_source
    from sciml_bench.adapters.tensorflow import forward, shares

    task = catalog_task(problem, "tensorflow", "bdf", "forward", "xla")
    source, numbers = load_source(task), task.numbers
    n, count = numbers.n_states, 2
    theta = tf.constant(numbers.theta, tf.float64)
    directions = tf.constant(np.diag(shares.sizes(numbers))[:count])
    system = forward.augmented(
        forward.Equation(source.rhs, getattr(source, "jacobian", None)), theta, directions, (n,), coupled
    )
    values = tf.constant(np.random.default_rng(3).uniform(0.1, 1.0, n * (1 + count)))
    t = tf.constant(0.2, tf.float64)
    rhs, jacobian = (tf.function(function, autograph=False) for function in system)
    found = jacobian(t, values).numpy()
    right = np.empty_like(found)
    for k in range(len(values)):
        step = np.zeros(len(values))
        step[k] = 1e-6
        sides = [rhs(t, values + tf.constant(sign * step)).numpy() for sign in (1, -1)]
        right[:, k] = (sides[0] - sides[1]) / 2e-6
    off = np.abs(found - right) / np.max(np.abs(right))
    blocks = off.reshape(1 + count, n, 1 + count, n)
    diagonal = np.array([blocks[i, :, i] for i in range(1 + count)])
    below = blocks[1:, :, 0]
    return {"diagonal": float(diagonal.max()), "below": float(below.max()), "off": float(off.max())}


def theta_shared(n_states: int, n_theta: int) -> list[list[int]]:
    """The shares of a system."""
    from sciml_bench.adapters.tensorflow import shares

    return shares.shares(n_states, n_theta)


def findings() -> dict[str, Any]:
    """Everything, by name."""
    return {
        "gradients": {
            "robertson bdf xla": gradient("robertson", "bdf", "xla", 1e-7),
            "robertson bdf graph": gradient("robertson", "bdf", "graph", 1e-5),
            "hires bdf xla": gradient("hires", "bdf", "xla", 1e-5),
            "lotka-volterra dormand_prince xla": gradient("lotka-volterra", "dormand_prince", "xla", 1e-7),
            "brusselator-1d dormand_prince xla": gradient("brusselator-1d", "dormand_prince", "xla", 1e-5),
        },
        "coupled": matrices("robertson", True),
        "uncoupled": matrices("hires", False),
        "of a field": matrices("brusselator-1d", True),
        "shares": {f"{n} {k}": theta_shared(n, k) for n, k in ((3, 3), (8, 10), (20, 25), (80, 3), (1, 99))},
        "blow_up": outcome(BLOW_UP, cell("dormand_prince"), 1e-4),
        "no_slope": outcome(NO_SLOPE, cell("dormand_prince"), 1e-4),
        "time": {method: outcome(TIME_DEPENDENT, cell(method), 1e-8) for method in ("bdf", "dormand_prince")},
        "traces": steady_traces("lotka-volterra", cell("dormand_prince"), (1e-4, 1e-6, 1e-8)),
    }


if __name__ == "__main__":
    print(json.dumps(findings()))

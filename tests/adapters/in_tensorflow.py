"""Run in a process of its own: what the TensorFlow adapter does, as one JSON object of named findings."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from adapters.cells import build, catalog_task, lotka_volterra_error, outcome, robertson_errors, steady_traces

from sciml_bench.measure.scoring.solution import solve_scores
from sciml_bench.record.task import Cell, Point
from sciml_bench.references.truth import truth
from sciml_bench.spec import catalog

TIME_DEPENDENT = """
import tensorflow as tf
def rhs(t, y, p): return tf.stack([p[0]*t**3 + 0*y[0]])
def loss(ys): return tf.reduce_sum(ys**2)
"""
BLOW_UP = TIME_DEPENDENT.replace("t**3 + 0*y[0]", "y[0]**2")
STIFF = TIME_DEPENDENT.replace("t**3 + 0*y[0]", "-1e8*(y[0] - tf.cos(t))")
UNCOMPILABLE = TIME_DEPENDENT.replace(
    "p[0]*t**3", "p[0]*tf.reshape(tf.numpy_function(lambda t: t**3, [t], tf.float64), ())"
)


BLOWN_UP = (("dormand_prince", "xla"), ("dormand_prince", "graph"), ("bdf", "xla"), ("rk4", "graph"))


def cell(method: str, mode: str = "xla") -> Cell:
    """A cell of the adapter."""
    return Cell("any", "tensorflow", method, "discrete" if method == "rk4" else "backsolve", mode)


def robertson() -> dict[str, Any]:
    """The correct digits (mescd) of its solution by BDF with the evaluations of the right-hand side, and how its
    gradient ends, whose adjoint equation the solver cannot solve backwards in time."""
    problem = catalog.load("robertson")
    numbers, reference = problem.numbers(), truth(problem, affordable_s=0)
    assert reference is not None
    program = build(catalog_task("robertson", "tensorflow", "bdf", "backsolve", "xla"))
    inputs = program.prepare(np.array(numbers.theta), Point(1e-6, 1e-6))
    found = program.read_solution(program.solve(inputs))
    scores, _ = solve_scores(found.ys, reference, numbers.atol_scale, 1.0)
    try:
        ended = ["ok", str(program.read_gradient(program.gradient(inputs)))]
    except Exception as raised:
        ended = [str(getattr(raised, "outcome", type(raised).__name__)), str(raised)]
    return {"bdf_work": [float(scores["mescd"] or 0.0), found.statistics["n_rhs_evaluations"]], "failed_adjoint": ended}


def fixed_gradients() -> dict[str, list[list[float]]]:
    """The gradient of Lotka-Volterra in fixed steps at two tolerances, in all modes."""
    problem = catalog.load("lotka-volterra")
    found: dict[str, list[list[float]]] = {}
    for mode in ("xla", "graph", "unrolled"):
        program = build(catalog_task("lotka-volterra", "tensorflow", "rk4", "discrete", mode))
        inputs = [program.prepare(np.array(problem.numbers().theta), Point(rtol, rtol)) for rtol in (1e-1, 1e-2)]
        found[mode] = [program.read_gradient(program.gradient(one)).gradient.tolist() for one in inputs]
    return found


def findings() -> dict[str, Any]:
    """Everything, by name."""
    both = (("bdf", 1e-8), ("dormand_prince", 1e-8))
    adaptive = zip(both, ("xla", "graph"), strict=True)
    # The right-hand side is a cubic in time, which any number of these steps solves; each is written out.
    fixed = (("rk4", 1e-1),)
    modes = (*adaptive, *itertools.product(fixed, ("xla", "graph", "unrolled")))
    return {
        "methods": {
            f"{method} {mode}": outcome(TIME_DEPENDENT, cell(method, mode), rtol) for (method, rtol), mode in modes
        },
        "fixed_gradients": fixed_gradients(),
        "too_many": outcome(TIME_DEPENDENT, cell("rk4"), 1e-24),
        "blow_up": {f"{method} {mode}": outcome(BLOW_UP, cell(method, mode), 1e-4) for method, mode in BLOWN_UP},
        "stiff": outcome(STIFF, cell("dormand_prince"), 1e-4),
        "uncompilable": outcome(UNCOMPILABLE, cell("dormand_prince")),
        "errors": {method: lotka_volterra_error(cell(method), rtol) for method, rtol in (*both, ("rk4", 1e-6))},
        "component_errors": robertson_errors(cell("bdf"), 1e-11),
        **robertson(),
        "traces": steady_traces("lotka-volterra", cell("dormand_prince"), (1e-4, 1e-6, 1e-8)),
    }


if __name__ == "__main__":
    print(json.dumps(findings()))

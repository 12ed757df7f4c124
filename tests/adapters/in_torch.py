"""Run in a process of its own: what the torchdiffeq adapter does, as one JSON object of named findings."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from adapters.cells import catalog_task, source_task
from torchdiffeq._impl.odeint import SOLVERS

from sciml_bench.adapters.torchdiffeq import failure, tableau
from sciml_bench.adapters.torchdiffeq.declaration import ADAPTER, fixed_steps
from sciml_bench.adapters.torchdiffeq.equation import depends_on_time
from sciml_bench.adapters.torchdiffeq.program import build
from sciml_bench.outcome import SolverFailure
from sciml_bench.problem import catalog
from sciml_bench.task import Cell, Numbers, Point

SQRT3 = 3**0.5
# The second node belongs to the second row; a copy of the first one is the mistake that is looked for.
GAUSS_ROWS = [[0.25, 0.25 - SQRT3 / 6], [0.25 + SQRT3 / 6, 0.25]]
GAUSS_NODES = [0.5 - SQRT3 / 6, 0.5 + SQRT3 / 6]

TIME_DEPENDENT = """
import torch
def rhs(t, y, p): return torch.stack([p[0]*t**3 + 0*y[0]])
def loss(ys): return torch.sum(ys**2)
"""
BLOW_UP = TIME_DEPENDENT.replace("t**3 + 0*y[0]", "y[0]**2")
EXPLODING = TIME_DEPENDENT.replace("t**3 + 0*y[0]", "torch.exp(torch.exp(50*y[0]))")
STIFF = TIME_DEPENDENT.replace("p[0]*t**3 + 0*y[0]", "-1e6*p[0]*(y[0] - torch.cos(t))")


def numbers(t1: float = 2.0) -> Numbers:
    """One state that starts at 1, one parameter of 1."""
    return Numbers((1.0,), (1.0,), 0.0, t1, (t1 / 4, t1), (), (1.0,), "parameters")


def outcome(text: str, method: str, rtol: float = 1e-6, sensitivity: str = "discrete") -> list[str]:
    """How building and a gradient end: the outcome and the message."""
    try:
        program = build(source_task(text, numbers(), Cell("failing", "torchdiffeq", method, sensitivity, "eager")))
        found = program.read_gradient(program.gradient(program.prepare(np.array([1.0]), Point(rtol, rtol))))
    except SolverFailure as raised:
        return [str(raised.outcome), str(raised)]
    return ["ok", str(found.gradient)]


def gauss(nodes: list[float]) -> Any:
    """A two-stage tableau in torchdiffeq's form."""
    rows = [torch.tensor(row, dtype=torch.float64) for row in GAUSS_ROWS]
    return SimpleNamespace(alpha=torch.tensor(nodes, dtype=torch.float64), beta=rows)


def one_gauss_step(nodes: list[float], h: float) -> float:
    """The error of one Gauss step on y' = t**3 from t = 1, exact for the right nodes: they have order 4."""
    return abs(sum(h / 2 * (1 + node * h) ** 3 for node in nodes) - ((1 + h) ** 4 - 1) / 4)


def published_gradient(sensitivity: str, mode: str, precision: str, rtol: float) -> float:
    """Relative error of d(loss)/dp of Lotka-Volterra."""
    problem = catalog.load("lotka-volterra")
    program = build(catalog_task("lotka-volterra", "torchdiffeq", "dopri5", sensitivity, mode, precision))
    inputs = program.prepare(np.array(problem.numbers().theta), Point(rtol, rtol * 1e-2))
    found = program.read_gradient(program.gradient(inputs)).gradient
    return float(np.linalg.norm(found - EXPECTED) / np.linalg.norm(EXPECTED))


# DOP853 and Radau IIA at a relative tolerance of 1e-12 agree to these digits.
EXPECTED = np.array([51.1663461398, -218.668216215, 216.225188006, -710.964203416])


def steady_traces(sensitivity: str) -> list[int]:
    """Trace counts of a compiled program with breakpoints after calls with different parameters."""
    problem = catalog.load("beam")
    program = build(catalog_task("beam", "torchdiffeq", "rk4", sensitivity, "compiled"))
    counts = []
    for factor in (1.0, 1.01, 0.99):
        inputs = program.prepare(factor * np.array(problem.numbers().theta), Point(1.0, 1.0))
        program.gradient(inputs)
        program.solve(inputs)
        counts.append(program.trace_count())
    return counts


def typed(message: str, implicit: bool = False) -> str:
    """The outcome of an assertion, or for an implicit method of a warning, with this message."""
    try:
        with failure.typed(implicit):
            if implicit:
                warnings.warn(message, stacklevel=1)
            else:
                raise AssertionError(message)
    except SolverFailure as raised:
        return str(raised.outcome)
    except AssertionError:
        return "not typed"
    return "no failure"


def findings() -> dict[str, Any]:
    """Everything, by name."""
    p, y = torch.ones(2), torch.ones(2)
    return {
        "installed": sorted(SOLVERS),
        "defects": {name: tableau.inconsistency(name) for name in SOLVERS},
        "right_gauss": tableau.defect(gauss(GAUSS_NODES)),
        "wrong_gauss": tableau.defect(gauss([GAUSS_NODES[0]] * 2)),
        "right_gauss_errors": [one_gauss_step(GAUSS_NODES, h) for h in (0.1, 0.05)],
        "wrong_gauss_errors": [one_gauss_step([GAUSS_NODES[0]] * 2, h) for h in (0.1, 0.05)],
        "time_dependent": depends_on_time(lambda t, y, p: t * y * p, 0.0, y, p),
        "autonomous": depends_on_time(lambda t, y, p: y * p, 0.0, y, p),
        "methods": {method.name: outcome(TIME_DEPENDENT, method.name, _rtol(method)) for method in ADAPTER.methods},
        "blow_up": {name: outcome(BLOW_UP, name) for name in ("dopri5", "bosh3", "rk4")},
        "blow_up_adjoint": outcome(BLOW_UP, "dopri5", sensitivity="backsolve"),
        "exploding": outcome(EXPLODING, "dopri5"),
        "not_converging": outcome(STIFF, "implicit_adams", 1e-4),
        "too_many_steps": outcome(TIME_DEPENDENT, "rk4", 1e-22),
        "errors": {
            f"{sensitivity} {precision}": published_gradient(sensitivity, "eager", precision, rtol)
            for sensitivity in ADAPTER.sensitivities
            for precision, rtol in (("float64", 1e-7), ("float32", 1e-4))
        },
        "typed": {
            "underflow": typed("underflow in dt 1e-17"),
            "non-finite": typed("non-finite values in state `y`: tensor([nan])"),
            "max_num_steps": typed("max_num_steps exceeded (5>=5)"),
            "other": typed("t must be strictly increasing or decreasing"),
            "warning": typed("Functional iteration did not converge. Solution may be incorrect.", True),
        },
        "traces": {sensitivity: steady_traces(sensitivity) for sensitivity in ADAPTER.sensitivities},
    }


def _rtol(method: Any) -> float:
    """A tolerance at which a fixed-step method takes 100 steps."""
    rtol = 1e-5 if method.adaptive else 10.0**-method.order
    assert method.adaptive or fixed_steps(method.order, rtol) == 100
    return rtol


if __name__ == "__main__":
    print(json.dumps(findings()))

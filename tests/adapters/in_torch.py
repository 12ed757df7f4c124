"""Run in a process of its own: what the torchdiffeq adapter does, as one JSON object of named findings."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from adapters.cells import catalog_task, lotka_volterra_error, outcome, steady_traces
from torchdiffeq._impl.odeint import SOLVERS

from sciml_bench.adapters.time_grid import fixed_steps
from sciml_bench.adapters.torchdiffeq import ADAPTER, SEMINORM, failures, tableaus
from sciml_bench.adapters.torchdiffeq.equation import depends_on_time
from sciml_bench.adapters.torchdiffeq.networks import as_function
from sciml_bench.adapters.torchdiffeq.program import TorchdiffeqProgram
from sciml_bench.record.outcome import SolverFailure
from sciml_bench.record.task import Cell, Point

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


def gauss(nodes: list[float]) -> Any:
    """A two-stage tableau in torchdiffeq's form."""
    rows = [torch.tensor(row, dtype=torch.float64) for row in GAUSS_ROWS]
    return SimpleNamespace(alpha=torch.tensor(nodes, dtype=torch.float64), beta=rows)


def one_gauss_step(nodes: list[float], h: float) -> float:
    """The error of one Gauss step on y' = t**3 from t = 1, exact for the right nodes: they have order 4."""
    return abs(sum(h / 2 * (1 + node * h) ** 3 for node in nodes) - ((1 + h) ** 4 - 1) / 4)


def cell(method: str, sensitivity: str = "discrete", mode: str = "eager", precision: str = "float64") -> Cell:
    """A cell of the adapter."""
    return Cell("any", "torchdiffeq", method, sensitivity, mode, precision)


def counts(method: str) -> list[dict[str, float]]:
    """What two solves of Lotka-Volterra count."""
    program = TorchdiffeqProgram(catalog_task("lotka-volterra", "torchdiffeq", method, "discrete", "eager"))
    inputs = program.prepare(np.array([1.5, 1.0, 3.0, 1.0]), Point(1e-4, 1e-4))
    return [program.read_solution(program.solve(inputs)).statistics for _ in range(2)]


def backward_counts(sensitivity: str) -> dict[str, float]:
    """What a gradient of a small network counts that is solved over a long time and saved twice."""
    task = catalog_task("small-node", "torchdiffeq", "dopri5", sensitivity, "eager")
    task = dataclasses.replace(task, numbers=dataclasses.replace(task.numbers, save_times=(50.0, 100.0)))
    program = TorchdiffeqProgram(task)
    output = program.gradient(program.prepare(np.array(task.numbers.theta), Point(1e-5, 1e-5)))
    return program.read_gradient(output).statistics


def typed(message: str, implicit: bool = False) -> str:
    """The outcome of an assertion, or for an implicit method of a warning, with this message."""
    try:
        with failures.typed(implicit):
            if implicit:
                warnings.warn(message, stacklevel=1)
            else:
                raise AssertionError(message)
    except SolverFailure as raised:
        return str(raised.outcome)
    except AssertionError:
        return "not typed"
    return "no failure"


def plain_networks() -> dict[str, list[float]]:
    """Largest differences of networks as modules and as functions: values, gradients by weights and input, in place."""
    found: dict[str, list[float]] = {}
    chain = nn.Sequential(nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 4), nn.GELU(approximate="tanh"), nn.Linear(4, 3))
    network = chain.to(torch.float64)
    function = as_function(network)
    for name, shape in {"sample": (2,), "batch": (7, 2), "grid": (3, 7, 2)}.items():
        x = torch.linspace(-1, 1, math.prod(shape), dtype=torch.float64).reshape(shape).requires_grad_()
        ways: list[list[torch.Tensor]] = []
        for way in (network, function):
            value = way(x)
            first = torch.autograd.grad((value**2).sum(), (x, *network.parameters()), create_graph=True)
            second = torch.autograd.grad((first[0] ** 2).sum(), tuple(network.parameters()), allow_unused=True)
            ways.append([value, *first, *(part for part in second if part is not None)])
        found[name] = [float((a - b).abs().max()) for a, b in zip(*ways, strict=True)]
    before = function(torch.ones(2, dtype=torch.float64))
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(2.0)
    after = function(torch.ones(2, dtype=torch.float64))
    found["moved"] = [float((after - before).abs().max()), float((after - network(torch.ones(2).double())).abs().max())]
    found["other"] = [float(as_function(network[0]) is network[0])]
    return found


def findings() -> dict[str, Any]:
    """Everything, by name."""
    p, y = torch.ones(2), torch.ones(2)
    return {
        "installed": sorted(SOLVERS),
        "plain_networks": plain_networks(),
        "defects": {name: tableaus.inconsistency(name) for name in SOLVERS},
        "right_gauss": tableaus.defect(gauss(GAUSS_NODES)),
        "wrong_gauss": tableaus.defect(gauss([GAUSS_NODES[0]] * 2)),
        "right_gauss_errors": [one_gauss_step(GAUSS_NODES, h) for h in (0.1, 0.05)],
        "wrong_gauss_errors": [one_gauss_step([GAUSS_NODES[0]] * 2, h) for h in (0.1, 0.05)],
        "time_dependent": depends_on_time(lambda t, y, p: t * y * p, 0.0, y, (p,)),
        "autonomous": depends_on_time(lambda t, y, p: y * p, 0.0, y, (p,)),
        "methods": {
            method.name: outcome(TIME_DEPENDENT, cell(method.name), _rtol(method)) for method in ADAPTER.methods
        },
        "blow_up": {name: outcome(BLOW_UP, cell(name)) for name in ("dopri5", "bosh3", "rk4")},
        "blow_up_adjoint": outcome(BLOW_UP, cell("dopri5", "backsolve")),
        "exploding": outcome(EXPLODING, cell("dopri5")),
        "not_converging": outcome(STIFF, cell("implicit_adams"), 1e-4),
        "too_many_steps": outcome(TIME_DEPENDENT, cell("rk4"), 1e-22),
        "errors": {
            f"{sensitivity} {precision}": lotka_volterra_error(cell("dopri5", sensitivity, "eager", precision), rtol)
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
        "counts": {method: counts(method) for method in ("dopri5", "rk4")},
        "backward": {name: backward_counts(name) for name in ("backsolve", SEMINORM)},
        "traces": {
            sensitivity: steady_traces("beam", cell("rk4", sensitivity, "compiled"), (1.0, 1.0, 1.0))
            for sensitivity in ("discrete", "backsolve")
        },
    }


def _rtol(method: Any) -> float:
    """A tolerance at which a fixed-step method takes 100 steps."""
    rtol = 1e-5 if method.adaptive else 10.0**-method.order
    assert method.adaptive or fixed_steps(method.order, rtol) == 100
    return rtol


if __name__ == "__main__":
    print(json.dumps(findings()))

"""Run in a process of its own: what the Diffrax adapter does, as one JSON object of named findings."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from adapters.cells import (
    build,
    catalog_task,
    lotka_volterra_error,
    one_state,
    outcome,
    robertson_errors,
    source_task,
    steady_traces,
    traces_of,
)

from sciml_bench.adapters.diffrax import ADAPTER
from sciml_bench.record.task import Cell, Point, Training

TIME_DEPENDENT = """
import jax.numpy as jnp
def rhs(t, y, p): return jnp.stack([p[0]*t**3])
def loss(ys): return jnp.sum(ys**2)
"""
BLOW_UP = TIME_DEPENDENT.replace("t**3", "y[0]**2")
EXPLODING = TIME_DEPENDENT.replace("p[0]*t**3", "p[0]*jnp.exp(jnp.exp(50*y[0]))")
STIFF = TIME_DEPENDENT.replace("p[0]*t**3", "-1e8*p[0]*(y[0] - jnp.cos(t))")

TWO_PARTS = (
    TIME_DEPENDENT.replace("t**3", "t**3 - 5*p[0]*y[0]")
    + """
def explicit_terms(t, y, p): return jnp.stack([p[0]*t**3])
def implicit_terms(t, y, p): return jnp.stack([-5*p[0]*y[0]])
"""
)


def cell(method: str, sensitivity: str = "checkpointed", precision: str = "float64") -> Cell:
    """A cell of the adapter."""
    return Cell("any", "diffrax", method, sensitivity, "compiled", precision)


def traces() -> dict[str, Any]:
    """Trace counts over tolerances, and names of the phases that JAX tells of after solves and gradients."""
    rtols = (1e-4, 1e-6, 1e-8)
    program = build(catalog_task("lotka-volterra", "diffrax", "tsit5", "checkpointed", "compiled"))
    counts = traces_of(program, "lotka-volterra", rtols)
    told = program.phases_ns()
    assert all(ns > 0 for ns in told.values())
    backsolve = steady_traces("lotka-volterra", cell("tsit5", "backsolve"), rtols)
    return {"traces": {"checkpointed": counts, "backsolve": backsolve}, "phases": sorted(told)}


NOISY = """
import diffrax
import jax.numpy as jnp
GIVEN = (jnp.array([0.0, 1.0, 0.5, 0.75, -0.5, 0.0, 1.5, 1.0, 2.0])[:, None],)
def controls(values): return (diffrax.LinearInterpolation(jnp.linspace(0.0, 2.0, 9), values),)
def drift(t, y, p, W): return p[0]*y
def diffusion(t, y, p, W): return jnp.reshape(y, (1, 1))
def initial_state(values, p): return jnp.array([1.0])
def loss(ys, values, p): return jnp.sum(ys[-1])
"""


def stochastic() -> dict[str, Any]:
    """Steps, and errors at the end, of dy = p y dt + y o dW, whose solution is exp(p t + W)."""
    numbers = dataclasses.replace(one_state(), breakpoints=tuple(0.25 * k for k in range(1, 8)))
    program = build(source_task(NOISY, numbers, cell("heun")))
    steps, errors = list[float](), list[float]()
    for rtol in (0.1, 1e-4):
        found = program.read_gradient(program.gradient(program.prepare(np.array([0.5]), Point(rtol, rtol))))
        steps.append(found.statistics["n_steps"])
        # The motion ends at 2, and d exp(2 p + 2)/dp is twice the value itself.
        errors.append(abs(float(found.gradient[0]) / (2 * np.exp(3.0)) - 1))
    return {"n_steps": steps, "errors": errors}


STEEP = TIME_DEPENDENT.replace("p[0]*t**3", "-1e4*p[0]*(y[0] - jnp.cos(t))")
"""An explicit method takes steps of 3.3e-4/p, so some 6000 p of them."""


def bounds() -> dict[str, list[float]]:
    """Steps and gradients at p of 0.1, 1 and 0.1 again, by one program, and at 1 forward."""
    task = source_task(STEEP, one_state(), cell("tsit5"))

    def taken(program: Any, p: float) -> list[float]:
        found = program.read_gradient(program.gradient(program.prepare(np.array([p]), Point(1e-5, 1e-5))))
        return [found.statistics["n_steps"], float(found.gradient[0])]

    used = build(task)
    return {
        "used": [number for p in (0.1, 1.0, 1.0, 0.1) for number in taken(used, p)],
        "forward": taken(build(source_task(STEEP, one_state(), cell("tsit5", "forward"))), 1.0),
    }


def training_bounds() -> dict[str, list[float]]:
    """Theta after each of three steps of a training, and by formula from gradients of a program, from p of 0.5 and 1.

    The rate is such that the first step goes up to where more steps are needed than are kept.
    """
    found: dict[str, list[float]] = {}
    text = STEEP.replace("jnp.sum(ys**2)", "-jnp.sum((ys - 1)**2)")
    gradients = build(source_task(text, one_state(), cell("tsit5")))

    def slope(p: float) -> float:
        given = gradients.prepare(np.array([p]), Point(1e-5, 1e-5))
        return float(gradients.read_gradient(gradients.gradient(given)).gradient[0])

    for start in (0.5, 1.0):
        numbers = dataclasses.replace(one_state(), p=(start,))
        rate = 0.4 / abs(slope(start))
        trainer = build(source_task(text, numbers, cell("tsit5"))).trainer(Training("sgd", rate, 3, 1e-5, 1e-5))
        taken, formula = list[float](), list[float]()
        p = start
        for _ in range(3):
            output = trainer.step()
            trainer.synchronise(output)
            assert np.isfinite(trainer.read_loss(output))
            p -= rate * slope(p)
            taken.append(float(trainer.theta()[0]))
            formula.append(p)
        found[str(start)] = [*taken, *formula]
    return found


def findings() -> dict[str, Any]:
    """Everything, by name."""
    root_finders = ("dopri8", "kvaerno5", "kvaerno5-chord")
    return {
        "methods": {name: outcome(TIME_DEPENDENT, cell(name)) for name in root_finders},
        "blow_up": {name: outcome(BLOW_UP, cell(name)) for name in ("tsit5", "kvaerno5")},
        "exploding": outcome(EXPLODING, cell("tsit5")),
        "stiff": {name: outcome(STIFF, cell("tsit5", name)) for name in ("checkpointed", "discrete")},
        "errors": {
            f"{sensitivity} {precision}": lotka_volterra_error(cell("tsit5", sensitivity, precision), rtol)
            for sensitivity, precision, rtol in (
                *((sensitivity, "float64", 1e-7) for sensitivity in ADAPTER.sensitivities),
                ("checkpointed", "float32", 1e-4),
            )
        },
        "split": {name: outcome(TWO_PARTS, cell(name), 1e-5) for name in ("kencarp5", "kencarp3-newton")},
        "stochastic": stochastic(),
        "component_errors": robertson_errors(cell("kvaerno5-newton"), 1e-13),
        **traces(),
        "bounds": bounds(),
        "training_bounds": training_bounds(),
    }


if __name__ == "__main__":
    print(json.dumps(findings()))

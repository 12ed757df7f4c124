"""Solves catalog problems from their emitted source with SciPy, and evaluates what is known of their solutions."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nextafter
from types import SimpleNamespace
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from sciml_bench.emit import source
from sciml_bench.spec import Problem
from sciml_bench.spec.model import symbol

Array = NDArray[np.float64]
States = dict[float, Array]


def emitted(problem: Problem) -> Any:
    """The emitted NumPy module of a problem, as a namespace."""
    namespace: dict[str, Any] = {}
    exec(source(problem, "numpy"), namespace)
    return SimpleNamespace(**namespace)


def integrate(
    problem: Problem, stops: Sequence[float], *, method: str, rtol: float, atol: float, implicit: bool = False
) -> States:
    """States at the stops, each reached by a step, so that no interpolation enters the values.

    Breakpoints end a segment too, and t is clipped to the open side of the segment there. ``atol`` is multiplied by
    the problem's ``atol_scale``; implicit methods are given the emitted Jacobian.
    """
    module, numbers = emitted(problem), problem.numbers()
    p, y, states = np.array(numbers.p), np.array(numbers.y0), States()
    ends = sorted({*stops, *(b for b in numbers.breakpoints if b < max(stops))})
    for start, end in zip([numbers.t0, *ends[:-1]], ends, strict=True):
        low = nextafter(start, inf) if start in numbers.breakpoints else start
        high = nextafter(end, -inf) if end in numbers.breakpoints else end

        def rhs(t: float, y: Array, low: float = low, high: float = high) -> Array:
            return module.rhs(min(max(t, low), high), y, p)

        def jacobian(t: float, y: Array, low: float = low, high: float = high) -> Any:
            return module.jacobian(min(max(t, low), high), y, p)

        options: dict[str, Any] = {"jac": jacobian} if implicit else {}
        scaled = atol * np.array(numbers.atol_scale)
        solution = solve_ivp(rhs, (start, end), y, method=method, rtol=rtol, atol=scaled, t_eval=[end], **options)
        assert solution.success, solution.message
        y = solution.y[:, -1]
        states[end] = y
    return states


def mixed_error(problem: Problem, label: str, found: float, expected: float) -> float:
    """The error relative to the larger of the component and its ``atol_scale``."""
    scale = problem.numbers().atol_scale[problem.state_labels.index(label)]
    return abs(found - expected) / max(abs(expected), scale)


def published_errors(problem: Problem, states: States) -> dict[str, float]:
    """The mixed error of every published value, by ``label(t)``."""
    errors: dict[str, float] = {}
    for block in problem.published:
        for label, (value, _digits) in block.values.items():
            found = float(states[float(block.t)][problem.state_labels.index(label)])
            errors[f"{label}({float(block.t):g})"] = mixed_error(problem, label, found, float(value))
    return errors


def exact_states(problem: Problem, times: Sequence[float]) -> States:
    """The closed form at some times."""
    arguments = [symbol("t"), *(symbol(p.name) for p in problem.parameters), *(symbol(g.name) for g in problem.grids)]
    numbers = [float(parameter.values[0]) for parameter in problem.parameters]
    axes = [np.array([float(grid.coordinate(i)) for i in range(grid.points)]) for grid in problem.grids]
    parts = [sympy.lambdify(arguments, problem.exact[state.name], ["scipy", "numpy"]) for state in problem.states]
    return {t: np.concatenate([np.atleast_1d(part(t, *numbers, *axes)) for part in parts]) for t in times}


def invariant_values(problem: Problem, y: Array) -> dict[str, float]:
    """The value of each invariant in a state."""
    arguments: list[Any] = []
    start = 0
    for state in problem.states:
        arguments.append(y[start : start + state.size] if state.shape else y[start])
        start += state.size
    for parameter in problem.parameters:
        values = np.array([float(value) for value in parameter.values])
        arguments.append(values if parameter.shape else values[0])
    symbols = [symbol(quantity.name) for quantity in (*problem.states, *problem.parameters)]
    modules: list[Any] = [{"Total": np.sum, "Dot": np.dot}, "numpy"]
    functions = {name: sympy.lambdify(symbols, expr, modules) for name, expr in problem.invariants.items()}
    return {name: float(function(*arguments)) for name, function in functions.items()}


def invariant_drift(problem: Problem, states: States) -> dict[str, float]:
    """The largest change of each invariant, relative to its initial value or, where that is less, to 1."""
    initial = invariant_values(problem, np.array(problem.numbers().y0))
    drift = dict.fromkeys(initial, 0.0)
    for y in states.values():
        for name, value in invariant_values(problem, y).items():
            drift[name] = max(drift[name], abs(value - initial[name]) / max(abs(initial[name]), 1.0))
    return drift

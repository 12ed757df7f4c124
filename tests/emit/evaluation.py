"""Independent evaluation of a problem: its scalar form, component by component, in plain Python floats."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import sympy

from sciml_bench.emit.symbolic.scalar import scalarise
from sciml_bench.spec.language.removable import ExpMoment
from sciml_bench.spec.model import Problem


def where(condition: bool, a: float, b: float) -> float:
    """The language's ``where`` for scalars."""
    return a if condition else b


def moment_of_exp(x: float, n: int) -> float:
    """The integral of s**n exp(s x) over 0 ≤ s ≤ 1."""
    found: Any = mpmath.quad(lambda s: s**n * mpmath.exp(s * x), [0, 1])
    return float(found)


def evaluate(problem: Problem, t: float, y: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The right-hand side, shape (n_states,)."""
    system = scalarise(problem)
    known: dict[sympy.Basic, float] = dict(zip((system.t, *system.y, *system.p), (t, *y, *p), strict=True))

    def value(expr: sympy.Expr) -> float:
        symbols = sorted(expr.free_symbols, key=str)
        function: Any = sympy.lambdify(
            symbols,
            expr,
            modules=[{"Where": where, ExpMoment.label: moment_of_exp, "ExpMoment": moment_of_exp}, "math"],
        )
        return float(function(*(known[symbol] for symbol in symbols)))

    for target, expr in system.statements:
        known[target] = value(expr)
    return np.array([value(expr) for expr in system.outputs])


def sample(problem: Problem, seed: int = 0) -> tuple[float, np.ndarray, np.ndarray]:
    """A time, a state near the initial one, and the parameters, for comparing right-hand sides."""
    numbers = problem.numbers()
    generator = np.random.default_rng(seed)
    noise = 0.1 * np.abs(generator.normal(size=len(numbers.y0)))
    y = np.array(numbers.y0) + noise * np.array(numbers.atol_scale)
    return numbers.t0 + 0.37 * (numbers.t1 - numbers.t0), y, np.array(numbers.p)

"""The two parts of a stochastic equation, dy = f(t, y) dt + g(t, y) o dW: its drift, and the matrix of its noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy

from sciml_bench.spec.language.operators import (
    ControlSlope,
    MatrixOf,
    Node,
)
from sciml_bench.spec.model import Problem, symbol
from sciml_bench.spec.tables.control import Control


@dataclass(frozen=True)
class Parts:
    """Each state's equation without the noise, and the entries of the matrix that multiplies it.

    The entries are an expression of shape (size of the state * channels,), row by row; 0 where a state has no noise.
    """

    motion: Control
    drift: Mapping[str, Node]
    diffusion: Mapping[str, Node]


def parts(problem: Problem) -> Parts | None:
    """The parts of a problem that one Brownian motion W drives by terms ``apply(g(z), ddt(W))``; ``None`` of others.

    Only such a motion may decide where steps end: methods for stochastic equations take equal steps from end to end.
    """
    if len(problem.controls) != 1 or problem.controls[0].brownian is None:
        return None
    (motion,) = problem.controls
    if problem.breakpoints != motion.times[1:-1]:
        return None
    slope = ControlSlope(symbol(motion.name))
    drift, diffusion = dict[str, Node](), dict[str, Node]()
    for name, equation in problem.equations.items():
        terms = sympy.Add.make_args(equation)
        noise = [term for term in terms if term.has(ControlSlope)]
        if len(noise) > 1 or any(not isinstance(term, MatrixOf) or term.args[1] != slope for term in noise):
            return None
        if any(term.args[0].has(ControlSlope) for term in noise):
            return None
        drift[name] = sympy.Add(*(term for term in terms if term not in noise))
        diffusion[name] = noise[0].args[0] if noise else sympy.S.Zero
    if any(definition.expr.has(ControlSlope) for definition in problem.definitions):
        return None
    return Parts(motion, drift, diffusion)

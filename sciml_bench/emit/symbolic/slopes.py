"""Derivatives of elementary functions, on a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import Rational

from sciml_bench.spec.language.removable import DERIVATIVES

if TYPE_CHECKING:
    from sciml_bench.emit.symbolic.graph import Graph

HALF = Rational(1, 2)

SLOPES = {kind.label: (sign, slope.label) for kind, (sign, slope) in DERIVATIVES.items()}
"""The sign of a moment's derivative, and the label of the moment that this is, with one factor more."""


def slope(graph: Graph, name: str, a: int, value: int) -> int:
    """Return the node of the derivative of ``value``, the function ``name`` of ``a``; zero for a step function."""
    square = graph.multiply
    match name:
        case "sqrt":
            return graph.divide(graph.constant(HALF), value)
        case "exp":
            return value
        case "expm1":
            return graph.add(value, graph.one)
        case "log1p":
            return graph.divide(graph.one, graph.add(graph.one, a))
        case "log":
            return graph.divide(graph.one, a)
        case "sin":
            return graph.apply("cos", a)
        case "cos":
            return graph.negative(graph.apply("sin", a))
        case "tan":
            return graph.add(graph.one, square(value, value))
        case "sinh":
            return graph.apply("cosh", a)
        case "cosh":
            return graph.apply("sinh", a)
        case "tanh":
            return graph.subtract(graph.one, square(value, value))
        case "atan":
            return graph.divide(graph.one, graph.add(graph.one, square(a, a)))
        case "asin":
            return graph.divide(graph.one, graph.apply("sqrt", graph.subtract(graph.one, square(a, a))))
        case "acos":
            return graph.negative(slope(graph, "asin", a, value))
        case "absolute":
            return graph.apply("signum", a)
        case _:
            return graph.zero

"""Locality of a problem's arrays: whether each point depends on its neighbours, all points in the same way.

Such a problem is a loop over points whatever their number, in targets that have no array operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from sympy import Symbol

from sciml_bench.spec.language.operators import (
    ARRAY_OPERATORS,
    MIRRORED,
    PERIODIC,
    Difference,
    Item,
    Laplacian,
    Node,
    Shift,
)
from sciml_bench.spec.language.shapes import Shape, describe
from sciml_bench.spec.model import Problem, symbol

MOST_TERMS = 2000
"""Of the equations at one point, with definitions and operators inside each other written out."""


def why_not_local(problem: Problem) -> str:
    """Return why the equations are not the same for every point and only of its neighbours; empty if they are."""
    shapes = {state.shape for state in problem.states}
    if () in shapes:
        return "it has states as well as vectors or fields"
    if len(shapes) > 1:
        return f"its states have several shapes: {', '.join(sorted(map(describe, shapes)))}"
    return _Terms(problem, next(iter(shapes))).refused


class _Terms:
    """Walks the equations as they are written out for one point."""

    def __init__(self, problem: Problem, shape: Shape):
        self._definitions: Mapping[Symbol, Node] = {symbol(d.name): d.expr for d in problem.definitions}
        self._shapes, self._shape = problem.shapes, shape
        self._fixed = {symbol(constant.name) for constant in problem.constants}
        self._parameters = {symbol(parameter.name) for parameter in problem.parameters}
        self._equations = list(problem.equations.values())
        self._memo: dict[Node, int] = {}

    @cached_property
    def refused(self) -> str:
        """The obstacle."""
        try:
            terms = sum(map(self._count, self._equations))
        except _Refused as refused:
            return str(refused)
        return "" if terms <= MOST_TERMS else f"an equation at one point has {terms} terms"

    def _count(self, expr: Node) -> int:
        if expr not in self._memo:
            self._memo[expr] = self._counted(expr)
        return self._memo[expr]

    def _counted(self, expr: Node) -> int:
        match expr:
            case Symbol():
                if self._shapes.get(expr, ()) not in ((), self._shape):
                    raise _Refused(f"{expr} has another shape than its states")
                if expr in self._parameters and self._shapes.get(expr):
                    raise _Refused(f"the parameter {expr} is used as a whole")
                return self._count(self._definitions[expr]) if expr in self._definitions else 1
            case Item():
                # An element of a vector of constants or parameters is a number, a state's element is far from others.
                if expr.args[0] in self._fixed | self._parameters:
                    return 1
                raise _Refused("it has single elements of arrays")
            case Laplacian():
                field, *edges = expr.args
                return (1 + 2 * len(edges)) * self._count(field) + self._outside(edges)
            case Difference():
                return 2 * self._count(expr.args[0]) + self._outside(expr.args[2:])
            case Shift():
                return self._count(expr.args[0]) + self._outside(expr.args[3:])
            case _ if isinstance(expr, ARRAY_OPERATORS):
                raise _Refused("it has sums, products of matrices or systems of equations over all points")
            case _:
                return max(1, sum(map(self._count, expr.args)))

    def _outside(self, edges: tuple[Node, ...] | list[Node]) -> int:
        return sum(self._count(edge) for edge in edges if edge not in (PERIODIC, MIRRORED))


class _Refused(Exception):
    """With the reason."""

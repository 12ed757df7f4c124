"""Gaussian elimination in symbols: a linear system whose solution is a sequence of definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy
from sympy import Symbol

from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import Definition, symbol

_DIGITS = 30
_SMALLEST = 1e-12
"""The least pivot, relative to the largest entry of the matrix."""


class Singular(Exception):
    """The matrix is singular at the point; ``column`` has no pivot."""

    def __init__(self, column: int):
        super().__init__(f"column {column} has no pivot")
        self.column = column


def eliminate(
    matrix: sympy.Matrix, right: Sequence[Node], point: Mapping[Symbol, Node], prefix: str
) -> tuple[list[Definition], list[Node]]:
    """The solution x of ``matrix x = right``, and the definitions that its expressions read, in order.

    The pivots are the entries that are largest at a point. Definitions are named with the prefix and two underscores,
    which no name of a file has; of a system of one equation there is none.

    Raises:
        Singular: at the point, the matrix is.
    """
    n = len(right)
    rows = [[*matrix.row(i), right[i]] for i in range(n)]
    values = [[_value(entry, point) for entry in row[:n]] for row in rows]
    floor = _SMALLEST * max((abs(value) for row in values for value in row), default=0.0)
    definitions: list[Definition] = []

    def named(expr: Node) -> Node:
        if expr.is_Atom or n == 1:
            return expr
        name = f"{prefix}__{len(definitions)}"
        definitions.append(Definition(name, (), expr))
        return symbol(name)

    rows = [[named(entry) for entry in row] for row in rows]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(values[i][k]))
        if not abs(values[pivot][k]) > floor:
            raise Singular(k)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        values[k], values[pivot] = values[pivot], values[k]
        for i in range(k + 1, n):
            if rows[i][k] == 0:
                continue
            factor = named(rows[i][k] / rows[k][k])
            ratio = values[i][k] / values[k][k]
            for j in range(k + 1, n + 1):
                if rows[k][j] != 0:
                    rows[i][j] = named(rows[i][j] - factor * rows[k][j])
            for j in range(k + 1, n):
                values[i][j] -= ratio * values[k][j]
    found: list[Node] = [sympy.S.Zero] * n
    for k in reversed(range(n)):
        rest = sympy.Add(rows[k][n], *(-rows[k][j] * found[j] for j in range(k + 1, n)))
        found[k] = named(rest / rows[k][k])
    return definitions, found


def _value(entry: Node, point: Mapping[Symbol, Node]) -> float:
    found = entry.xreplace(dict(point)).evalf(_DIGITS)
    return float(found) if found.is_number and found.is_finite else 0.0

"""Linear systems in symbols, solved by definitions: by determinants if they are small, otherwise by elimination."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import sympy

from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import symbol
from sciml_bench.spec.quantities import Definition
from sciml_bench.spec.tables.values import value_at

_LARGEST = sympy.Rational(sys.float_info.max)
_SMALLEST = 1e-14
"""The least pivot of a matrix whose rows and columns have a largest entry of about 1."""
_BY_DETERMINANTS = 3
"""Up to this size no pivot is chosen, so that a regular matrix stays so whatever it becomes."""


class Singular(Exception):
    """The matrix is singular at the point; ``column`` has no pivot."""

    def __init__(self, column: int):
        super().__init__(f"column {column} has no pivot")
        self.column = column


class NotFinite(Exception):
    """An entry has no finite real value at the point; ``row`` is its row."""

    def __init__(self, row: int):
        super().__init__(f"row {row} is not finite")
        self.row = row


def solved(
    matrix: sympy.Matrix, right: Sequence[Node], point: Mapping[Node, Node], prefix: str
) -> tuple[list[Definition], list[Node]]:
    """The solution x of ``matrix x = right``, and the definitions that its expressions read, in order.

    Definitions are named with the prefix and two underscores, which no name of a file has. Of more than three equations
    the pivots are the entries that are largest at a point.

    Raises:
        Singular: at the point, the matrix is.
        NotFinite: at the point, an entry or the right-hand side is.
    """
    n = len(right)
    order = _pivots(np.array([[_number(matrix[i, j], point, i) for j in range(n)] for i in range(n)]))
    for i, entry in enumerate(right):
        _number(entry, point, i)
    if n == 1:
        return [], [right[0] / matrix[0, 0]]
    definitions: list[Definition] = []

    def named(expr: Node) -> Node:
        if expr.is_Atom:
            return expr
        name = f"{prefix}__{len(definitions)}"
        definitions.append(Definition(name, (), expr))
        return symbol(name)

    rows = [[named(matrix[i, j]) for j in range(n)] for i in range(n)]
    values = [named(value) for value in right]
    found = _by_determinants if n <= _BY_DETERMINANTS else _by_elimination
    return definitions, found(rows, values, order, named)


def _number(expr: Node, point: Mapping[Node, Node], row: int) -> float:
    found = value_at(expr, point)
    number = math.inf if found is None or abs(found) > _LARGEST else float(found)
    if not math.isfinite(number):
        raise NotFinite(row)
    return number


def _pivots(values: np.ndarray) -> list[int]:
    """The row of each column's pivot, of a matrix whose rows and columns are scaled before."""
    values = values.copy()
    for axis in (1, 0, 1, 0):
        size = np.max(np.abs(values), axis=axis, keepdims=True)
        values /= np.where(size > 0, size, 1.0)
    order = list(range(len(values)))
    for k in range(len(values)):
        pivot = k + int(np.argmax(np.abs(values[k:, k])))
        if not abs(values[pivot, k]) > _SMALLEST:
            raise Singular(k)
        values[[k, pivot]] = values[[pivot, k]]
        order[k], order[pivot] = order[pivot], order[k]
        values[k + 1 :] -= np.outer(values[k + 1 :, k] / values[k, k], values[k])
    return order


def _by_determinants(
    rows: list[list[Node]], right: list[Node], _order: list[int], named: Callable[[Node], Node]
) -> list[Node]:
    matrix = sympy.Matrix(rows)
    determinant, adjugate = named(matrix.det()), matrix.adjugate()
    return [
        named(sympy.Add(*(adjugate[i, j] * value for j, value in enumerate(right))) / determinant)
        for i in range(len(right))
    ]


def _by_elimination(
    rows: list[list[Node]], right: list[Node], order: list[int], named: Callable[[Node], Node]
) -> list[Node]:
    n = len(right)
    rows = [[*rows[i], right[i]] for i in order]
    for k in range(n):
        for i in range(k + 1, n):
            if rows[i][k] == 0:
                continue
            factor = named(rows[i][k] / rows[k][k])
            for j in range(k + 1, n + 1):
                if rows[k][j] != 0:
                    rows[i][j] = named(rows[i][j] - factor * rows[k][j])
    found: list[Node] = [sympy.S.Zero] * n
    for k in reversed(range(n)):
        rest = sympy.Add(rows[k][n], *(-rows[k][j] * found[j] for j in range(k + 1, n)))
        found[k] = named(rest / rows[k][k])
    return found

"""Operators of the expression language as SymPy functions: what ordinary scalar algebra cannot say.

Every operator is opaque to SymPy's algebra, so derivatives and common subexpressions treat an application such as
``laplacian(u)`` as one quantity. Linear operators carry what lies outside the array as extra arguments (*edges*):
``PERIODIC`` wraps around, ``MIRRORED`` repeats the outermost value (zero flux), any other expression is the value
outside.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Expr, Function, Symbol

PERIODIC = Symbol("_periodic")
MIRRORED = Symbol("_mirrored")


class Laplacian(Function):
    """``Laplacian(u, edge per axis…)``: second-order centred differences, summed over the axes of the grid."""


class Difference(Function):
    """``Difference(u, axis, edge)``: centred first difference along one axis of the grid, divided by 2h."""


class Shift(Function):
    """``Shift(u, k, axis, edge)``: the value k places further along an axis."""


class Total(Function):
    """``Total(u)``: the sum of all elements."""


class MatrixProduct(Function):
    """``MatrixProduct(A, u)`` with A the symbol of a constant matrix: A u."""


class Dot(Function):
    """``Dot(a, b)``: the inner product of two vectors."""


class TridiagonalSolve(Function):
    """``TridiagonalSolve(lower, diagonal, upper, b)``: x with T x = b; lower[0] and upper[-1] are not used."""


class Item(Function):
    """``Item(u, i, …)``: one element, with constant indices."""


class At(Function):
    """``At(u, i)``: the element of a vector at a free index; only inside indexed equations."""


class IndexedSum(Function):
    """``IndexedSum(body, j, excluded, size)``: sum of the body over j; ``excluded`` is j itself or the index left out."""


class PairMatrix(Function):
    """``PairMatrix(body, j, excluded, size)``: the matrix of the body over the free index and j; zero where excluded."""


class Where(Function):
    """``Where(condition, a, b)``: a where the condition holds, else b. Its derivative is taken branch by branch."""

    def _eval_derivative(self, s: Any) -> Expr:
        condition, a, b = self.args
        da, db = a.diff(s), b.diff(s)
        return sympy.S.Zero if da == 0 and db == 0 else Where(condition, da, db)


#: Operators that map arrays to arrays or numbers; ``Where`` is elementwise and not among them.
ARRAY_OPERATORS = (
    Laplacian, Difference, Shift, Total, MatrixProduct, Dot, TridiagonalSolve, Item, At, IndexedSum,
)  # fmt: skip

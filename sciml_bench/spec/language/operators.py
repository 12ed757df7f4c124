"""Operators of the expression language as SymPy functions: what ordinary scalar algebra cannot say.

Every operator is opaque to SymPy's algebra, so derivatives and common subexpressions treat an application such as
``laplacian(u)`` as one quantity. Linear operators carry what lies outside the array as extra arguments (*edges*):
``PERIODIC`` wraps around, ``MIRRORED`` repeats the outermost value (zero flux), any other expression is the value
outside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import sympy
from sympy import Function, Symbol
from sympy.core.relational import Relational

#: A node of an expression tree. SymPy types the arguments of a node as ``Basic``, which has no arithmetic, so code that
#: walks trees says ``Node``.
Node: TypeAlias = Any

PERIODIC = Symbol("_periodic")
MIRRORED = Symbol("_mirrored")


class Operator(Function):
    """Base of the operators; opaque to algebra."""

    if TYPE_CHECKING:

        @property
        def args(self) -> tuple[Node, ...]:
            """The operands, then the settings."""
            ...


class Laplacian(Operator):
    """``Laplacian(u, edge per axis…)``: second-order centred differences, summed over the axes of the grid."""


class Difference(Operator):
    """``Difference(u, axis, edge)``: centred first difference along one axis of the grid, divided by 2h."""


class Shift(Operator):
    """``Shift(u, k, axis, edge)``: the value k places further along an axis."""


class Total(Operator):
    """``Total(u)``: the sum of all elements."""


class MatrixProduct(Operator):
    """``MatrixProduct(A, u)`` with A the symbol of a constant matrix: A u."""


class Dot(Operator):
    """``Dot(a, b)``: the inner product of two vectors."""


class NetworkOutput(Operator):
    """``NetworkOutput(f, a, …)`` with f the symbol of a network: its outputs for the inputs a, …."""


class NetworkGradient(Operator):
    """``NetworkGradient(f, a, …)``: the derivatives of the one output of a network with respect to its inputs."""


class NetworkDivergence(Operator):
    """``NetworkDivergence(f, a, …)``: the sum of df_i/da_i over the outputs of a network and as many first inputs."""


class TridiagonalSolve(Operator):
    """``TridiagonalSolve(lower, diagonal, upper, b)``: x with T x = b; lower[0] and upper[-1] are not used."""


class ControlSlope(Operator):
    """``ControlSlope(X)`` with X the symbol of a path through data: its derivative at t, a number for each channel."""


class MatrixOf(Operator):
    """``MatrixOf(a, x)``: the product of the matrix whose entries are a, row by row, and x."""


class Stack(Operator):
    """``Stack(a, b, …)``: the vector of these numbers."""


class Item(Operator):
    """``Item(u, i, …)``: one element, with constant indices."""


class At(Operator):
    """``At(u, i)``: the element of a vector at a free index; only inside indexed equations."""


class IndexedSum(Operator):
    """``IndexedSum(body, j, excluded, size)``: the body summed over j, which skips ``excluded`` unless it is j."""


class PairMatrix(Operator):
    """``PairMatrix(body, j, excluded, size)``: the matrix of the body over the free index and j."""


class RealFunction(Operator):
    """An operator with real values, as SymPy wants to know before it compares, or differentiates a magnitude."""

    def _eval_is_commutative(self) -> bool:
        return True

    def _eval_is_extended_real(self) -> bool:
        return True


class Where(RealFunction):
    """``Where(condition, a, b)``: a if the condition holds, otherwise b. Its derivative is taken branch by branch."""

    @classmethod
    def eval(cls, *args: Node) -> Node | None:
        """The branch, where the condition has become true or false."""
        condition, a, b = args
        return a if condition == sympy.true else b if condition == sympy.false else None

    def _eval_derivative(self, s: Node) -> Node:
        condition, a, b = self.args
        da, db = a.diff(s), b.diff(s)
        return sympy.S.Zero if da == 0 and db == 0 else Where(condition, da, db)


def is_extremum(where: Node) -> bool:
    """Return whether a ``Where`` is the larger or the smaller of the two sides of its condition: it does not jump."""
    condition, a, b = where.args
    return isinstance(condition, Relational) and {a, b} == {condition.lhs, condition.rhs}


class Floor(RealFunction):
    """``Floor(u)``: the largest integer that is not above u. Its derivative is zero."""

    @classmethod
    def eval(cls, *args: Node) -> Node | None:
        """The integer, of a number."""
        return sympy.floor(args[0]) if args[0].is_number else None

    def fdiff(self, argindex: int = 1) -> Node:
        """Zero: jumps are not part of the derivative."""
        return sympy.S.Zero


#: What a network is asked for: its outputs, or their derivatives with respect to its inputs.
OF_NETWORKS = (NetworkOutput, NetworkGradient, NetworkDivergence)
#: Operators that map arrays to arrays or numbers; ``Where`` is elementwise and not among them.
ARRAY_OPERATORS = (
    Laplacian, Difference, Shift, Total, MatrixProduct, Dot, NetworkOutput, NetworkGradient, NetworkDivergence,
    TridiagonalSolve, Item, At, IndexedSum, ControlSlope, MatrixOf, Stack,
)  # fmt: skip

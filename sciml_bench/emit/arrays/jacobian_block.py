"""A block of a Jacobian of arrays, which stays a diagonal plus matrices until it is assembled."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Symbol

from sciml_bench.spec.language.operators import Node


@dataclass(frozen=True)
class Variable:
    """A variable of differentiation: a symbol, and the number of its elements."""

    symbol: Symbol
    size: int


@dataclass
class Block:
    """The derivative of an array with respect to a variable: ``diag(diagonal) + sum(matrices)``.

    ``matrices`` are code for (rows, columns) arrays; coefficients inside are placeholders until they are printed.
    """

    diagonal: Node
    matrices: list[str]

    @property
    def is_zero(self) -> bool:
        """Return whether the derivative is zero everywhere."""
        return self.diagonal == 0 and not self.matrices

"""Expressions with other operands, while SymPy leaves products of sums as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy
from sympy.core.parameters import distribute


def function_of(function: Callable[[Any], Any], operand: Any) -> Any:
    """A function of an operand whose sign SymPy may take out.

    Of tanh(-x - y) it makes -tanh(-(-x - y)), and finds the sign again for ever if it may not be multiplied in.
    """
    with distribute(bool(operand.could_extract_minus_sign())):
        return function(operand)


def rebuilt(expression: Any, operands: Sequence[Any]) -> Any:
    """The expression with these operands."""
    if isinstance(expression, sympy.Function) and len(operands) == 1 and isinstance(operands[0], sympy.Expr):
        return function_of(expression.func, operands[0])
    return expression.func(*operands)


class Size:
    """The length of expressions whose definitions are written out; each may double it."""

    def __init__(self, definitions: Mapping[Any, Any]):
        self._definitions, self._known = definitions, dict[Any, int]()
        # One after the other, as a chain of them is longer than Python's stack is high.
        for name in definitions:
            self.of(name)

    def of(self, expression: Any) -> int:
        """The number of parts of an expression."""
        if expression not in self._known:
            inner = self._definitions.get(expression)
            parts = expression.args if inner is None else (inner,)
            self._known[expression] = 1 + sum(map(self.of, parts))
        return self._known[expression]


def replaced(expression: Any, by: Mapping[Any, Any]) -> Any:
    """The expression with other parts in the place of the keys of ``by``."""
    if expression in by:
        return by[expression]
    operands = [replaced(operand, by) for operand in expression.args]
    same = all(new is old for new, old in zip(operands, expression.args, strict=True))
    return expression if same else rebuilt(expression, operands)

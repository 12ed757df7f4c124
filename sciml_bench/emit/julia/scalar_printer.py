"""Prints one scalar expression as Julia."""

from __future__ import annotations

from typing import Any

import sympy
from sympy.printing.precedence import PRECEDENCE

from sciml_bench.emit.printer import Printer
from sciml_bench.spec.language.operators import (
    Node,
)

# Julia throws where the argument is outside the domain; solvers expect a NaN, upon which they take a shorter step.
_NAN_OUTSIDE = {"sqrt", "log", "log1p", "asin", "acos"}


class JuliaPrinter(Printer):
    """The printer of the other targets with Julia's powers, conditions and domains."""

    def _call(self, name: str, *arguments: Node) -> str:
        function = self.target.functions[name]
        if name in _NAN_OUTSIDE and not (name in ("sqrt", "log") and arguments[0].is_nonnegative):
            function = f"NaNMath.{function}"
        return f"{function}({', '.join(self.code(argument) for argument in arguments)})"

    def _print_Pow(self, expr: sympy.Pow, rational: bool = False) -> str:
        base, exponent = expr.base, expr.exp
        if exponent == -1:
            return f"1/{self.parenthesize(base, PRECEDENCE['Mul'], strict=True)}"
        if exponent == sympy.S.Half:
            return self._call("sqrt", base)
        if exponent == -sympy.S.Half:
            return f"1/{self._call('sqrt', base)}"
        if not exponent.is_Integer and not base.is_nonnegative:
            return f"NaNMath.pow({self.code(base)}, {self.code(exponent)})"
        inner = self.parenthesize(base, PRECEDENCE["Pow"], strict=False)
        return f"{inner}^{self.parenthesize(exponent, PRECEDENCE['Pow'], strict=False)}"

    def _print_Where(self, expr: Any) -> str:
        condition, a, b = expr.args
        code = self.condition(condition)
        # Both branches of one type, because dual numbers would otherwise make the result a union of types; false times
        # anything, also a NaN, is zero.
        if b == 0:
            return f"({code})*{self.parenthesize(a, PRECEDENCE['Mul'])}"
        if a == 0:
            return f"!({code})*{self.parenthesize(b, PRECEDENCE['Mul'])}"
        return f"ifelse({code}, promote({self.code(a)}, {self.code(b)})...)"

    def condition(self, condition: Any) -> str:
        """The code of a condition."""
        match condition:
            case sympy.Not():
                return f"!{self._grouped(condition.args[0])}"
            case _:
                return super()._condition(condition)

    _condition = condition

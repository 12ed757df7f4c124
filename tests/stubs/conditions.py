"""Right-hand sides with conditions of the time, evaluated from their text, apart from the package."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable

TEXT = """\
spec = 1
name = "one"
title = "One equation"
[time]
t1 = {t1}
save = {{ spacing = "linear", count = 8 }}
{time}
[parameters]
k = {k}
[states]
y = {y0}
[equations]
y = "{equation}"
"""


def one(equation: str, time: str = "", t1: object = 10, k: object = 0.5, y0: object = 1) -> str:
    """A problem file with one equation, one parameter ``k``, and further lines of its table of times."""
    if "k" not in equation:
        # So little that no digit changes, and yet a loss depends on it.
        equation += " + 1e-300*k"
    return TEXT.format(equation=equation, time=time, t1=t1, k=k, y0=y0)


_FUNCTIONS: dict[str, Callable[..., float]] = {
    "sin": math.sin, "cos": math.cos, "exp": math.exp, "sqrt": math.sqrt, "atan": math.atan,
    "abs": math.fabs, "sign": lambda x: math.copysign(1.0, x) if x else 0.0,
}  # fmt: skip


class Evaluation:
    """The value of a text at one point. ``taken`` notes, in order, which way every condition went that matters there:
    those of the branches that are taken, and the signs in magnitudes outside of conditions."""

    def __init__(self, text: str, names: dict[str, float]):
        self.names = names
        self.taken: list[object] = []
        self._inside = 0
        self.value = self._number(ast.parse(text, mode="eval").body)

    def _number(self, node: ast.expr) -> float:
        match node:
            case ast.Constant(value=int() | float() as value):
                return float(value)
            case ast.Name(id="pi"):
                return math.pi
            case ast.Name(id=name):
                return self.names[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._number(operand)
            case ast.BinOp(left=left, op=op, right=right):
                a, b = self._number(left), self._number(right)
                match op:
                    case ast.Add():
                        return a + b
                    case ast.Sub():
                        return a - b
                    case ast.Mult():
                        return a * b
                    case ast.Div():
                        return a / b
                    case _:
                        return a**b
            case ast.Call(func=ast.Name(id="where"), args=[condition, a, b]):
                return self._number(a if self._noted(self._holds(condition)) else b)
            case ast.Call(func=ast.Name(id=("min" | "max") as name), args=[a, b]):
                self._inside += 1
                less = self._number(a) < self._number(b)
                self._inside -= 1
                return self._number(a if self._noted(less) == (name == "min") else b)
            case ast.Call(func=ast.Name(id=name), args=[argument]):
                value = self._number(argument)
                if name in ("abs", "sign"):
                    self._noted(value > 0)
                return _FUNCTIONS[name](value)
        raise AssertionError(ast.dump(node))

    def _holds(self, node: ast.expr) -> bool:
        self._inside += 1
        try:
            match node:
                case ast.BoolOp(op=op, values=parts):
                    held = [self._holds(part) for part in parts]
                    return all(held) if isinstance(op, ast.And) else any(held)
                case ast.UnaryOp(operand=operand):
                    return not self._holds(operand)
                case ast.Compare(left=left, ops=[op], comparators=[right]):
                    a, b = self._number(left), self._number(right)
                    return {ast.Lt: a < b, ast.LtE: a <= b, ast.Gt: a > b, ast.GtE: a >= b}[type(op)]
        finally:
            self._inside -= 1
        raise AssertionError(ast.dump(node))

    def _noted(self, way: bool) -> bool:
        if not self._inside:
            self.taken.append(way)
        return way

"""The value of formulas as problem files write them, from their text, apart from SymPy and the emitters."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np

_SAME = ("exp", "log", "log10", "log2", "log1p", "expm1", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sign",
         "floor", "ceil")  # fmt: skip
_FUNCTIONS: dict[str, Any] = {
    **{name: getattr(np, name) for name in _SAME},
    "abs": np.abs, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinc": lambda x: np.sinc(x / np.pi),
    "mod": np.mod, "max": np.maximum, "min": np.minimum,
}  # fmt: skip
_OPERATORS: dict[type[ast.AST], Any] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide, ast.Pow: np.float_power,
    ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater, ast.GtE: np.greater_equal, ast.USub: np.negative,
    ast.Not: np.logical_not,
}  # fmt: skip


class Evaluation:
    """Formulas, one after the other by name; ``value`` computes them with numbers for the other names."""

    def __init__(self, formulas: Mapping[str, str]):
        self._trees = {name: ast.parse(text, mode="eval").body for name, text in formulas.items()}

    def value(self, numbers: Mapping[str, float]) -> dict[str, float]:
        """The value of each formula; a later one may use earlier ones."""
        known: dict[str, Any] = {name: np.float64(number) for name, number in numbers.items()}
        found: dict[str, float] = {}
        with np.errstate(all="ignore"):
            for name, tree in self._trees.items():
                found[name] = float(_value(tree, known))
                known.setdefault(name, found[name])
        return found


def _value(node: ast.AST, known: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return np.float64(number)
        case ast.Name(id=name):
            return known[name]
        case ast.UnaryOp():
            return _OPERATORS[type(node.op)](_value(node.operand, known))
        case ast.BinOp():
            return _OPERATORS[type(node.op)](_value(node.left, known), _value(node.right, known))
        case ast.Compare(ops=[op], comparators=[right]):
            return _OPERATORS[type(op)](_value(node.left, known), _value(right, known))
        case ast.BoolOp():
            parts = [bool(_value(part, known)) for part in node.values]
            return all(parts) if isinstance(node.op, ast.And) else any(parts)
        case ast.Call(func=ast.Name(id="where"), args=[test, a, b]):
            return _value(a, known) if _value(test, known) else _value(b, known)
        case ast.Call(func=ast.Name(id="interp"), args=[at, ast.List(elts=places), ast.List(elts=values)]):
            at_places, at_values = ([_value(each, known) for each in row] for row in (places, values))
            return np.interp(_value(at, known), at_places, at_values)
        case ast.Call(func=ast.Name(id=name)):
            return _FUNCTIONS[name](*(_value(arg, known) for arg in node.args))
        case _:
            raise ValueError(f"'{ast.dump(node)[:40]}' is not part of a formula")

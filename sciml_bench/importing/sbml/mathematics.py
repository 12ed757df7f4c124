"""Formulas of SBML (MathML, as libSBML's trees) as formulas of problem files."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, reduce
from typing import Any

from sciml_bench.importing.python.traced import UFUNCS, Condition, is_traced, where
from sciml_bench.importing.sbml.document import libsbml

MOST_PARTS = 1_000_000
_DEEPEST_CALL = 50

Resolve = Callable[[str], Any]
"""The formula or number of a name of the model."""


class NoFormula(ValueError):
    """A formula holds what problem files have no word for."""


class Functions:
    """The functions that a model defines, and how many parts of formulas may still be read: calls multiply them."""

    def __init__(self, trees: Mapping[str, Any] | None = None):
        self.trees, self.left = dict(trees or {}), MOST_PARTS


def formula_of(tree: Any, resolve: Resolve, functions: Functions) -> Any:
    """The formula or number of a libSBML tree.

    Raises:
        NoFormula: it has a part without a counterpart, or calls without end.
    """
    return _Reader(resolve, functions).number(tree)


def comparison_of(tree: Any, resolve: Resolve, functions: Functions) -> tuple[str, Any, Any] | None:
    """The kind (``LT``, ``GEQ``, …) and both sides of a tree that is one comparison of two values; ``None`` of others.

    Raises:
        NoFormula: a side has a part without a counterpart.
    """
    return _Reader(resolve, functions).comparison(tree)


def _call(name: str, *args: Any) -> Any:
    try:
        return UFUNCS[name](*args)
    except (ArithmeticError, ValueError) as error:
        raise NoFormula(f"{name} of a number fails: {error}") from error


def _log1p_ratio(x: Any) -> Any:
    return 0.5 * _call("log", (1 + x) / (1 - x))


_UNARY: dict[str, Callable[[Any], Any]] = {
    "ABS": lambda x: _call("absolute", x),
    "CEILING": lambda x: _call("ceil", x),
    "EXP": lambda x: _call("exp", x),
    "FLOOR": lambda x: _call("floor", x),
    "LN": lambda x: _call("log", x),
    "SIN": lambda x: _call("sin", x),
    "COS": lambda x: _call("cos", x),
    "TAN": lambda x: _call("tan", x),
    "SEC": lambda x: 1 / _call("cos", x),
    "CSC": lambda x: 1 / _call("sin", x),
    "COT": lambda x: 1 / _call("tan", x),
    "SINH": lambda x: _call("sinh", x),
    "COSH": lambda x: _call("cosh", x),
    "TANH": lambda x: _call("tanh", x),
    "SECH": lambda x: 1 / _call("cosh", x),
    "CSCH": lambda x: 1 / _call("sinh", x),
    "COTH": lambda x: 1 / _call("tanh", x),
    "ARCSIN": lambda x: _call("arcsin", x),
    "ARCCOS": lambda x: _call("arccos", x),
    "ARCTAN": lambda x: _call("arctan", x),
    "ARCSEC": lambda x: _call("arccos", 1 / x),
    "ARCCSC": lambda x: _call("arcsin", 1 / x),
    "ARCCOT": lambda x: _call("arctan", 1 / x),
    "ARCSINH": lambda x: _call("log", x + _call("sqrt", x * x + 1)),
    "ARCCOSH": lambda x: _call("log", x + _call("sqrt", x - 1) * _call("sqrt", x + 1)),
    "ARCTANH": _log1p_ratio,
    "ARCCOTH": lambda x: _log1p_ratio(1 / x),
    "ARCSECH": lambda x: _call("log", (1 + _call("sqrt", 1 - x * x)) / x),
    "ARCCSCH": lambda x: _call("log", 1 / x + _call("sqrt", 1 / (x * x) + 1)),
}
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "LT": lambda a, b: a < b,
    "LEQ": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GEQ": lambda a, b: a >= b,
    "EQ": lambda a, b: _and(a <= b, a >= b),
}


def _and(a: Any, b: Any) -> Any:
    if isinstance(a, Condition) or isinstance(b, Condition):
        return a & b
    return bool(a) and bool(b)


def _or(a: Any, b: Any) -> Any:
    if isinstance(a, Condition) or isinstance(b, Condition):
        return a | b
    return bool(a) or bool(b)


def _not(a: Any) -> Any:
    return ~a if isinstance(a, Condition) else not a


@cache
def _kinds() -> dict[int, str]:
    """Names of libSBML's kinds of parts, by number."""
    sbml = libsbml()
    return {getattr(sbml, name): name.removeprefix("AST_") for name in dir(sbml) if name.startswith("AST_")}


class _Reader:
    def __init__(self, resolve: Resolve, functions: Functions, depth: int = 0):
        self._resolve, self._functions, self._depth = resolve, functions, depth

    def number(self, tree: Any) -> Any:
        """A formula of numbers; a truth is 1 or 0."""
        found = self._any(tree)
        return int(found) if isinstance(found, bool) else where(found, 1, 0) if isinstance(found, Condition) else found

    def _called(self, tree: Any, children: Sequence[Any]) -> Any:
        """A function of the model: its body, with the arguments' values for its names."""
        reader, body = self._inside(tree, children)
        return reader._any(body)

    def _inside(self, tree: Any, children: Sequence[Any]) -> tuple[_Reader, Any]:
        """The body of a function of the model, and its reader."""
        name = tree.getName()
        known = self._functions.trees.get(name)
        count = 0 if known is None else known.getNumChildren() - 1
        if known is None or count != len(children):
            wanted = "is not defined" if known is None else f"takes {count} arguments, not {len(children)}"
            raise NoFormula(f"function '{name}' {wanted}")
        if self._depth >= _DEEPEST_CALL:
            raise NoFormula(f"function '{name}' is called at a depth of {_DEEPEST_CALL}")
        values = {known.getChild(i).getName(): self._any(child) for i, child in enumerate(children)}

        def inside(symbol: str) -> Any:
            return values[symbol] if symbol in values else self._resolve(symbol)

        return _Reader(inside, self._functions, self._depth + 1), known.getChild(count)

    def comparison(self, tree: Any) -> tuple[str, Any, Any] | None:
        """As :func:`comparison_of`."""
        kind = _kinds().get(tree.getType(), "")
        children = [tree.getChild(i) for i in range(tree.getNumChildren())]
        if kind == "FUNCTION":
            reader, body = self._inside(tree, children)
            return reader.comparison(body)
        if not kind.startswith("RELATIONAL_") or len(children) != 2:
            return None
        return kind.removeprefix("RELATIONAL_"), self.number(children[0]), self.number(children[1])

    def _any(self, tree: Any) -> Any:
        self._functions.left -= 1
        if self._functions.left < 0:
            raise NoFormula(f"the model's functions call each other until it has more than {MOST_PARTS} parts")
        kind = _kinds().get(tree.getType(), "UNKNOWN").removeprefix("FUNCTION_")
        children = [tree.getChild(i) for i in range(tree.getNumChildren())]
        if kind in ("INTEGER", "REAL", "REAL_E", "RATIONAL"):
            return self._literal(tree, kind)
        match kind:
            case "NAME":
                return self._resolve(tree.getName())
            case "NAME_TIME":
                return self._resolve("")
            case "NAME_AVOGADRO":
                return tree.getReal()
            case "CONSTANT_PI":
                return math.pi
            case "CONSTANT_E":
                return math.e
            case "CONSTANT_TRUE" | "CONSTANT_FALSE":
                return kind == "CONSTANT_TRUE"
            case "FUNCTION":
                return self._called(tree, children)
            case "PIECEWISE":
                return self._piecewise(children)
            case "RELATIONAL_NEQ":
                return _not(self._chain("EQ", children))
            case _:
                pass
        if kind.startswith("RELATIONAL_"):
            return self._chain(kind.removeprefix("RELATIONAL_"), children)
        if kind.startswith("LOGICAL_"):
            return self._logical(kind.removeprefix("LOGICAL_"), [self.truth(child) for child in children])
        return self._arithmetic(kind, [self.number(child) for child in children], tree)

    def _literal(self, tree: Any, kind: str) -> Any:
        value = tree.getInteger() if kind == "INTEGER" else tree.getReal()
        if not math.isfinite(value):
            raise NoFormula(f"it has the number {value}")
        return int(value) if value == int(value) and abs(value) < 2**53 else value

    def truth(self, tree: Any) -> Any:
        """A condition, or a truth; a number is true unless it is 0."""
        found = self._any(tree)
        if isinstance(found, (bool, Condition)):
            return found
        return _not(_COMPARED["EQ"](found, 0))

    def _piecewise(self, children: Sequence[Any]) -> Any:
        pairs = [(children[i], children[i + 1]) for i in range(0, len(children) - 1, 2)]
        if len(children) % 2 == 0:
            # Without an otherwise its value is undefined where no condition holds.
            *pairs, (last, _) = pairs
            value = self._any(last)
        else:
            value = self._any(children[-1])
        for piece, test in reversed(pairs):
            chosen, truth = self._any(piece), self.truth(test)
            if isinstance(chosen, (bool, Condition)) or isinstance(value, (bool, Condition)):
                value = _or(_and(truth, chosen), _and(_not(truth), value))
            else:
                value = where(truth, chosen, value)
        return value

    def _chain(self, kind: str, children: Sequence[Any]) -> Any:
        values = [self.number(child) for child in children]
        pairs = [_COMPARED[kind](a, b) for a, b in itertools.pairwise(values)]
        return reduce(_and, pairs, True)

    @staticmethod
    def _logical(kind: str, values: Sequence[Any]) -> Any:
        match kind:
            case "AND":
                return reduce(_and, values, True)
            case "OR":
                return reduce(_or, values, False)
            case "NOT":
                return _not(values[0])
            case "XOR":
                return reduce(lambda a, b: _or(_and(a, _not(b)), _and(_not(a), b)), values, False)
            case "IMPLIES":
                return _or(_not(values[0]), values[1])
            case _:
                raise NoFormula(f"'{kind.lower()}' has no counterpart in problem files")

    @staticmethod
    def _arithmetic(kind: str, values: Sequence[Any], tree: Any) -> Any:
        match kind, values:
            case "PLUS", _:
                return reduce(lambda a, b: a + b, values, 0)
            case "TIMES", _:
                return reduce(lambda a, b: a * b, values, 1)
            case "MINUS", [a]:
                return -a
            case "MINUS", [a, b]:
                return a - b
            case "DIVIDE", [a, b]:
                return _divided(a, b)
            case "POWER", [a, b]:
                return _power(a, b)
            case "ROOT", [x]:
                return _call("sqrt", x)
            case "ROOT", [degree, x]:
                return _call("sqrt", x) if _is(degree, 2) else _power(x, _divided(1, degree))
            case "LOG", [x]:
                return _call("log10", x)
            case "LOG", [base, x]:
                return _call("log10", x) if _is(base, 10) else _divided(_call("log", x), _call("log", base))
            case "MAX" | "MIN", _:
                name = "maximum" if kind == "MAX" else "minimum"
                return reduce(lambda a, b: _call(name, a, b), values)
            case "REM", [a, b]:
                return a - b * _truncated(_divided(a, b))
            case "QUOTIENT", [a, b]:
                return _truncated(_divided(a, b))
            case "FACTORIAL", [int() | float() as n] if 0 <= n <= 170 and n == int(n):
                return math.factorial(int(n))
            case _, [x] if kind in _UNARY:
                return _UNARY[kind](x)
            case _:
                word = "rateOf" if kind == "RATE_OF" else tree.getName() or kind.lower()
                raise NoFormula(f"'{word}' has no counterpart in problem files")


def _is(value: Any, known: int) -> bool:
    return not is_traced(value) and value == known


def _divided(a: Any, b: Any) -> Any:
    try:
        return a / b
    except ZeroDivisionError:
        raise NoFormula("it divides by 0") from None


def _power(a: Any, b: Any) -> Any:
    if not is_traced((a, b)):
        # Powers of integers may have as many digits as a file asks for.
        a, b = float(a), float(b)
    try:
        found = a**b
    except ArithmeticError as error:
        raise NoFormula(f"a power fails: {error}") from error
    if isinstance(found, complex):
        raise NoFormula("a power of a negative number is complex")
    return found


def _truncated(x: Any) -> Any:
    return where(x < 0, _call("ceil", x), _call("floor", x))

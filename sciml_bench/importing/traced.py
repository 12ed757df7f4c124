"""Numbers that remember how they were computed, so that a function that is called with them leaves its formula."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

# Precedence of the operators of problem files; a call or a name binds tightest.
_SUM, _PRODUCT, _NEGATIVE, _POWER, _ATOM = 1, 2, 3, 4, 5
_PRECEDENCE = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "neg": _NEGATIVE, "**": _POWER}


class DataDependent(TypeError):
    """A function decides something by the value of a state, a parameter or the time, which a formula cannot."""


class Unsupported(TypeError):
    """A function does something that problem files have no word for."""


class Traced:
    """A number as a formula: an operation and its operands, which are formulas or numbers."""

    # NumPy's scalars and arrays leave an operation with a formula to it.
    __array_priority__ = 1000.0
    __slots__ = ("args", "op")
    __hash__ = object.__hash__

    def __init__(self, op: str, *args: Any):
        self.op, self.args = op, args

    def __add__(self, other: Any) -> Any:
        return _binary("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return _binary("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return _binary("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _binary("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return _binary("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _binary("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _binary("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _binary("/", other, self)

    def __pow__(self, other: Any) -> Any:
        return _binary("**", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _binary("**", other, self)

    def __mod__(self, other: Any) -> Any:
        return call("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return call("mod", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return call("floor", self / other)

    def __rfloordiv__(self, other: Any) -> Any:
        return call("floor", other / self)

    def __neg__(self) -> Traced:
        return Traced("neg", self)

    def __pos__(self) -> Traced:
        return self

    def __abs__(self) -> Traced:
        return call("abs", self)

    def __lt__(self, other: Any) -> Condition:
        return Condition("<", self, other)

    def __le__(self, other: Any) -> Condition:
        return Condition("<=", self, other)

    def __gt__(self, other: Any) -> Condition:
        return Condition(">", self, other)

    def __ge__(self, other: Any) -> Condition:
        return Condition(">=", self, other)

    def __eq__(self, other: object) -> Any:
        raise Unsupported("two numbers are compared by ==, which a solver meets at no step")

    __ne__ = __eq__

    def __bool__(self) -> bool:
        raise DataDependent("its way depends on a value: write np.where(condition, a, b)")

    def __float__(self) -> float:
        raise Unsupported("a formula cannot become a number: write functions of np or math")

    __int__ = __index__ = __float__

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return of_ufunc(ufunc, method, inputs, options)


class Condition:
    """A comparison of formulas, or several joined by ``&``, ``|`` and ``~``."""

    __array_ufunc__ = None
    __slots__ = ("args", "op")

    def __init__(self, op: str, *args: Any):
        self.op, self.args = op, args

    def __and__(self, other: Any) -> Any:
        return _joined("and", self, other)

    def __or__(self, other: Any) -> Any:
        return _joined("or", self, other)

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Condition:
        return Condition("not", self)

    def __mul__(self, other: Any) -> Any:
        return where(self, other, 0)

    __rmul__ = __mul__

    def __bool__(self) -> bool:
        raise DataDependent("its way depends on a value: write np.where(condition, a, b)")


class Array(np.ndarray[Any, Any]):
    """An array of formulas and numbers, whose functions are ours element by element."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return of_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        replaced = FUNCTIONS.get(func.__name__)
        if replaced is not None:
            return replaced(*args, **kwargs)
        return array(func(*plain(args), **{key: plain(value) for key, value in kwargs.items()}))


def array(values: Any, *_: Any, **__: Any) -> Any:
    """An array whose entries may be formulas; a number or a formula alone stays as it is."""
    made = np.array(values, dtype=object)
    return made[()] if made.ndim == 0 else made.view(Array)


def plain(value: Any) -> Any:
    """Replace our arrays by ordinary ones, for NumPy's own functions."""
    if isinstance(value, Array):
        return value.view(np.ndarray)
    return type(value)(map(plain, value)) if type(value) in (list, tuple) else value


def is_traced(value: Any) -> bool:
    """Return whether a value is or holds a formula."""
    if isinstance(value, (Traced, Condition)):
        return True
    if isinstance(value, np.ndarray):
        return value.dtype == object and any(is_traced(item) for item in value.flat)
    return isinstance(value, (list, tuple)) and any(map(is_traced, value))


def number(value: Any) -> float | int:
    """A plain number, of whatever type it is.

    Raises:
        Unsupported: it is not real.
    """
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise Unsupported(f"'{value!r}' is not a real number")


def call(name: str, *args: Any) -> Traced:
    """A function of problem files."""
    return Traced(name, *(arg if is_traced(arg) else number(arg) for arg in args))


def _binary(op: str, a: Any, b: Any) -> Any:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return NotImplemented
    if isinstance(a, Condition) or isinstance(b, Condition):
        a, b = (where(x, 1, 0) if isinstance(x, Condition) else x for x in (a, b))
    a, b = (x if isinstance(x, Traced) else number(x) for x in (a, b))
    # Sums begin with 0, products with 1.
    if not isinstance(a, Traced) and ((op == "+" and a == 0) or (op == "*" and a == 1)):
        return b
    if not isinstance(b, Traced) and ((op in "+-" and b == 0) or (op in ("*", "/", "**") and b == 1)):
        return a
    if op == "*" and any(not isinstance(x, Traced) and x == 0 for x in (a, b)):
        return 0
    return Traced(op, a, b)


def _joined(op: str, a: Any, b: Any) -> Any:
    known = next((x for x in (a, b) if isinstance(x, (bool, np.bool_))), None)
    if known is None:
        return Condition(op, a, b)
    other = b if known is a else a
    return (other if known else False) if op == "and" else (True if known else other)


def _elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers, over arrays that are broadcast against each other."""

    def apply(*args: Any) -> Any:
        if not any(isinstance(arg, (np.ndarray, list, tuple)) for arg in args):
            return function(*args)
        return array(np.frompyfunc(function, len(args), 1)(*(np.array(arg, dtype=object) for arg in args)))

    return apply


def where(condition: Any, a: Any, b: Any) -> Any:
    """``a`` if the condition holds, otherwise ``b``."""

    def one(test: Any, x: Any, y: Any) -> Any:
        if isinstance(test, Condition):
            return Traced("where", test, *(v if isinstance(v, Traced) else number(v) for v in (x, y)))
        return x if test else y

    return _elementwise(one)(condition, a, b)


def _extreme(name: str, of_numbers: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return _elementwise(lambda a, b: call(name, a, b) if is_traced((a, b)) else of_numbers(a, b))


def _named(name: str, of_numbers: Callable[..., Any]) -> Callable[..., Any]:
    return _elementwise(lambda x: call(name, x) if is_traced(x) else of_numbers(x))


_SAME = ("exp", "log", "log10", "log2", "log1p", "expm1", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sign",
         "floor", "ceil")  # fmt: skip
_OTHER = {"absolute": "abs", "fabs": "abs", "arcsin": "asin", "arccos": "acos", "arctan": "atan"}
UFUNCS: dict[str, Callable[..., Any]] = {
    **{name: _named(name, getattr(np, name)) for name in _SAME},
    **{name: _named(ours, getattr(np, name)) for name, ours in _OTHER.items()},
    "maximum": _extreme("max", max), "minimum": _extreme("min", min), "fmax": _extreme("max", max),
    "fmin": _extreme("min", min),
    "square": _elementwise(lambda x: x * x), "reciprocal": _elementwise(lambda x: 1.0 / x),
    "hypot": _elementwise(lambda a, b: UFUNCS["sqrt"](a * a + b * b)),
    "remainder": _elementwise(lambda a, b: a % b), "power": _elementwise(lambda a, b: a**b),
    "float_power": _elementwise(lambda a, b: a**b),
    "heaviside": _elementwise(lambda x, half: where(x > 0, 1, where(x < 0, 0, half))),
    "deg2rad": _elementwise(lambda x: x * (np.pi / 180)),
    "logical_and": _elementwise(lambda a, b: a & b), "logical_or": _elementwise(lambda a, b: a | b),
    "logical_not": _elementwise(lambda a: ~a if isinstance(a, Condition) else not a),
    "add": _elementwise(lambda a, b: a + b), "subtract": _elementwise(lambda a, b: a - b),
    "multiply": _elementwise(lambda a, b: a * b), "divide": _elementwise(lambda a, b: a / b),
    "negative": _elementwise(lambda a: -a), "positive": _elementwise(lambda a: a),
    "floor_divide": _elementwise(lambda a, b: a // b), "less": _elementwise(lambda a, b: a < b),
    "less_equal": _elementwise(lambda a, b: a <= b), "greater": _elementwise(lambda a, b: a > b),
    "greater_equal": _elementwise(lambda a, b: a >= b), "bitwise_and": _elementwise(lambda a, b: a & b),
    "bitwise_or": _elementwise(lambda a, b: a | b),
    "invert": _elementwise(lambda a: ~a if isinstance(a, Condition) else not a),
    "matmul": lambda a, b: array(np.dot(np.array(a, dtype=object), np.array(b, dtype=object))),
}  # fmt: skip
"""Our versions of NumPy's functions of numbers, by name."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": where,
    "clip": lambda x, low, high: UFUNCS["minimum"](UFUNCS["maximum"](x, low), high),
    "sinc": _elementwise(lambda x: call("sinc", np.pi * x) if is_traced(x) else np.sinc(x)),
    "zeros_like": lambda like, *_, **__: array(np.zeros(np.shape(like), dtype=object)),
    "empty_like": lambda like, *_, **__: array(np.zeros(np.shape(like), dtype=object)),
    "ones_like": lambda like, *_, **__: array(np.ones(np.shape(like), dtype=object)),
    "full_like": lambda like, value, *_, **__: array(np.full(np.shape(like), value, dtype=object)),
}
"""Our versions of other functions of NumPy, by name."""


def of_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Apply a NumPy function of numbers to formulas.

    Raises:
        Unsupported: problem files have no such function.
    """
    out = options.pop("out", None)
    if method == "reduce" and ufunc.__name__ in ("add", "multiply"):
        found = getattr(ufunc, method)(*(np.array(item, dtype=object) for item in inputs), **options)
        return array(found)
    replaced = UFUNCS.get(ufunc.__name__)
    if method != "__call__" or replaced is None:
        raise Unsupported(f"np.{ufunc.__name__} has no counterpart in problem files")
    found = replaced(*inputs)
    if out is not None:
        out[0][...] = found
        return out[0]
    return found


def parts_of(values: Iterable[Any]) -> tuple[list[Any], dict[int, int]]:
    """The parts of formulas, operands first, and how often each is used, by identity; without recursion."""
    order, uses = list[Any](), dict[int, int]()
    stack: list[tuple[Any, bool]] = [(value, False) for value in values if isinstance(value, (Traced, Condition))]
    while stack:
        part, done = stack.pop()
        if done:
            order.append(part)
            continue
        uses[id(part)] = uses.get(id(part), 0) + 1
        if uses[id(part)] == 1:
            stack.append((part, True))
            stack += [(arg, False) for arg in part.args if isinstance(arg, (Traced, Condition))]
    return order, uses


def names_in(values: Iterable[Any]) -> set[str]:
    """The names that formulas hold."""
    return {str(part.args[0]) for part in parts_of(values)[0] if part.op == "name"}


def text_of(value: Any, names: dict[int, str]) -> tuple[str, int]:
    """A formula as text of a problem file, and how tightly it binds; ``names`` are the names of parts, by identity."""
    if not isinstance(value, (Traced, Condition)):
        known = number(value)
        return repr(known), _ATOM if known >= 0 else _NEGATIVE
    if id(value) in names:
        return names[id(value)], _ATOM
    op, args = value.op, value.args
    if op == "name":
        return str(args[0]), _ATOM
    if op in _PRECEDENCE:
        binds = _PRECEDENCE[op]
        if op == "neg":
            return f"-{_within(args[0], names, _POWER)}", binds
        left = _within(args[0], names, _ATOM if op == "**" else binds)
        right = _within(args[1], names, _ATOM if op == "**" else binds + (op in "-/"))
        return f"{left} {op} {right}" if binds == _SUM else f"{left}{op}{right}", binds
    if isinstance(value, Condition):
        return _condition(value, names), _SUM
    return f"{op}({', '.join(text_of(arg, names)[0] for arg in args)})", _ATOM


def _within(value: Any, names: dict[int, str], least: int) -> str:
    text, binds = text_of(value, names)
    return text if binds >= least else f"({text})"


def _condition(value: Condition, names: dict[int, str]) -> str:
    if value.op == "not":
        return f"not ({text_of(value.args[0], names)[0]})"
    texts = (text_of(arg, names)[0] for arg in value.args)
    if value.op in ("and", "or"):
        return f" {value.op} ".join(f"({text})" for text in texts)
    return f" {value.op} ".join(texts)

"""Numbers that remember how they were computed, so that a function that is called with them leaves its formula."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from sciml_bench.importing.python.refusals import DataDependent, Unsupported


def _no_value(*_: Any) -> Any:
    raise Unsupported(
        "a formula cannot become a number or a text: write functions of np, or of math imported at the top of the file"
    )


def _no_equality(*_: Any) -> Any:
    raise Unsupported("numbers are compared by == or looked up, which a solver meets at no step: write <, >, np.where")


def _no_way(*_: Any) -> bool:
    raise DataDependent()


def _both_ways(op: str) -> tuple[Any, Any]:
    """The methods of an operation for a formula on its left, and for one on its right."""
    return lambda self, other: _binary(op, self, other), lambda self, other: _binary(op, other, self)


def _comparison(op: str) -> Any:
    return lambda self, other: _compared(op, self, other)


class _Arithmetic:
    """An operation and its operands, with the arithmetic that formulas and conditions share."""

    # NumPy's scalars and arrays leave an operation with a formula to it.
    __array_priority__ = 1000.0
    __slots__ = ("args", "op")

    def __init__(self, op: str, *args: Any):
        self.op, self.args = op, args

    __add__, __radd__ = _both_ways("+")
    __sub__, __rsub__ = _both_ways("-")
    __mul__, __rmul__ = _both_ways("*")
    __truediv__, __rtruediv__ = _both_ways("/")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return of_ufunc(ufunc, method, inputs, options)


class Traced(_Arithmetic):
    """A number as a formula: an operation and its operands, which are formulas or numbers."""

    __slots__ = ()
    __pow__, __rpow__ = _both_ways("**")
    __lt__, __le__, __gt__, __ge__ = map(_comparison, ("<", "<=", ">", ">="))

    def __mod__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else call("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return call("mod", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else call("floor", self / other)

    def __rfloordiv__(self, other: Any) -> Any:
        return call("floor", other / self)

    def __neg__(self) -> Traced:
        return Traced("neg", self)

    def __pos__(self) -> Traced:
        return self

    def __abs__(self) -> Traced:
        return call("abs", self)

    def __repr__(self) -> str:
        return "<formula>"

    __eq__ = __ne__ = __hash__ = _no_equality  # pyright: ignore[reportAssignmentType]
    __float__ = __int__ = __index__ = __complex__ = __round__ = _no_value
    __str__ = __format__ = _no_value  # pyright: ignore[reportAssignmentType]
    __bool__ = _no_way


class Condition(_Arithmetic):
    """A comparison of formulas, or several joined by ``&``, ``|`` and ``~``. In sums and products it is 1 or 0."""

    __slots__ = ()

    def __and__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else _joined("and", self, other)

    def __or__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else _joined("or", self, other)

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Condition:
        return Condition("not", self)

    def __neg__(self) -> Any:
        return -number_of(self)

    def __repr__(self) -> str:
        return "<condition>"

    __eq__ = __ne__ = __hash__ = __lt__ = __le__ = __gt__ = __ge__ = _no_equality  # pyright: ignore[reportAssignmentType]
    __float__ = __int__ = __index__ = _no_value
    __str__ = __format__ = _no_value  # pyright: ignore[reportAssignmentType]
    __bool__ = _no_way


def _compared(op: str, a: Any, b: Any) -> Any:
    if isinstance(b, np.ndarray):
        return NotImplemented
    return Condition(op, a, b if isinstance(b, Traced) else number_of(b) if isinstance(b, Condition) else number(b))


def number_of(condition: Any) -> Any:
    """A condition as a number, 1 if it holds and 0 if not; numbers stay as they are."""
    return Traced("where", condition, 1, 0) if isinstance(condition, Condition) else condition


class Array(np.ndarray[Any, Any]):
    """An array of formulas and numbers, whose functions are ours element by element."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return of_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        replaced = FUNCTIONS.get(func.__name__)
        if replaced is not None:
            return replaced(*args, **kwargs)
        return array(func(*plain(args), **{key: plain(value) for key, value in kwargs.items()}))

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(_index(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, np.ndarray) and any(isinstance(item, Condition) for item in index.flat):
            super().__setitem__(..., where(index, value, self))
        else:
            super().__setitem__(_index(index), value)

    def astype(self, *_: Any, **__: Any) -> Any:
        """Numbers for conditions; formulas have no other type."""
        return array(np.frompyfunc(number_of, 1, 1)(self.view(np.ndarray)))

    max = lambda self, axis=None, **_: _largest("maximum", self, axis)  # noqa: E731 # pyright: ignore
    min = lambda self, axis=None, **_: _largest("minimum", self, axis)  # noqa: E731 # pyright: ignore
    clip = lambda self, low=None, high=None, **_: _clipped(self, low, high)  # noqa: E731 # pyright: ignore


def _index(index: Any) -> Any:
    """An index with integers and truths as NumPy wants them; our arrays hold them as objects."""
    if isinstance(index, tuple):
        return tuple(map(_index, index))
    if isinstance(index, np.ndarray) and index.dtype == object and not is_traced(index):
        return np.array(index.tolist())
    return index


def _largest(name: str, values: Any, axis: Any = None) -> Any:
    if axis is not None:
        raise Unsupported(f"np.{name[:3]} along an axis has no counterpart in problem files")
    return reduce(UFUNCS[name], list(np.asarray(values, dtype=object).ravel()))


def _clipped(x: Any, low: Any = None, high: Any = None, **_: Any) -> Any:
    x = x if low is None else UFUNCS["maximum"](x, low)
    return x if high is None else UFUNCS["minimum"](x, high)


def _selected(conditions: Sequence[Any], choices: Sequence[Any], default: Any = 0) -> Any:
    chosen = default
    for condition, choice in zip(reversed(list(conditions)), reversed(list(choices)), strict=True):
        chosen = where(condition, choice, chosen)
    return chosen


def array(values: Any, *_: Any, **__: Any) -> Any:
    """An array whose entries may be formulas; a number or a formula alone stays as it is."""
    made = np.array(values, dtype=object)
    return made[()] if made.ndim == 0 else made.view(Array)


def vector(values: Sequence[Any]) -> Any:
    """A vector of entries as they are, of whatever library."""
    made = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        made[place] = value
    return made.view(Array)


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
        if not np.isfinite(float(value)):
            raise Unsupported(f"{value} has no counterpart in problem files")
        return float(value)
    raise Unsupported(f"'{value!r}' is not a real number")


def call(name: str, *args: Any) -> Traced:
    """A function of problem files."""
    return Traced(name, *(arg if is_traced(arg) else number(arg) for arg in args))


def _binary(op: str, a: Any, b: Any) -> Any:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return NotImplemented
    a, b = map(number_of, (a, b))
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


def elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers, over arrays that are broadcast against each other."""

    def apply(*args: Any, out: Any = None, **options: Any) -> Any:
        condition = options.pop("where", True)
        if options:
            raise Unsupported(f"the option '{next(iter(options))}' of a function has no counterpart in problem files")
        args = tuple(arg.item() if isinstance(arg, np.generic) else arg for arg in args)
        if any(isinstance(arg, (np.ndarray, list, tuple)) for arg in args):
            found = array(np.frompyfunc(function, len(args), 1)(*(np.array(arg, dtype=object) for arg in args)))
        else:
            found = function(*args)
        if condition is not True:
            found = where(condition, found, 0 if out is None else out)
        if out is not None:
            out[...] = found
            return out
        return found

    return apply


def where(condition: Any, a: Any, b: Any) -> Any:
    """``a`` if the condition holds, otherwise ``b``."""

    def one(test: Any, x: Any, y: Any) -> Any:
        if isinstance(test, Condition):
            return Traced("where", test, *(v if isinstance(v, Traced) else number(v) for v in (x, y)))
        return x if test else y

    return elementwise(one)(condition, a, b)


def _named(name: str, of_numbers: Callable[..., Any]) -> Callable[..., Any]:
    return elementwise(lambda *args: call(name, *args) if is_traced(args) else of_numbers(*args))


_SAME = ("exp", "log", "log10", "log2", "log1p", "expm1", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sign",
         "floor", "ceil")  # fmt: skip
_OTHER = {"absolute": "abs", "fabs": "abs", "arcsin": "asin", "arccos": "acos", "arctan": "atan"}
UFUNCS: dict[str, Callable[..., Any]] = {
    **{name: _named(name, getattr(np, name)) for name in _SAME},
    **{name: _named(ours, getattr(np, name)) for name, ours in _OTHER.items()},
    "maximum": _named("max", max), "minimum": _named("min", min), "fmax": _named("max", max),
    "fmin": _named("min", min),
    "square": elementwise(lambda x: x * x), "exp2": elementwise(lambda x: 2.0**x),
    "reciprocal": elementwise(lambda x: 1.0 / x),
    "hypot": elementwise(lambda a, b: UFUNCS["sqrt"](a * a + b * b)),
    "remainder": elementwise(lambda a, b: a % b), "power": elementwise(lambda a, b: a**b),
    "float_power": elementwise(lambda a, b: a**b),
    "heaviside": elementwise(lambda x, half: where(x > 0, 1, where(x < 0, 0, half))),
    "deg2rad": elementwise(lambda x: x * (np.pi / 180)),
    "logical_and": elementwise(lambda a, b: a & b), "logical_or": elementwise(lambda a, b: a | b),
    "logical_not": elementwise(lambda a: ~a if isinstance(a, Condition) else not a),
    "add": elementwise(lambda a, b: a + b), "subtract": elementwise(lambda a, b: a - b),
    "multiply": elementwise(lambda a, b: a * b), "divide": elementwise(lambda a, b: a / b),
    "negative": elementwise(lambda a: -a), "positive": elementwise(lambda a: a),
    "floor_divide": elementwise(lambda a, b: a // b), "less": elementwise(lambda a, b: a < b),
    "less_equal": elementwise(lambda a, b: a <= b), "greater": elementwise(lambda a, b: a > b),
    "greater_equal": elementwise(lambda a, b: a >= b), "bitwise_and": elementwise(lambda a, b: a & b),
    "bitwise_or": elementwise(lambda a, b: a | b),
    "invert": elementwise(lambda a: ~a if isinstance(a, Condition) else not a),
    # Guards against numbers that no solution has.
    "isnan": elementwise(lambda x: not is_traced(x) and bool(np.isnan(x))),
    "isinf": elementwise(lambda x: not is_traced(x) and bool(np.isinf(x))),
    "isfinite": elementwise(lambda x: is_traced(x) or bool(np.isfinite(x))),
    "matmul": lambda a, b, **_: array(np.dot(np.array(a, dtype=object), np.array(b, dtype=object))),
}  # fmt: skip
"""Our versions of NumPy's functions of numbers, by name."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": where,
    "clip": _clipped,
    "select": _selected,
    "max": lambda x, axis=None, **_: _largest("maximum", x, axis),
    "amax": lambda x, axis=None, **_: _largest("maximum", x, axis),
    "min": lambda x, axis=None, **_: _largest("minimum", x, axis),
    "amin": lambda x, axis=None, **_: _largest("minimum", x, axis),
    "sinc": elementwise(lambda x: call("sinc", np.pi * x) if is_traced(x) else np.sinc(x)),
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
    if method in ("reduce", "accumulate", "outer") and ufunc.__name__ in ("add", "multiply", "subtract"):
        kept = {key: value for key, value in options.items() if key in ("axis", "keepdims")}
        return array(getattr(ufunc, method)(*(np.array(item, dtype=object) for item in inputs), **kept))
    if method == "reduce" and ufunc.__name__ in ("maximum", "minimum"):
        return _largest(ufunc.__name__, inputs[0], options.get("axis") or None)
    replaced = UFUNCS.get(ufunc.__name__)
    if method != "__call__" or replaced is None:
        raise Unsupported(f"np.{ufunc.__name__} has no counterpart in problem files")
    if "out" in options:
        options = {**options, "out": options["out"][0]}
    return replaced(*inputs, **options)

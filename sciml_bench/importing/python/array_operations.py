"""Operations that a library of arrays has recorded, with formulas as their operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from sciml_bench.importing.python.further_functions import sigmoid
from sciml_bench.importing.python.refusals import Unsupported
from sciml_bench.importing.python.traced import (
    UFUNCS,
    Condition,
    Traced,
    array,
    elementwise,
    is_traced,
    number_of,
    vector,
    where,
)


def _equal(a: Any, b: Any) -> Any:
    """Two conditions that hold together; a value is equal to itself, as it is a number, and to no infinity."""
    if isinstance(a, Condition) and isinstance(b, Condition):
        return (a & b) | (~a & ~b)
    if any(is_traced(x) and isinstance(y, (float, np.floating)) and np.isinf(y) for x, y in ((a, b), (b, a))):
        return False
    return True if a is b else a == b


def _different(a: Any, b: Any) -> Any:
    equal = _equal(a, b)
    return ~equal if isinstance(equal, Condition) else not equal


def _extreme(name: str, least: float) -> Callable[..., Any]:
    """The larger or smaller of two values; of no values at all it is infinite."""
    return elementwise(lambda a, b: b if _is(a, least) else a if _is(b, least) else UFUNCS[name](a, b))


def _is(value: Any, number: float) -> bool:
    return not is_traced(value) and value == number


ELEMENTWISE: dict[str, Callable[..., Any]] = {
    **{name: UFUNCS[name] for name in (
        "exp", "exp2", "log", "log2", "log10", "log1p", "expm1", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
        "sign", "floor", "ceil", "square", "reciprocal", "logical_and", "logical_or", "logical_not", "remainder",
        "isnan", "isinf", "isfinite",
    )},
    "maximum": _extreme("maximum", -np.inf), "minimum": _extreme("minimum", np.inf),
    "add": UFUNCS["add"], "sub": UFUNCS["subtract"], "mul": UFUNCS["multiply"], "div": UFUNCS["divide"],
    "neg": UFUNCS["negative"], "pow": UFUNCS["power"], "abs": UFUNCS["absolute"], "asin": UFUNCS["arcsin"],
    "acos": UFUNCS["arccos"], "atan": UFUNCS["arctan"], "sigmoid": sigmoid, "rsqrt": lambda x: 1 / UFUNCS["sqrt"](x),
    "lt": UFUNCS["less"], "le": UFUNCS["less_equal"], "gt": UFUNCS["greater"], "ge": UFUNCS["greater_equal"],
    "eq": elementwise(_equal), "ne": elementwise(_different), "where": where,
}  # fmt: skip
"""Functions of numbers, by the names that JAX and PyTorch share."""


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of an array; a number or a formula has none."""
    return tuple(getattr(value, "shape", ()))


def moved(run: Callable[..., Any], operands: Sequence[Any], fill: Any = 0) -> list[Any]:
    """The results of an operation that only moves entries: ``run`` moves numbers of the entries.

    ``run`` takes an array of whole numbers from 1 on for each operand, and returns a sequence of such arrays, which may
    have a 0 for ``fill``.

    Raises:
        Unsupported: an entry comes from outside the operands.
    """
    pool, numbers = [fill], list[Any]()
    for operand in operands:
        entries = np.array(operand, dtype=object)
        numbers.append(np.arange(len(pool), len(pool) + entries.size).reshape(entries.shape))
        pool += list(entries.ravel())
    entries = vector(pool)
    results = [np.asarray(found) for found in run(*numbers)]
    if any(found.size and not 0 <= found.min() <= found.max() < len(pool) for found in results):
        raise Unsupported("an index lies outside of its array")
    return [entries[found] for found in results]


def affine(run: Callable[..., Any], jacobian: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """The result of an operation that is affine in all ``operands`` together.

    ``jacobian(run)(*arrays)`` is the derivative by each operand, an array with the axes of the result and then of the
    operand.
    """
    zeros = [np.zeros(shape_of(operand)) for operand in operands]
    start = np.asarray(run(*zeros))
    total = [float(value) for value in start.ravel()]
    for matrix, operand in zip(jacobian(run)(*zeros), operands, strict=True):
        entries = np.array(operand, dtype=object).ravel()
        rows = np.asarray(matrix, dtype=float).reshape(len(total), len(entries))
        for i, j in zip(*np.nonzero(rows), strict=True):
            total[i] = total[i] + float(rows[i, j]) * entries[j]
    return vector(total).reshape(start.shape)[()]


def reduced(function: Callable[[Any, Any], Any], x: Any, axes: Sequence[int] | None = None, keep: bool = False) -> Any:
    """A function of two numbers over some axes of an array, or over all; ``keep`` leaves them with length 1."""
    values = np.array(x, dtype=object)
    over = sorted({axis % values.ndim for axis in axes}) if axes and values.ndim else list(range(values.ndim))
    rest = [axis for axis in range(values.ndim) if axis not in over]
    shape = [values.shape[axis] for axis in rest]
    rows = values.transpose(*rest, *over).reshape(int(np.prod(shape, dtype=int)), -1)
    if not rows.shape[1]:
        raise Unsupported("an array without entries has no largest, smallest, or sum")
    found = vector([reduce(function, row) for row in rows]).reshape(shape)
    return (np.expand_dims(found, tuple(over)).view(type(found)) if keep else found)[()]


def accumulated(function: Callable[[Any, Any], Any], x: Any, axis: int, backwards: bool = False) -> Any:
    """A function of two numbers over the entries up to each one along an axis."""
    values = np.moveaxis(np.array(x, dtype=object), axis, 0)
    rows = list(values[::-1] if backwards else values)
    for i in range(1, len(rows)):
        rows[i] = function(rows[i - 1], rows[i])
    return array(np.moveaxis(np.array(rows[::-1] if backwards else rows, dtype=object), 0, axis))


def contracted(a: Any, b: Any, over: tuple[Sequence[int], Sequence[int]], batch: tuple[Sequence[int], Sequence[int]]):
    """Sums of products over pairs of axes; the axes of ``batch`` run together, and come first."""
    left, right = (np.array(each, dtype=object) for each in (a, b))
    free = [
        [axis for axis in range(each.ndim) if axis not in (*sums, *together)]
        for each, sums, together in zip((left, right), over, batch, strict=True)
    ]
    shape = [left.shape[axis] for axis in (*batch[0], *free[0])] + [right.shape[axis] for axis in free[1]]
    count, length = (int(np.prod([left.shape[axis] for axis in axes], dtype=int)) for axes in (batch[0], over[0]))
    left = left.transpose(*batch[0], *free[0], *over[0]).reshape(count, -1, length)
    right = right.transpose(*batch[1], *over[1], *free[1]).reshape(count, length, -1)
    return vector(list(np.matmul(left, right).ravel())).reshape(shape)[()]


def largest(x: Any, axes: Sequence[int] | None = None, keep: bool = False) -> Any:
    """The largest entries over some axes, or over all."""
    return reduced(UFUNCS["maximum"], x, axes, keep)


def smallest(x: Any, axes: Sequence[int] | None = None, keep: bool = False) -> Any:
    """The smallest entries over some axes, or over all."""
    return reduced(UFUNCS["minimum"], x, axes, keep)


def number_type(value: Any, kind: str) -> Any:
    """A value as another type of numbers, whose ``kind`` is ``f``, ``i``, ``u`` or ``b`` as in NumPy.

    Raises:
        Unsupported: formulas become whole numbers.
    """
    if kind == "f":
        return elementwise(number_of)(value)
    if any(not _is_whole(each) for each in np.array(value, dtype=object).flat):
        raise Unsupported("a value becomes a whole number, which has no counterpart in problem files: write floor")
    return value


def _is_whole(value: Any) -> bool:
    """Return whether a formula is a condition, or chooses between whole numbers by conditions."""
    if isinstance(value, Traced):
        return value.op == "where" and all(map(_is_whole, value.args[1:]))
    return isinstance(value, Condition) or float(value).is_integer()


def untraced(value: Any) -> bool:
    """Return whether an array of objects holds numbers alone."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "O" and not is_traced(value)

"""Functions of libraries beside NumPy's of numbers, for formulas: tables, small matrices, scipy.special."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from sciml_bench.importing.python.refusals import Unsupported
from sciml_bench.importing.python.traced import UFUNCS, Traced, array, elementwise, is_traced, number, where

#: Larger matrices are solved with pivots, which depend on values.
_MOST_ROWS = 3


def interp(x: Any, places: Any, values: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """``np.interp``: straight lines between the points of a table, the first and last value outside."""
    if period is not None:
        raise Unsupported("np.interp with a period has no counterpart in problem files")
    if is_traced(places):
        raise Unsupported("the places of np.interp depend on a value: they must be numbers")
    at, rows = [float(number(place)) for place in np.ravel(places)], list(np.ravel(np.array(values, dtype=object)))
    if len(at) != len(rows) or any(not a < b for a, b in pairwise(at)):
        raise Unsupported("the places of np.interp must increase, with a value for each")

    def one(place: Any) -> Any:
        if not is_traced((place, *rows)):
            found: Any = float(np.interp(float(place), at, np.array(rows, dtype=float)))
        elif len(at) == 1:
            found = rows[0]
        else:
            found = Traced("interp", place, tuple(at), *(row if is_traced(row) else number(row) for row in rows))
        found = found if left is None else where(place < at[0], left, found)
        return found if right is None else where(place > at[-1], right, found)

    if not isinstance(x, (np.ndarray, list, tuple)):
        return one(x)
    return array([one(place) for place in np.ravel(np.array(x, dtype=object))]).reshape(np.shape(x))


def piecewise(x: Any, conditions: Any, functions: Any, *args: Any, **options: Any) -> Any:
    """``np.piecewise``: values, or functions of x, where conditions hold; a later one before an earlier one."""
    tests = list(conditions) if isinstance(conditions, (list, tuple)) else [conditions]
    if len(functions) not in (len(tests), len(tests) + 1):
        raise Unsupported("np.piecewise has a function for each condition, and perhaps one more")

    def value(function: Any) -> Any:
        return function(x, *args, **options) if callable(function) else function

    found = value(functions[-1]) if len(functions) > len(tests) else 0.0
    for test, function in zip(tests, functions, strict=False):
        found = where(test, value(function), found)
    return found


def searchsorted(places: Any, x: Any, side: str = "left", sorter: Any = None) -> Any:
    """``np.searchsorted``: the place of a value in a table, which follows from comparisons."""
    at = [float(number(place)) for place in np.ravel(places)]
    if sorter is not None or any(a > b for a, b in pairwise(at)):
        raise Unsupported("np.searchsorted and np.digitize need a table that increases")

    def one(value: Any) -> Any:
        found: Any = len(at)
        for k, place in reversed(list(enumerate(at))):
            found = where(value <= place if side == "left" else value < place, k, found)
        return found

    return elementwise(one)(x)


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """``np.digitize`` of a table that increases."""
    return searchsorted(bins, x, "left" if right else "right")


def gradient(values: Any, *steps: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """``np.gradient`` of a vector with one step: centred differences, and simple ones at the ends."""
    if np.ndim(values) != 1 or len(steps) > 1 or np.ndim(steps) > 1 or axis not in (None, 0) or edge_order != 1:
        raise Unsupported("np.gradient is read for a vector with one step")
    step, n = steps[0] if steps else 1.0, len(values)
    inside = [(values[i + 1] - values[i - 1]) / (2 * step) for i in range(1, n - 1)]
    return array([(values[1] - values[0]) / step, *inside, (values[-1] - values[-2]) / step])


def _square(matrix: Any) -> Any:
    rows = np.array(matrix, dtype=object)
    if rows.ndim != 2 or rows.shape[0] != rows.shape[1]:
        raise Unsupported("only square matrices, one at a time, are solved")
    if len(rows) > _MOST_ROWS and is_traced(matrix):
        raise Unsupported(f"matrices of more than {_MOST_ROWS} rows are solved by their values: write it out")
    return rows


def det(matrix: Any) -> Any:
    """``np.linalg.det`` of a small matrix, by its first row."""
    if not is_traced(matrix):
        return float(np.linalg.det(np.array(matrix, dtype=float)))
    return _determinant(_square(matrix))


def _determinant(rows: Any) -> Any:
    if len(rows) == 1:
        return rows[0, 0]
    return sum((-1) ** j * rows[0, j] * _determinant(_without(rows, 0, j)) for j in range(len(rows)))


def _without(rows: Any, i: int, j: int) -> Any:
    return np.delete(np.delete(rows, i, 0), j, 1)


def inv(matrix: Any) -> Any:
    """``np.linalg.inv`` of a small matrix, by its minors."""
    if not is_traced(matrix):
        return np.linalg.inv(np.array(matrix, dtype=float))
    rows = _square(matrix)
    whole, size = _determinant(rows), len(rows)
    if size == 1:
        return array([[1 / whole]])
    return array([
        [(-1) ** (i + j) * _determinant(_without(rows, j, i)) / whole for j in range(size)] for i in range(size)
    ])  # fmt: skip


def solve(matrix: Any, right: Any) -> Any:
    """``np.linalg.solve`` of a small matrix, or of one of numbers."""
    if not is_traced((matrix, right)):
        return np.linalg.solve(np.array(matrix, dtype=float), np.array(right, dtype=float))
    return array(np.dot(np.array(inv(matrix), dtype=object), np.array(right, dtype=object)))


def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """``np.linalg.norm`` of a vector: the root of the sum of squares."""
    if axis is not None or ord not in (None, 2):
        raise Unsupported("norms other than the root of the sum of squares have no counterpart in problem files")
    return UFUNCS["sqrt"](sum(value * value for value in np.ravel(np.array(x, dtype=object))))


LINALG: dict[str, Callable[..., Any]] = {"det": det, "inv": inv, "norm": norm, "solve": solve}


def _exp(x: Any) -> Any:
    return UFUNCS["exp"](x)


def sigmoid(x: Any) -> Any:
    """1/(1 + exp(-x))."""
    return 1 / (1 + _exp(-x))


def softplus(x: Any, beta: float = 1.0) -> Any:
    """log(1 + exp(x)), without overflow."""
    scaled = x * beta
    return (UFUNCS["maximum"](scaled, 0) + UFUNCS["log1p"](_exp(-UFUNCS["absolute"](scaled)))) / beta


def _softmax(x: Any, *_: Any, **__: Any) -> Any:
    if np.ndim(x) != 1:
        raise Unsupported("softmax is read for a single vector")
    powers = _exp(x)
    return powers / sum(np.ravel(np.array(powers, dtype=object)))


SPECIAL: dict[str, Callable[..., Any]] = {
    "expit": sigmoid, "log_expit": lambda x: -softplus(-x), "softplus": softplus, "softmax": _softmax,
}  # fmt: skip
"""Of scipy.special, by name."""

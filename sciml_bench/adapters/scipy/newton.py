"""Newton matrices for the state alone, and for the state with its forward sensitivities.

The forward sensitivity equations S' = G(t, y, S) = J S + f_p repeat the Jacobian J of y' = f in every column of S, so
the Newton matrix of the whole system is block lower triangular: J in every diagonal block, and below the first one
the coupling dG_j/dy, which holds second derivatives of f. Codes that are built for this (CVODES) leave the coupling
out and correct S after y; SciPy iterates on everything at once, and without the coupling its iteration fails on
problems such as Robertson's, with steps a hundred times smaller. The coupling is taken by differences of G, all
columns that share no row in one evaluation (Curtis, Powell and Reid, "On the estimation of sparse Jacobian
matrices", 1974): dG_j/dy has no entry where J has none. An inexact Newton matrix changes the speed, not the solution.

``solve_ivp`` has no public way to factorise J once and reuse it for all blocks; a sparse factorisation of the whole
matrix costs the same order of work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, issparse

from sciml_bench.task import Numbers

Vector = NDArray[np.float64]
Parameters = list[float]
Jacobian = Callable[[float, Vector], Any]

# From this many equations on, a sparse factorisation of the system with sensitivities beats a dense one.
SPARSE_FROM = 200
# LSODA takes no sparse matrix. Up to here it is given the whole matrix, dense; beyond, the block diagonal as a band,
# several times as fast, but its steps can fail where sensitivities dominate (pollution, 520 equations, rtol 1e-4).
LSODA_DENSE_UP_TO = 600
DIFFERENCE = float(np.sqrt(np.finfo(float).eps))


class Structure(NamedTuple):
    """Where the Jacobian can be non-zero: ``rows`` and ``columns`` of its entries, by column, and its groups.

    ``group[k]`` is the group of column k; columns of one group share no row. ``lower`` and ``upper`` are how many
    diagonals below and above the main one are used.
    """

    n: int
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    group: NDArray[np.intp]
    n_groups: int
    lower: int
    upper: int


def structure(source: ModuleType, numbers: Numbers) -> Structure:
    """The structure of the emitted Jacobian, found by evaluating it."""
    n = len(numbers.y0)
    places = np.unique(np.concatenate(list(_places(source, numbers))))
    columns, rows = places // n, places % n
    group, n_groups = _groups(rows, columns, n)
    below = rows - columns
    lower, upper = int(np.max(below, initial=0)), int(np.max(-below, initial=0))
    return Structure(n, rows, columns, group, n_groups, lower, upper)


def _places(source: ModuleType, numbers: Numbers) -> Iterator[NDArray[np.intp]]:
    """Places (column * n + row) of entries that are not zero, at the start, the breakpoints and the end.

    A sparse Jacobian stores what can be non-zero. In a dense one, every entry that depends on y or p is NaN where
    these are; the others are constants. A branch of a ``where`` that NaN hides is looked for around the initial state.
    """
    random = np.random.default_rng(0)
    n, y, p = len(numbers.y0), np.asarray(numbers.y0), list(numbers.p)
    near = [y * random.uniform(0.5, 2.0, n) + random.uniform(0.0, 1.0, n) for _ in range(2)]
    probes = [(np.full(n, np.nan), [np.nan] * len(p)), (y, p), *((state, p) for state in near)]
    with np.errstate(all="ignore"):
        for t in (numbers.t0, *numbers.breakpoints, numbers.t1):
            for state, parameters in probes:
                matrix = source.jacobian(t, state, parameters)
                if issparse(matrix):
                    rows, columns = matrix.tocoo().coords
                else:
                    rows, columns = np.nonzero(np.asarray(matrix))
                yield columns * n + rows


def state_options(method: str, source: ModuleType, shape: Structure) -> Callable[[Parameters, Vector], dict[str, Any]]:
    """What ``solve_ivp`` is given for its Newton iteration on y, as a function of the parameters."""
    jacobian = source.jacobian
    if method != "lsoda":
        return lambda p, _atol: {"jac": lambda t, y: jacobian(t, y, p)}
    # A band pays while its storage is smaller than the full matrix.
    if 2 * shape.lower + shape.upper + 1 < shape.n:
        return lambda p, _atol: _banded(lambda t, y: jacobian(t, y, p), shape, 1)
    return lambda p, _atol: {"jac": lambda t, y: _dense(jacobian(t, y, p))}


def sensitivity_options(
    method: str, source: ModuleType, shape: Structure, n_theta: int, wrt: str
) -> Callable[[Parameters, Vector], dict[str, Any]]:
    """The same for y with its sensitivities, as a function of the parameters and the absolute tolerance of y."""
    jacobian, size = source.jacobian, shape.n * (1 + n_theta)

    def bind(p: Parameters, atol: Vector) -> dict[str, Any]:
        if method == "lsoda" and size > LSODA_DENSE_UP_TO:
            return _banded(lambda t, y: jacobian(t, y, p), shape, 1 + n_theta)
        matrix = _Coupled(source, shape, n_theta, wrt, p, atol)
        return {"jac": matrix.dense if method == "lsoda" or size < SPARSE_FROM else matrix.sparse}

    return bind


class _Coupled:
    """The Newton matrix of the whole system: J in the diagonal blocks, dG_j/dy below the first one."""

    def __init__(self, source: ModuleType, shape: Structure, n_theta: int, wrt: str, p: Parameters, atol: Vector):
        self._source, self._shape, self._p, self._atol = source, shape, p, atol
        self._blocks = 1 + n_theta
        self._parameters = wrt == "parameters"
        n, size = shape.n, self._blocks * shape.n
        offsets = n * np.arange(self._blocks)
        # Entries in order of column: first those of block column 0 (every block row), then the diagonal blocks.
        first_rows = (shape.rows[:, None] + offsets).ravel()
        first_columns = np.repeat(shape.columns, self._blocks)
        rows = np.concatenate([first_rows, (shape.rows + offsets[1:, None]).ravel()])
        columns = np.concatenate([first_columns, (shape.columns + offsets[1:, None]).ravel()])
        self._order = np.lexsort((rows, columns))
        self._indices = rows[self._order].astype(np.int32)
        counts = np.bincount(columns, minlength=size)
        self._starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        self._places = rows * size + columns
        self._size = size

    def sparse(self, t: float, z: Vector) -> Any:
        entries = self._entries(t, z)[self._order]
        return csc_matrix((entries, self._indices, self._starts), shape=(self._size, self._size))

    def dense(self, t: float, z: Vector) -> Vector:
        out = np.zeros(self._size * self._size)
        out[self._places] = self._entries(t, z)
        return out.reshape(self._size, self._size)

    def _entries(self, t: float, z: Vector) -> Vector:
        shape = self._shape
        state = z.reshape(self._blocks, shape.n)
        y, sensitivities = state[0], state[1:].T
        jacobian = self._source.jacobian(t, y, self._p)
        block = np.asarray(jacobian[shape.rows, shape.columns]).ravel()
        first = np.empty((len(shape.rows), self._blocks))
        first[:, 0] = block
        first[:, 1:] = self._coupling(t, y, sensitivities, jacobian)
        return np.concatenate([first.ravel(), np.tile(block, self._blocks - 1)])

    def _coupling(self, t: float, y: Vector, sensitivities: Vector, jacobian: Any) -> Vector:
        """Entries of dG_j/dy at the places of J, shape (entries, n_theta)."""
        shape = self._shape
        increment = DIFFERENCE * np.maximum(np.abs(y), self._atol)
        here = self._right_hand_side(t, y, sensitivities, jacobian)
        there = np.empty((shape.n_groups, *here.shape))
        for group in range(shape.n_groups):
            moved = np.where(shape.group == group, y + increment, y)
            there[group] = self._right_hand_side(t, moved, sensitivities, self._source.jacobian(t, moved, self._p))
        change = there[shape.group[shape.columns], shape.rows] - here[shape.rows]
        return change / ((y + increment) - y)[shape.columns, None]

    def _right_hand_side(self, t: float, y: Vector, sensitivities: Vector, jacobian: Any) -> Vector:
        product = jacobian @ sensitivities
        return product + self._source.parameter_jacobian(t, y, self._p) if self._parameters else product


def _banded(jacobian: Jacobian, shape: Structure, blocks: int) -> dict[str, Any]:
    """Equal diagonal blocks as LSODA takes a band: entry (i, j) stands in row ``upper + i - j`` of column j."""
    rows, columns = shape.rows, shape.columns
    places = shape.upper + rows - columns

    def matrix(t: float, z: Vector) -> Vector:
        block = jacobian(t, z[: shape.n])
        band = np.zeros((shape.lower + shape.upper + 1, shape.n))
        band[places, columns] = np.asarray(block[rows, columns]).ravel()
        return np.tile(band, (1, blocks))

    return {"jac": matrix, "lband": shape.lower, "uband": shape.upper}


def _groups(rows: NDArray[np.intp], columns: NDArray[np.intp], n: int) -> tuple[NDArray[np.intp], int]:
    """A group for each column, greedily, so that columns of one group share no row; and the number of groups."""
    group = np.zeros(n, dtype=np.intp)
    taken: list[NDArray[np.bool_]] = []
    starts = np.searchsorted(columns, np.arange(n + 1))
    for column in range(n):
        used = rows[starts[column] : starts[column + 1]]
        free = (index for index, others in enumerate(taken) if not np.any(others[used]))
        index = next(free, len(taken))
        if index == len(taken):
            taken.append(np.zeros(n, dtype=bool))
        taken[index][used] = True
        group[column] = index
    return group, len(taken)


def _dense(matrix: Any) -> NDArray[Any]:
    return matrix.toarray() if issparse(matrix) else np.asarray(matrix)

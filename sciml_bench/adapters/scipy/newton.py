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
from scipy.sparse import csc_matrix, eye_array, issparse
from scipy.sparse.linalg import splu

from sciml_bench.task import Numbers

Vector = NDArray[np.float64]
Parameters = list[float] | Vector
Jacobian = Callable[[float, Vector], Any]

# From this many equations on, a sparse factorisation of the system with sensitivities beats a dense one.
SPARSE_FROM = 200
# With many states (discretised fields) BDF does as well without the coupling, and its factors are half as large; so
# does Radau where they are large anyway. Measured on the catalog's pde suite; kinetics have fewer states.
MANY_STATES = 64
LARGE_FACTORS = 20_000
LSODA = ("lsoda", "odeint")
"""Both ways to ODEPACK's LSODA: by ``solve_ivp``, and by ``odeint``."""

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


def structure(
    source: ModuleType, numbers: Numbers, of: Callable[[Vector], Parameters] = np.ndarray.tolist
) -> Structure:
    """The structure of the emitted Jacobian, found by evaluating it; ``of`` makes the parameters that it takes."""
    n = len(numbers.y0)
    places = np.unique(np.concatenate(list(_places(source, numbers, of))))
    columns, rows = places // n, places % n
    group, n_groups = _groups(rows, columns, n)
    below = rows - columns
    lower, upper = int(np.max(below, initial=0)), int(np.max(-below, initial=0))
    return Structure(n, rows, columns, group, n_groups, lower, upper)


def _places(source: ModuleType, numbers: Numbers, of: Callable[[Vector], Parameters]) -> Iterator[NDArray[np.intp]]:
    """Places (column * n + row) of entries that are not zero, at the start, the breakpoints and the end.

    A sparse Jacobian stores what can be non-zero. A dense one is looked at in the initial state and at random states
    and parameters of its size, where an entry that depends on them does not vanish by chance. An entry that lives
    only in a branch of a ``where`` that none of them takes is missed, and slows Newton's iteration down there.
    """
    random = np.random.default_rng(0)
    n, y, p = len(numbers.y0), np.asarray(numbers.y0), np.asarray(numbers.p)
    size_of_p = np.where(p == 0, 1.0, p)
    probes = [(y, p)]
    for _ in range(3):
        state = y * random.uniform(0.5, 2.0, n) + random.uniform(0.0, 1.0, n)
        probes.append((state, size_of_p * random.uniform(0.9, 1.1, len(p))))
    with np.errstate(all="ignore"):
        for t in (numbers.t0, *numbers.breakpoints, numbers.t1):
            for state, parameters in probes:
                matrix = source.jacobian(t, state, of(parameters))
                if issparse(matrix):
                    rows, columns = matrix.tocoo().coords
                else:
                    rows, columns = np.nonzero(np.asarray(matrix))
                yield columns * n + rows


def state_options(method: str, source: ModuleType, shape: Structure) -> Callable[[Parameters, Vector], dict[str, Any]]:
    """What ``solve_ivp`` is given for its Newton iteration on y, as a function of the parameters."""
    jacobian = source.jacobian
    if method not in LSODA:
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
    if method in LSODA and size > LSODA_DENSE_UP_TO:
        return lambda p, _atol: _banded(lambda t, y: jacobian(t, y, p), shape, 1 + n_theta)
    if size >= SPARSE_FROM and shape.n >= MANY_STATES:
        if method == "bdf" or _entries_of_factors(shape) * (1 + n_theta) > LARGE_FACTORS:
            return lambda p, _atol: {"jac": _block_diagonal(lambda t, y: jacobian(t, y, p), shape, 1 + n_theta)}
    forcing = source.parameter_jacobian if wrt == "parameters" else None
    coupled = Coupled(jacobian, forcing, shape, n_theta, sparse=method not in LSODA and size >= SPARSE_FROM)
    return lambda p, atol: {"jac": coupled.matrix(p, atol)}


class Coupled:
    """The Newton matrix of the whole system: J in the diagonal blocks, dG_j/dy below the first one.

    ``forcing`` is f_p, ``None`` for gradients with respect to the initial state. The matrix is dense, or in SciPy's
    compressed columns.
    """

    def __init__(
        self, jacobian: Callable[..., Any], forcing: Callable[..., Any] | None, shape: Structure, n_theta: int,
        sparse: bool,
    ):  # fmt: skip
        self._jacobian, self._forcing, self._shape, self._n_theta = jacobian, forcing, shape, n_theta
        n, self._size = shape.n, shape.n * (1 + n_theta)
        offsets = n * np.arange(1 + n_theta)[:, None]
        below_rows, below_columns = shape.rows + offsets[1:], np.broadcast_to(shape.columns, (n_theta, len(shape.rows)))
        rows, columns = shape.rows + offsets, shape.columns + offsets
        self._columns: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None
        # Where the entries of the diagonal blocks and of the coupling go, in the flat matrix or among the stored ones.
        self._diagonal, self._below = rows * self._size + columns, below_rows * self._size + below_columns
        if sparse:
            all_rows = np.concatenate([rows.ravel(), below_rows.ravel()])
            all_columns = np.concatenate([columns.ravel(), below_columns.ravel()])
            order = np.lexsort((all_rows, all_columns))
            places = np.argsort(order)
            self._diagonal, self._below = places[: rows.size].reshape(rows.shape), places[rows.size :]
            self._below = self._below.reshape(below_rows.shape)
            starts = np.searchsorted(all_columns[order], np.arange(self._size + 1))
            self._columns = (all_rows[order].astype(np.int32), starts.astype(np.int32))
        self._masks = np.arange(shape.n_groups)[:, None] == shape.group
        self._moved_rows = shape.group[shape.columns] * n + shape.rows

    def matrix(self, p: Parameters, atol: Vector) -> Jacobian:
        """The matrix as a function of t and the flat Z. ``atol`` is the size below which a state counts as zero."""
        stored = self._size**2 if self._columns is None else len(self._columns[0])
        shape = (self._size, self._size)

        def evaluate(t: float, z: Vector) -> Any:
            entries = np.zeros(stored)
            block, coupling = self._entries(t, z, p, atol)
            entries[self._diagonal] = block
            entries[self._below] = coupling
            if self._columns is None:
                return entries.reshape(shape)
            return csc_matrix((entries, *self._columns), shape=shape)

        return evaluate

    def _entries(self, t: float, z: Vector, p: Parameters, atol: Vector) -> tuple[Vector, Vector]:
        """Entries of J, and of every dG_j/dy at the places of J: (entries,) and (n_theta, entries)."""
        shape, n = self._shape, self._shape.n
        y, sensitivities = z[:n], z[n:].reshape(self._n_theta, n).T
        jacobian = self._jacobian(t, y, p)
        step = (y + DIFFERENCE * np.maximum(np.abs(y), atol)) - y
        moved = np.empty((shape.n_groups, n, self._n_theta))
        for group, state in enumerate(y + self._masks * step):
            moved[group] = self._derivative(t, state, sensitivities, p, self._jacobian(t, state, p))
        change = moved.reshape(-1, self._n_theta).take(self._moved_rows, axis=0)
        change -= self._derivative(t, y, sensitivities, p, jacobian).take(shape.rows, axis=0)
        change /= step[shape.columns, None]
        return np.asarray(jacobian[shape.rows, shape.columns]).ravel(), change.T

    def _derivative(self, t: float, y: Vector, sensitivities: Vector, p: Parameters, jacobian: Any) -> Vector:
        """S', one column a theta."""
        product = jacobian.dot(sensitivities)
        if self._forcing is not None:
            product += self._forcing(t, y, p)
        return product


def _block_diagonal(jacobian: Jacobian, shape: Structure, blocks: int) -> Jacobian:
    """Equal diagonal blocks in SciPy's compressed columns."""
    n, size = shape.n, shape.n * blocks
    offsets = n * np.arange(blocks)[:, None]
    indices = (shape.rows + offsets).ravel().astype(np.int32)
    starts = np.searchsorted((shape.columns + offsets).ravel(), np.arange(size + 1)).astype(np.int32)

    def matrix(t: float, z: Vector) -> Any:
        block = jacobian(t, z[:n])
        entries = np.asarray(block[shape.rows, shape.columns]).ravel()
        return csc_matrix((np.tile(entries, blocks), indices, starts), shape=(size, size))

    return matrix


def _entries_of_factors(shape: Structure) -> int:
    """How many entries the sparse triangular factors of one block have."""
    random = np.random.default_rng(0)
    pattern = csc_matrix((random.uniform(size=len(shape.rows)), (shape.rows, shape.columns)), shape=(shape.n, shape.n))
    return int(splu(csc_matrix(shape.n * eye_array(shape.n) - pattern)).nnz)


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

"""Storage of the entries of a Newton matrix, for the state with its sensitivities: dense, sparse, or as a band."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from sciml_bench.adapters.program import Vector
from sciml_bench.adapters.scipy.structure import Band, Structure

Indices = NDArray[np.int64]


class Layout(NamedTuple):
    """``diagonal[b, q]`` is the place of the Jacobian's entry q in block b among the ``stored`` numbers, and
    ``below[j, q]`` the place of the coupling of sensitivity j; ``matrix`` turns these numbers into SciPy's form.

    ``order`` is the solver's order of the equations, if it differs from ours; ``lower`` and ``upper`` are the
    diagonals of a band.
    """

    stored: int
    matrix: Callable[[Vector], Any]
    diagonal: Indices
    below: Indices
    order: Indices | None = None
    lower: int | None = None
    upper: int | None = None

    def taking(self, entry: Indices) -> Layout:
        """Replace the places if number q is a part of ``entry[q]``."""
        diagonal, below = (np.ascontiguousarray(places[:, entry]) for places in (self.diagonal, self.below))
        return self._replace(diagonal=diagonal, below=below)


def dense(shape: Structure, n_columns: int) -> Layout:
    """Row by row."""
    size = shape.n * (1 + n_columns)
    rows, columns, below_rows = _rows_and_columns(shape, n_columns)
    places = rows * size + columns, below_rows * size + shape.columns
    return Layout(size * size, lambda numbers: numbers.reshape(size, size), *places)


def sparse(shape: Structure, n_columns: int) -> Layout:
    """SciPy's compressed columns."""
    size = shape.n * (1 + n_columns)
    rows, columns, below_rows = _rows_and_columns(shape, n_columns)
    below_columns = np.broadcast_to(shape.columns, below_rows.shape)
    all_rows = np.concatenate([rows.ravel(), below_rows.ravel()])
    all_columns = np.concatenate([columns.ravel(), below_columns.ravel()])
    order = np.lexsort((all_rows, all_columns))
    places = np.argsort(order).astype(np.int64)
    starts = np.searchsorted(all_columns[order], np.arange(size + 1)).astype(np.int32)
    indices = all_rows[order].astype(np.int32)
    return Layout(
        len(indices), lambda numbers: csc_matrix((numbers, indices, starts), shape=(size, size)),
        places[: rows.size].reshape(rows.shape), places[rows.size :].reshape(below_rows.shape),
    )  # fmt: skip


def banded(shape: Structure, n_columns: int, band: Band) -> Layout:
    """As LSODA takes a band: entry (i, k) in row ``upper + i - k`` of column k, each state before its sensitivities."""
    blocks = 1 + n_columns
    block = np.arange(blocks)[:, None]
    rows, columns = band.place[shape.rows] * blocks, band.place[shape.columns] * blocks
    upper = band.width * blocks
    lower, size = upper + n_columns, shape.n * blocks
    # Our equation block * n + i comes at place[i] * blocks + block.
    order = (block.T * shape.n + band.order[:, None]).ravel()
    diagonal = (upper + rows - columns) * size + columns + block
    below = (upper + rows - columns + block[1:]) * size + columns
    return Layout(*_stored(lower, upper, size), diagonal, below, order, lower, upper)


def banded_blocks(shape: Structure, n_columns: int, band: Band) -> Layout:
    """The diagonal blocks alone as LSODA takes a band, one after the other; without the coupling."""
    block = np.arange(1 + n_columns)[:, None]
    rows, columns = band.place[shape.rows], band.place[shape.columns] + block * shape.n
    size, width = shape.n * (1 + n_columns), band.width
    order = (block * shape.n + band.order).ravel()
    diagonal = (width + rows + block * shape.n - columns) * size + columns
    return Layout(*_stored(width, width, size), diagonal, diagonal[:0], order, width, width)


def _stored(lower: int, upper: int, size: int) -> tuple[int, Callable[[Vector], Any]]:
    height = lower + upper + 1
    return height * size, lambda numbers: numbers.reshape(height, size)


def _rows_and_columns(shape: Structure, n_columns: int) -> tuple[Indices, Indices, Indices]:
    """Rows and columns of the diagonal blocks, and the rows of the coupling."""
    offsets = shape.n * np.arange(1 + n_columns)[:, None]
    rows, columns = shape.rows + offsets, shape.columns + offsets
    return rows.astype(np.int64), columns.astype(np.int64), rows[1:].astype(np.int64)

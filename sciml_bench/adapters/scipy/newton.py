"""Newton matrices for the state alone, and for the state with its forward sensitivities.

The forward sensitivity equations S' = G(t, y, S) = J S + f_p repeat the Jacobian J of y' = f in every column of S, so
the Newton matrix of the whole system is block lower triangular: J in every diagonal block, and below the first one
the coupling dG_j/dy, which holds second derivatives of f. Codes that are built for this (CVODES) leave the coupling
out and correct S after y; SciPy iterates on everything at once, and without the coupling its iteration fails on
problems such as Robertson's, with steps a hundred times smaller. For systems of numbers it is written out; for vectors
and fields it is taken by differences of G, all columns that share no row in one evaluation (Curtis, Powell and Reid,
"On the estimation of sparse Jacobian matrices", 1974): dG_j/dy has no entry where J has none. An inexact Newton
matrix changes the speed, not the solution.

``solve_ivp`` has no public way to factorise J once and reuse it for all blocks; a sparse factorisation of the whole
matrix costs the same order of work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciml_bench.adapters.scipy.layout import Indices, Layout, Vector
from sciml_bench.adapters.scipy.structure import Parameters, Structure, groups

Fill = Callable[[float, Vector, Vector], None]
"""Writes a matrix at t and the flat Z into its numbers, which were zero or a matrix of the same place."""

DIFFERENCE = float(np.sqrt(np.finfo(float).eps))


def written_out(derivatives: Callable[..., Any], layout: Layout, p: Parameters, n: int, columns: slice) -> Fill:
    """With the coupling from the model's second derivatives; for the sensitivities to these components of theta."""
    n_columns = columns.stop - columns.start
    diagonal, below = layout.diagonal, layout.below

    def fill(t: float, z: Vector, numbers: Vector) -> None:
        jacobian, by_state, by_theta = derivatives(t, z[:n], p)
        numbers[diagonal] = jacobian
        coupling = z[n:].reshape(n_columns, n) @ by_state.T
        if by_theta is not None:
            coupling += by_theta[:, columns].T
        numbers[below] = coupling

    return fill


def compiled(kernel: Callable[..., Any], layout: Layout, p: Parameters, first: int) -> Fill:
    """By a compiled function that writes both; sensitivities begin with theta's component ``first``."""
    diagonal, below = layout.diagonal, layout.below
    return lambda t, z, numbers: kernel(t, z, numbers, p, first, diagonal, below)


def point_by_point(
    jacobian: Callable[..., Any], coupling: Callable[..., Any] | None, layout: Layout, p: Parameters, first: int,
    points: Indices,
) -> Fill:  # fmt: skip
    """By the compiled functions of a grid, whose numbers the layout takes; ``coupling`` is ``None`` to leave it out."""
    diagonal, below = layout.diagonal, layout.below

    def fill(t: float, z: Vector, numbers: Vector) -> None:
        jacobian(t, z, numbers, p, points, diagonal)
        if coupling is not None:
            coupling(t, z, numbers, p, first, points, below)

    return fill


def uncoupled(jacobian: Callable[..., Any], layout: Layout, p: Parameters, shape: Structure) -> Fill:
    """The diagonal blocks alone; of the state alone they are the whole matrix."""
    n, rows, columns, diagonal = shape.n, shape.rows, shape.columns, layout.diagonal

    def fill(t: float, z: Vector, numbers: Vector) -> None:
        numbers[diagonal] = _entries(jacobian(t, z[:n], p), rows, columns)

    return fill


class Differences:
    """With the coupling by differences of G. ``forcing`` is f_p, ``None`` for gradients with respect to the initial
    state; both functions give matrices."""

    def __init__(
        self, jacobian: Callable[..., Any], forcing: Callable[..., Any] | None, layout: Layout, shape: Structure,
        columns: slice,
    ):  # fmt: skip
        self._jacobian, self._forcing, self._layout, self._shape = jacobian, forcing, layout, shape
        self._columns, self._n_columns = columns, columns.stop - columns.start
        group, n_groups = groups(shape)
        self._masks = np.arange(n_groups)[:, None] == group
        self._moved_rows = group[shape.columns] * shape.n + shape.rows

    def fill(self, p: Parameters, atol: Vector) -> Fill:
        """``atol`` is the size below which a state counts as zero."""
        diagonal, below = self._layout.diagonal, self._layout.below

        def fill(t: float, z: Vector, numbers: Vector) -> None:
            numbers[diagonal], numbers[below] = self._entries(t, z, p, atol)

        return fill

    def _entries(self, t: float, z: Vector, p: Parameters, atol: Vector) -> tuple[Vector, Vector]:
        """Entries of J, and of every dG_j/dy at the places of J: (entries,) and (n_columns, entries)."""
        shape, n = self._shape, self._shape.n
        y, sensitivities = z[:n], z[n:].reshape(self._n_columns, n).T
        jacobian = self._jacobian(t, y, p)
        step = (y + DIFFERENCE * np.maximum(np.abs(y), atol)) - y
        moved = np.empty((len(self._masks), n, self._n_columns))
        for group, state in enumerate(y + self._masks * step):
            moved[group] = self._derivative(t, state, sensitivities, p, self._jacobian(t, state, p))
        change = moved.reshape(-1, self._n_columns).take(self._moved_rows, axis=0)
        change -= self._derivative(t, y, sensitivities, p, jacobian).take(shape.rows, axis=0)
        change /= step[shape.columns, None]
        return _entries(jacobian, shape.rows, shape.columns), change.T

    def _derivative(self, t: float, y: Vector, sensitivities: Vector, p: Parameters, jacobian: Any) -> Vector:
        """S', one column a theta."""
        product = jacobian.dot(sensitivities)
        if self._forcing is not None:
            product += self._forcing(t, y, p)[:, self._columns]
        return product


def _entries(matrix: Any, rows: NDArray[Any], columns: NDArray[Any]) -> Vector:
    return np.asarray(matrix[rows, columns]).ravel()

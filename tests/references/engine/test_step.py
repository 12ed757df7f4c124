"""The three ways to solve with a step's matrix agree."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse import identity, kron

from sciml_bench.references.engine import newton_matrix
from sciml_bench.references.engine.dynamics import Segment
from sciml_bench.references.engine.newton_matrix import factorise
from sciml_bench.references.engine.step import StepFailure
from sciml_bench.references.engine.tableau import radau

H = 0.02


def grid(points: int) -> tuple[Segment, NDArray[np.float64], int]:
    """A Laplacian on a square grid with a reaction that differs from stage to stage."""
    line = np.diag(np.ones(points - 1), -1) - 2 * np.eye(points) + np.diag(np.ones(points - 1), 1)
    laplacian = scipy.sparse.coo_matrix(30 * (kron(line, identity(points)) + kron(identity(points), line)))
    entries = np.repeat(np.asarray(laplacian.data, dtype=np.float64)[:, None], 7, axis=1)
    entries[laplacian.row == laplacian.col] += np.linspace(-4, 4, 7)
    segment = Segment(None, None, None, None, laplacian.row.astype(np.intp), laplacian.col.astype(np.intp))  # pyright: ignore[reportArgumentType]
    return segment, entries, points**2


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("dense", "work", "kind"), [(0, 1e12, "_Sparse"), (0, 0.0, "_Krylov")])
def test_all_ways_agree(monkeypatch: pytest.MonkeyPatch, dense: int, work: float, kind: str, transposed: bool):
    segment, entries, n = grid(6)
    tableau = radau(7, 128)
    b = np.sin(np.arange(7.0 * n))
    expected = factorise(tableau, H, entries, segment, n).solve(b, transposed)
    monkeypatch.setattr(newton_matrix, "DENSE_UNKNOWNS", dense)
    monkeypatch.setattr(newton_matrix, "_SPARSE_WORK", work)
    matrix = factorise(tableau, H, entries, segment, n)
    assert type(matrix).__name__ == kind
    assert np.allclose(matrix.solve(b, transposed), expected, rtol=0, atol=1e-8)
    both = matrix.solve_many(np.stack([b, 1 - b], axis=1))
    assert np.allclose(both[:, 0], matrix.solve(b), rtol=0, atol=1e-8)
    assert np.allclose(both[:, 1], matrix.solve(1 - b), rtol=0, atol=1e-8)


@pytest.mark.parametrize("transposed", [False, True])
def test_a_large_full_jacobian_is_taken_apart(monkeypatch: pytest.MonkeyPatch, transposed: bool):
    n, tableau = 12, radau(7, 128)
    rows, columns = (index.ravel() for index in np.indices((n, n)))
    entries = 40 * np.cos(np.arange(n * n, dtype=np.float64))[:, None] + np.linspace(-3, 3, 7)
    segment = Segment(None, None, None, None, rows, columns)  # pyright: ignore[reportArgumentType]
    b = np.sin(np.arange(7.0 * n))
    expected = factorise(tableau, H, entries, segment, n).solve(b, transposed)
    monkeypatch.setattr(newton_matrix, "FULL_UNKNOWNS", 0)
    monkeypatch.setattr(newton_matrix, "_SPARSE_WORK", 0.0)
    matrix = factorise(tableau, H, entries, segment, n)
    assert type(matrix).__name__ == "_Krylov"
    assert np.allclose(matrix.solve(b, transposed), expected, rtol=0, atol=1e-8)


def test_a_jacobian_that_is_not_finite_is_refused():
    segment, entries, n = grid(3)
    entries[2, 1] = np.inf
    with pytest.raises(StepFailure, match="not finite"):
        factorise(radau(7, 128), H, entries, segment, n)


def test_a_singular_matrix_is_refused():
    segment = Segment(None, None, None, None, np.array([0]), np.array([0]))  # pyright: ignore[reportArgumentType]
    with pytest.raises(StepFailure, match="singular"):
        factorise(radau(1, 128), 1.0, np.array([[1.0]]), segment, 1)

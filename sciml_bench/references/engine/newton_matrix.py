"""Linear algebra of one collocation step: I − h A ⊗ J in double precision, with the Jacobian at every stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import LinearOperator, SuperLU, gmres, splu

from sciml_bench.references.engine.dynamics import ComplexArray, FloatArray, Segment
from sciml_bench.references.engine.tableau import Tableau
from sciml_bench.references.failures import StepFailure

#: Systems up to this size are factorised as dense matrices.
DENSE_UNKNOWNS = 1000

#: The same where the Jacobian itself is full, and its blocks are as well.
FULL_UNKNOWNS = 500

_DENSE_SHARE = 0.5

#: Multiplications that a sparse factorisation may take, by the bandwidth of the Jacobian.
_SPARSE_WORK = 2e7

_KRYLOV_TOLERANCE = 1e-10

_KRYLOV_SPACE = 40

_getrf, _getrs = get_lapack_funcs(("getrf", "getrs"), dtype=np.float64)


class NewtonMatrix(Protocol):
    """A matrix ready to solve with."""

    def solve(self, b: FloatArray, transposed: bool = False) -> FloatArray:
        """The solution for a right-hand side of shape (s · n,), with the matrix or its transpose."""
        ...

    def solve_many(self, b: FloatArray) -> FloatArray:
        """The solutions for right-hand sides side by side, shape (s · n, any)."""
        ...


def factorise(tableau: Tableau, h: float, entries: FloatArray, segment: Segment, n: int) -> NewtonMatrix:
    """Factorise I − h A ⊗ J.

    Args:
        tableau: the method.
        h: length of the step.
        entries: the Jacobian's entries at each stage, shape (entries, s).
        segment: their rows and columns.
        n: number of states.

    Raises:
        StepFailure: the matrix is singular or not finite.
    """
    if not np.all(np.isfinite(entries)):
        raise StepFailure("the Jacobian is not finite")
    full = len(segment.rows) > _DENSE_SHARE * n * n
    if tableau.stages * n <= (DENSE_UNKNOWNS if not full else FULL_UNKNOWNS):
        return _Dense(tableau, h, entries, segment, n)
    band = n if full else bandwidth(segment.rows, segment.columns, n)
    if tableau.stages * n * (tableau.stages * band) ** 2 <= _SPARSE_WORK:
        return _Sparse(tableau, h, entries, segment, n)
    return _Krylov(tableau, h, entries, segment, n)


def bandwidth(rows: NDArray[np.intp], columns: NDArray[np.intp], n: int) -> int:
    """Half the bandwidth of a Jacobian with these entries when its unknowns are ordered well."""
    pattern = scipy.sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    place = np.empty(n, dtype=np.intp)
    place[reverse_cuthill_mckee(scipy.sparse.csr_matrix(pattern + pattern.T), symmetric_mode=True)] = np.arange(n)
    return int(np.max(np.abs(place[rows] - place[columns]), initial=0)) + 1


class _Dense:
    def __init__(self, tableau: Tableau, h: float, entries: FloatArray, segment: Segment, n: int):
        s = tableau.stages
        jacobians = np.zeros((s, n, n))
        jacobians[:, segment.rows, segment.columns] = entries.T
        blocks = -h * tableau.a_d[:, None, :, None] * jacobians.transpose(1, 0, 2)[None]
        matrix = np.asfortranarray(blocks.reshape(s * n, s * n))
        matrix[np.diag_indices(s * n)] += 1.0
        self._factors, self._pivots, info = _getrf(matrix, overwrite_a=True)
        if info != 0:
            raise StepFailure("the Newton matrix is singular")

    def solve(self, b: FloatArray, transposed: bool = False) -> FloatArray:
        return _getrs(self._factors, self._pivots, b, trans=int(transposed))[0]

    def solve_many(self, b: FloatArray) -> FloatArray:
        return _getrs(self._factors, self._pivots, b)[0]


class _Sparse:
    def __init__(self, tableau: Tableau, h: float, entries: FloatArray, segment: Segment, n: int):
        s = tableau.stages
        self._shape = (s, n)
        # Component by component inside, so that the bandwidth is the Jacobian's times the stages.
        i, j = np.meshgrid(np.arange(s), np.arange(s), indexing="ij")
        rows = segment.rows[:, None, None] * s + i
        columns = segment.columns[:, None, None] * s + j
        values = -h * tableau.a_d[None] * entries[:, None, :]
        matrix = scipy.sparse.coo_matrix(
            (values.ravel(), (rows.ravel(), columns.ravel())), shape=(s * n, s * n)
        ) + scipy.sparse.identity(s * n)
        self._factors = _sparse_factors(matrix)

    def solve(self, b: FloatArray, transposed: bool = False) -> FloatArray:
        s, n = self._shape
        inner = self._factors.solve(b.reshape(s, n).T.ravel(), "T" if transposed else "N")
        return inner.reshape(n, s).T.ravel()

    def solve_many(self, b: FloatArray) -> FloatArray:
        s, n = self._shape
        inner = self._factors.solve(b.reshape(s, n, -1).transpose(1, 0, 2).reshape(s * n, -1))
        return inner.reshape(n, s, -1).transpose(1, 0, 2).reshape(s * n, -1)


class _Krylov:
    def __init__(self, tableau: Tableau, h: float, entries: FloatArray, segment: Segment, n: int):
        s = tableau.stages
        self._shape, self._h, self._a = (s, n), h, tableau.a_d
        offsets = n * np.arange(s)[:, None]
        self._jacobian = scipy.sparse.csr_matrix(
            (entries.T.ravel(), ((segment.rows + offsets).ravel(), (segment.columns + offsets).ravel())),
            shape=(s * n, s * n),
        )
        values, vectors = (np.asarray(part, dtype=np.complex128) for part in np.linalg.eig(tableau.a_d))
        # Complex eigenvalues come in pairs; one of each pair gives both.
        kept = np.flatnonzero(values.imag >= 0)
        self._vectors: ComplexArray = vectors[:, kept] * np.where(values[kept].imag == 0, 1.0, 2.0)
        self._inverse: ComplexArray = np.linalg.inv(vectors)[kept].astype(np.complex128)
        averaged = scipy.sparse.csc_matrix((entries.mean(axis=1), (segment.rows, segment.columns)), shape=(n, n))
        full = len(segment.rows) > _DENSE_SHARE * n * n
        self._modes: _Modes = (_FullModes if full else _SparseModes)(h * values[kept], averaged)

    def solve(self, b: FloatArray, transposed: bool = False) -> FloatArray:
        s, n = self._shape
        size = float(np.max(np.abs(b)))
        if size == 0.0 or not np.isfinite(size):
            return b
        matrix = _Operator(s * n, lambda x: self._product(x, transposed))
        preconditioner = _Operator(s * n, lambda x: self._approximate(x, transposed))
        x, _ = gmres(matrix, b / size, rtol=_KRYLOV_TOLERANCE, restart=_KRYLOV_SPACE, maxiter=1, M=preconditioner)
        # Newton's method and iterative refinement correct the rest, or see that it does not converge.
        return x * size

    def solve_many(self, b: FloatArray) -> FloatArray:
        return np.stack([self.solve(column) for column in b.T], axis=1)

    def _product(self, x: FloatArray, transposed: bool) -> FloatArray:
        s, n = self._shape
        if transposed:
            return x - self._h * (self._jacobian.T @ (self._a.T @ x.reshape(s, n)).ravel())
        return x - self._h * (self._a @ (self._jacobian @ x.ravel()).reshape(s, n)).ravel()

    def _approximate(self, b: FloatArray, transposed: bool) -> FloatArray:
        left, right = (self._inverse.T, self._vectors.T) if transposed else (self._vectors, self._inverse)
        return (left @ self._modes.solve(right @ b.reshape(self._shape), transposed)).real.ravel()


class _Modes(Protocol):
    """Matrices I − h λ J, one for each eigenvalue λ."""

    def solve(self, b: ComplexArray, transposed: bool) -> ComplexArray:
        """The solution with each, or with its transpose, for one right-hand side each, shape (eigenvalues, n)."""
        ...


class _SparseModes:
    def __init__(self, eigenvalues: ComplexArray, jacobian: Any):
        identity = scipy.sparse.csc_matrix(scipy.sparse.identity(jacobian.shape[0]))
        self._factors = [_sparse_factors(identity - value * jacobian) for value in eigenvalues]

    def solve(self, b: ComplexArray, transposed: bool) -> ComplexArray:
        kind = "T" if transposed else "N"
        return np.array([factors.solve(part, kind) for factors, part in zip(self._factors, b, strict=True)])


class _FullModes:
    def __init__(self, eigenvalues: ComplexArray, jacobian: Any):
        matrices = np.eye(jacobian.shape[0]) - eigenvalues[:, None, None] * jacobian.toarray()
        try:
            # It is a preconditioner: an inverse is as good as a factorisation, and quicker to apply.
            self._inverses: ComplexArray = np.linalg.inv(matrices)
        except np.linalg.LinAlgError as error:
            raise StepFailure("the Newton matrix is singular") from error

    def solve(self, b: ComplexArray, transposed: bool) -> ComplexArray:
        inverses = self._inverses.transpose(0, 2, 1) if transposed else self._inverses
        return (inverses @ b[:, :, None])[:, :, 0]


class _Operator(LinearOperator):
    def __init__(self, size: int, product: Callable[[FloatArray], FloatArray]):
        super().__init__(np.float64, (size, size))
        self._product = product

    def _matvec(self, x: FloatArray) -> FloatArray:
        return self._product(x.ravel())


def _sparse_factors(matrix: Any) -> SuperLU:
    try:
        return splu(scipy.sparse.csc_matrix(matrix))
    except RuntimeError as error:
        raise StepFailure("the Newton matrix is singular") from error

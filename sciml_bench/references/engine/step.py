"""One collocation step: Newton's method with residuals in ball arithmetic and linear algebra in doubles.

The stage equations Z = h A F(y + Z) are solved to the working precision. Each correction comes from a double
precision factorisation of the full Newton matrix with the Jacobian at every stage, in variables scaled to the
solution's size, so that each iteration gains up to twelve digits whatever the precision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse
from flint import arb, arb_mat
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import LinearOperator, SuperLU, gmres, splu

from sciml_bench.references.engine.dynamics import ComplexArray, FloatArray, Segment
from sciml_bench.references.engine.tableau import Tableau
from sciml_bench.references.progress import StepFailure

# Linear algebra of one collocation step: I − h A ⊗ J in double precision, with the Jacobian at every stage.

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


MAX_ITERATIONS = 24
#: Corrections that stop shrinking below this are rounding errors.
ROUNDING = 1e-20
_STALLED = 0.9
_GOOD_CONTRACTION = 1e-6
_TINY = 1e-140


@dataclass(frozen=True)
class Stages:
    """A solved step: increments ``z`` (s × n) over the state at its start, and derivatives ``f`` (s × n)."""

    z: arb_mat
    f: arb_mat
    iterations: int


@dataclass(frozen=True)
class Place:
    """The place of a step: its segment, start, length and stage times."""

    segment: Segment
    t: arb
    h: arb
    tableau: Tableau

    @property
    def times(self) -> list[arb]:
        """Stage times."""
        return [(self.t + self.h * c).mid() for c in self.tableau.nodes]


def newton_matrix(place: Place, states: Sequence[arb], p: FloatArray, scale: FloatArray) -> NewtonMatrix:
    """The factorised Newton matrix at given stage states, a flat list of s · n."""
    y = np.array([float(x) for x in states]).reshape(place.tableau.stages, -1).T
    times = np.array([float(t) for t in place.times])
    entries = place.segment.jacobian(times, y, p)
    with np.errstate(all="ignore"):
        ratio = scale[place.segment.columns] / scale[place.segment.rows]
    return factorise(place.tableau, float(place.h), entries * ratio[:, None], place.segment, len(scale))


def solve_stages(
    place: Place,
    y: Sequence[arb],
    p: Sequence[arb],
    guess: arb_mat,
    scale: FloatArray,
    tolerance: float,
    matrix: NewtonMatrix | None = None,
) -> Stages:
    """Solve the stage equations, by Newton's method, or with a given matrix that is then kept.

    Args:
        place: the step.
        y: the state at its start.
        p: the parameters.
        guess: first stage increments (s × n).
        scale: size of each component; corrections are measured relative to it.
        tolerance: bound on the error that is left, relative to ``scale``.
        matrix: a factorised matrix of a nearby step with the same mesh.

    Raises:
        StepFailure: the iteration does not converge, or leaves the domain of the right-hand side.
    """
    tableau, segment, times = place.tableau, place.segment, place.times
    s, n = tableau.stages, len(y)
    h_a = tableau.a * place.h
    base = arb_mat(s, n, list(y) * s)
    parameters = np.array([float(x) for x in p])
    fixed, z, previous, contraction = matrix is not None, guess, np.inf, 1.0
    for iteration in range(1, MAX_ITERATIONS + 1):
        states = (base + z).mid().entries()
        derivatives = [segment.rhs(times[i], states[i * n : i * n + n], p) for i in range(s)]
        f = arb_mat(derivatives).mid()
        residual = to_doubles(h_a * f - z, scale)
        if not np.all(np.isfinite(residual)):
            raise StepFailure("the right-hand side is not finite")
        if matrix is None or (not fixed and contraction > _GOOD_CONTRACTION and previous > 1e-9):
            matrix = newton_matrix(place, states, parameters, scale)
        correction = matrix.solve(residual)
        size = float(np.max(np.abs(correction)))
        contraction = size / previous if previous < np.inf else 1.0
        if size < ROUNDING and contraction > _STALLED and iteration > 1:
            # The rest is rounding; the certificate decides whether it matters. A small first correction says nothing: a
            # perturbed trajectory starts from a good guess, and is to be solved much better.
            return Stages(z, f, iteration)
        if not np.isfinite(size) or (size > 2 * previous and iteration > 4) or size > 1e6:
            raise StepFailure("the Newton iteration diverges")
        z = (z + to_balls(correction, scale, s)).mid()
        if size <= tolerance or (iteration > 1 and contraction < 0.1 and size * contraction <= tolerance):
            return Stages(z, f, iteration)
        previous = size
    raise StepFailure("the Newton iteration does not converge")


def to_doubles(matrix: arb_mat, scale: FloatArray) -> FloatArray:
    """Entries of an s × n matrix divided by the scale of their column, as a flat array."""
    entries = matrix.entries()
    if scale.min() > _TINY:
        return (np.array([float(x) for x in entries]).reshape(-1, len(scale)) / scale).ravel()
    inverse = [1 / arb(float(w)) for w in scale]
    return np.array([float(x * w) for x, w in zip(entries, inverse * (len(entries) // len(inverse)), strict=True)])


def to_balls(scaled: FloatArray, scale: FloatArray, s: int) -> arb_mat:
    """Inverse of :func:`to_doubles`."""
    n = len(scale)
    if scale.min() > _TINY:
        return arb_mat(s, n, (scaled.reshape(s, n) * scale).ravel().tolist())
    sizes = [arb(float(w)) for w in scale] * s
    return arb_mat(s, n, [arb(x) * w for x, w in zip(scaled.tolist(), sizes, strict=True)])

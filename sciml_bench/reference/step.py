"""One collocation step: Newton's method with residuals in ball arithmetic and linear algebra in doubles.

The stage equations Z = h A F(y + Z) are solved to the working precision. Each correction comes from a double
precision factorisation of the full Newton matrix with the Jacobian at every stage, in variables scaled to the
solution's size, so that each iteration gains up to twelve digits whatever the precision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from flint import arb, arb_mat
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs
from scipy.sparse.linalg import splu

from sciml_bench.reference.dynamics import Segment
from sciml_bench.reference.tableau import Tableau

FloatArray = NDArray[np.float64]
MAX_ITERATIONS = 24
#: Newton systems up to this size are factorised as dense matrices.
DENSE_UNKNOWNS = 420
_GOOD_CONTRACTION = 1e-6
_TINY = 1e-140
_getrf, _getrs = get_lapack_funcs(("getrf", "getrs"), dtype=np.float64)


class StepFailure(Exception):
    """The stage equations could not be solved; the text says why."""


@dataclass(frozen=True)
class Stages:
    """A solved step: increments ``z`` (s × n) over the state at its start, and derivatives ``f`` (s × n)."""

    z: arb_mat
    f: arb_mat
    iterations: int


class NewtonMatrix:
    """The factorised matrix I − h A ⊗ J of one step, in scaled variables; unknowns are ordered stage by stage."""

    def __init__(self, tableau: Tableau, h: float, entries: FloatArray, segment: Segment, scale: FloatArray):
        """``entries`` (entries × s) is the Jacobian at each stage; ``scale`` (n,) the size of each component."""
        s, n = tableau.stages, len(scale)
        self._s, self._n = s, n
        ratio = scale[segment.columns] / scale[segment.rows]
        scaled = entries * ratio[:, None]
        if not np.all(np.isfinite(scaled)):
            raise StepFailure("the Jacobian is not finite")
        if s * n <= DENSE_UNKNOWNS or len(segment.rows) > 0.5 * n * n:
            self._dense(tableau, h, scaled, segment)
        else:
            self._sparse(tableau, h, scaled, segment)

    def _dense(self, tableau: Tableau, h: float, scaled: FloatArray, segment: Segment) -> None:
        s, n = self._s, self._n
        jacobians = np.zeros((s, n, n))
        jacobians[:, segment.rows, segment.columns] = scaled.T
        blocks = -h * tableau.a_d[:, None, :, None] * jacobians.transpose(1, 0, 2)[None]
        matrix = np.asfortranarray(blocks.reshape(s * n, s * n))
        matrix[np.diag_indices(s * n)] += 1.0
        factors, pivots, info = _getrf(matrix, overwrite_a=True)
        if info != 0:
            raise StepFailure("the Newton matrix is singular")
        self._solve: Callable[[FloatArray, bool], FloatArray] = lambda b, transposed: _getrs(
            factors, pivots, b, trans=int(transposed)
        )[0]

    def _sparse(self, tableau: Tableau, h: float, scaled: FloatArray, segment: Segment) -> None:
        s, n = self._s, self._n
        # Component by component inside, so that the bandwidth is that of the Jacobian times the stages.
        i, j = np.meshgrid(np.arange(s), np.arange(s), indexing="ij")
        rows = segment.rows[:, None, None] * s + i
        columns = segment.columns[:, None, None] * s + j
        values = -h * tableau.a_d[None] * scaled[:, None, :]
        matrix = scipy.sparse.coo_matrix(
            (values.ravel(), (rows.ravel(), columns.ravel())), shape=(s * n, s * n)
        ) + scipy.sparse.identity(s * n)
        try:
            factors = splu(matrix.tocsc())
        except RuntimeError as error:
            raise StepFailure("the Newton matrix is singular") from error

        def solve(b: FloatArray, transposed: bool) -> FloatArray:
            inner = factors.solve(b.reshape(s, n).T.ravel(), "T" if transposed else "N")
            return inner.reshape(n, s).T.ravel()

        self._solve = solve

    def solve(self, b: FloatArray) -> FloatArray:
        """The solution for a right-hand side of shape (s · n,)."""
        return self._solve(b, False)

    def solve_transposed(self, b: FloatArray) -> FloatArray:
        """The solution with the transposed matrix."""
        return self._solve(b, True)


@dataclass(frozen=True)
class Place:
    """Where a step is taken: its segment, start, length and stage times."""

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
    return NewtonMatrix(place.tableau, float(place.h), entries, place.segment, scale)


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
        if not np.isfinite(size) or (size > 2 * previous and iteration > 4) or size > 1e6:
            raise StepFailure("the Newton iteration diverges")
        z = (z + to_balls(correction, scale, s)).mid()
        contraction = size / previous if previous < np.inf else 1.0
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

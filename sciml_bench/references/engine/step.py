"""One collocation step: Newton's method with residuals in ball arithmetic and linear algebra in doubles.

The stage equations Z = h A F(y + Z) are solved to the working precision. Each correction comes from a double
precision factorisation of the full Newton matrix with the Jacobian at every stage, in variables scaled to the
solution's size, so that each iteration gains up to twelve digits whatever the precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat

from sciml_bench.references.engine.dynamics import FloatArray, Segment
from sciml_bench.references.engine.newton_matrix import NewtonMatrix, factorise
from sciml_bench.references.engine.tableau import Tableau
from sciml_bench.references.failures import StepFailure

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

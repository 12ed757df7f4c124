"""Changes of one collocation step to first and second order, in double precision: where perturbed stages are expected.

The right-hand side is evaluated at complex numbers whose imaginary parts are the perturbation, far below what the real
parts can see. What follows is a first guess; no result depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sciml_bench.references.engine.dynamics import ComplexArray, ComplexFunction, FloatArray
from sciml_bench.references.engine.newton_matrix import NewtonMatrix

#: The imaginary parts' size against the perturbation that they stand for.
_IMAGINARY = 1e-40
_REFINEMENTS = 3
#: Doubles that solve the linear stage equations as well as this are not refined.
_SOLVED = 1e-13
#: The perturbation, relative to the size of a component, over which slopes are differenced for the second order.
_CURVED = 1e-4


@dataclass(frozen=True)
class Change:
    """Changes of a step along directions: of its stage increments and of its stage derivatives, (s, directions, n)."""

    w: FloatArray
    slopes: FloatArray


class Tangent:
    """The stage equations W = h A G(W) of one step for perturbations u of its start and q of the parameters.

    G is the change of the stage derivatives.
    """

    def __init__(
        self,
        rhs: ComplexFunction,
        times: FloatArray,
        states: FloatArray,
        p: FloatArray,
        h_a: FloatArray,
        scale: FloatArray,
        matrix: NewtonMatrix,
        perturbation: float,
    ):
        """Take a step's stage times (s,), stage states (s, n), parameters, h A (s, s) and sizes of components (n,).

        ``perturbation`` is the approximate initial size of u and q, relative to the perturbed values.
        """
        self._rhs, self._times, self._states, self._p = rhs, times[:, None], states, p
        self._h_a, self._scale, self._matrix, self._perturbation = h_a, scale, matrix, perturbation

    def first(self, u: FloatArray, q: FloatArray) -> Change:
        """The first order along directions u of the start (directions, n) and q of the parameters (directions, any)."""
        still = np.zeros((len(self._times), *u.shape))
        return self._settled(self._change(still + u, q), u, q)

    def second(self, first: Change, u: FloatArray, q: FloatArray, v: FloatArray) -> Change:
        """The second order; v (directions, n) is the further perturbation of the start, to second order."""
        moved = u + first.w
        # The parameters move as well: by their perturbation, however little the states are moved by it.
        width = (_CURVED / np.maximum(self.sizes(moved), self._perturbation))[:, None]
        ahead, behind = (self._change(moved, q, sign * width) for sign in (1.0, -1.0))
        still, none = np.zeros_like(moved), np.zeros_like(q)
        half = (ahead - behind) / (4.0 * width)
        return self._settled(half + self._change(still + v, none), v, none, half)

    def sizes(self, moved: FloatArray) -> FloatArray:
        """The largest change of a stage of each direction, relative to the components' sizes."""
        return np.max(np.abs(moved) / self._scale, axis=(0, 2), initial=0.0)

    def _settled(self, slopes: FloatArray, u: FloatArray, q: FloatArray, besides: FloatArray | float = 0.0) -> Change:
        """Stage increments that belong to slopes without them, refined until doubles hold them."""
        w = self._solved(np.tensordot(self._h_a, slopes, 1))
        for _ in range(_REFINEMENTS):
            slopes = besides + self._change(u + w, q)
            correction = self._solved(np.tensordot(self._h_a, slopes, 1) - w)
            w += correction
            if not np.any(np.abs(correction) > _SOLVED * np.max(np.abs(w), axis=(0, 1), initial=0.0)):
                break
        return Change(w, besides + self._change(u + w, q))

    def _solved(self, right: FloatArray) -> FloatArray:
        """(1 − h A J)⁻¹ applied to each direction, shapes (s, directions, n)."""
        s, count, n = right.shape
        columns = (right / self._scale).transpose(0, 2, 1).reshape(s * n, count)
        return self._matrix.solve_many(columns).reshape(s, n, count).transpose(0, 2, 1) * self._scale

    def _change(self, moved: FloatArray, q: FloatArray, at: FloatArray | float = 0.0) -> FloatArray:
        """The derivative along (moved, q) at every stage, (s, directions, n), taken ``at`` times as far off."""
        s, count, n = moved.shape
        factor = at + 1j * _IMAGINARY
        y: ComplexArray = self._states[:, None, :] + factor * moved
        p: ComplexArray = self._p + factor * q
        with np.errstate(all="ignore"):
            values = self._rhs(self._times, y.transpose(2, 0, 1), p.T)
        found = np.zeros((s, count, n))
        for i, value in enumerate(values):
            found[:, :, i] = np.imag(value) / _IMAGINARY
        return np.where(np.isfinite(found), found, 0.0)

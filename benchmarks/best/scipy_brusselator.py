"""The Brusselator on a ring in SciPy by hand.

LSODA takes banded Jacobians. A ring has none, but a ring that is folded flat has: the points in the order 0, 39, 1, 38,
…, each with its u and v, lie at most two points from their neighbours, so that the band is four wide on both sides.
Forty points are hardly stiff, so explicit methods stand beside it.
"""

from __future__ import annotations

import numpy as np

from best import Expert, Experts, Vector
from best.numbers import BRUSSELATOR_START, BRUSSELATOR_TIMES, RING
from best.scipy_running import by_odeint, by_solve_ivp

TIMES = np.concatenate([[0.0], BRUSSELATOR_TIMES])
SIZE, BAND = 2 * RING, 4
DENSITY = 1600.0
"""One over the square of the distance of two points."""

_ORDER = np.empty(RING, dtype=int)
_ORDER[0::2], _ORDER[1::2] = np.arange(RING // 2), np.arange(RING - 1, RING // 2 - 1, -1)
FOLD = np.stack([_ORDER, RING + _ORDER], axis=1).ravel()
"""Where each folded number stands in the problem's order."""
UNFOLD = np.argsort(FOLD)
PLACE = np.argsort(_ORDER)
LEFT, RIGHT = PLACE[np.roll(_ORDER, 0) - 1], PLACE[(_ORDER + 1) % RING]
"""The two neighbours of each point, as points of the folded order."""


def laplacian(u: Vector) -> Vector:
    """Second differences along the last axis."""
    out = np.empty_like(u)
    out[..., 1:-1] = u[..., 2:] + u[..., :-2]
    out[..., 0] = u[..., 1] + u[..., -1]
    out[..., -1] = u[..., 0] + u[..., -2]
    out -= 2.0 * u
    out *= DENSITY
    return out


def rhs(t: float, z: Vector, feed: float, rate: float, alpha: float) -> Vector:
    """u, then v."""
    fields = z.reshape(2, RING)
    u, v = fields
    out = laplacian(fields)
    out *= alpha
    reaction = u * u * v
    out[0] += feed + reaction - (rate + 1.0) * u
    out[1] += rate * u - reaction
    return out.ravel()


def augmented(t: float, z: Vector, feed: float, rate: float, alpha: float) -> Vector:
    """u, then v, then both differentiated with respect to A, B and alpha."""
    fields = z.reshape(4, 2, RING)
    (u, v), by = fields[0], fields[1:]
    spread = laplacian(fields)
    out = alpha * spread
    square = u * u
    reaction, twice = square * v, 2.0 * u * v
    moved = twice * by[:, 0]
    moved += square * by[:, 1]
    fed = rate * by[:, 0]
    out[1:, 0] += moved - fed - by[:, 0]
    out[1:, 1] += fed - moved
    out[0, 0] += feed + reaction - (rate + 1.0) * u
    out[0, 1] += rate * u - reaction
    out[1, 0] += 1.0
    out[2, 0] -= u
    out[2, 1] += u
    out[3] += spread[0]
    return out.ravel()


def tolerances(theta: Vector) -> Vector:
    """Of u and v, and of their derivatives, each in the units of its parameter."""
    return np.concatenate([np.ones(SIZE), *(np.full(SIZE, 1.0 / p) for p in theta)])


def loss_gradient(z: Vector) -> Vector:
    """The loss is the sum of squares, in any order of the points."""
    return np.einsum("ti,tki->k", 2.0 * z[:, :SIZE], z[:, SIZE:].reshape(-1, 3, SIZE))


STATE = (rhs, None, BRUSSELATOR_START, lambda theta: 1.0)
AUGMENTED_START = np.concatenate([BRUSSELATOR_START, np.zeros(3 * SIZE)])
AUGMENTED = (augmented, None, AUGMENTED_START, tolerances)


def rk45() -> Expert:
    """The default of ``solve_ivp``."""
    return by_solve_ivp("RK45, NumPy", "RK45", BRUSSELATOR_TIMES, STATE, AUGMENTED, loss_gradient)


def dop853() -> Expert:
    """What the guide recommends for high precision."""
    return by_solve_ivp("DOP853, NumPy", "DOP853", BRUSSELATOR_TIMES, STATE, AUGMENTED, loss_gradient)


def folded() -> Expert:
    """LSODA with the band of the folded ring, NumPy."""
    band = _Band()

    def state(t: float, z: Vector, feed: float, rate: float, alpha: float) -> Vector:
        u, v = z[0::2], z[1::2]
        fields = z.reshape(RING, 2)
        spread = fields[LEFT]
        spread += fields[RIGHT]
        spread -= 2.0 * fields
        spread *= alpha * DENSITY
        reaction = u * u * v
        spread[:, 0] += feed + reaction - (rate + 1.0) * u
        spread[:, 1] += rate * u - reaction
        return spread.ravel()

    def sensitivities(t: float, z: Vector, feed: float, rate: float, alpha: float) -> Vector:
        fields = z.reshape(4, RING, 2)
        spread = fields[:, LEFT]
        spread += fields[:, RIGHT]
        spread -= 2.0 * fields
        spread *= DENSITY
        out = alpha * spread
        u, v = fields[0, :, 0], fields[0, :, 1]
        by_u, by_v = fields[1:, :, 0], fields[1:, :, 1]
        square = u * u
        reaction = square * v
        moved = (2.0 * u * v) * by_u
        moved += square * by_v
        fed = rate * by_u
        out[1:, :, 0] += moved - fed - by_u
        out[1:, :, 1] += fed - moved
        out[0, :, 0] += feed + reaction - (rate + 1.0) * u
        out[0, :, 1] += rate * u - reaction
        out[1, :, 0] += 1.0
        out[2, :, 0] -= u
        out[2, :, 1] += u
        out[3] += spread[0]
        return out.ravel()

    return by_odeint(
        "odeint, banded, NumPy", TIMES,
        (state, band.of_one, BRUSSELATOR_START[FOLD], lambda theta: 1.0),
        (sensitivities, band.of_four, np.concatenate([BRUSSELATOR_START[FOLD], np.zeros(3 * SIZE)]), tolerances),
        loss_gradient, band=BAND, unfold=_unfold,
    )  # fmt: skip


def compiled() -> Expert:
    """LSODA with the band of the folded ring, by Numba."""
    import numba

    jit = numba.njit(error_model="numpy")
    left, right = LEFT.astype(np.int64), RIGHT.astype(np.int64)

    @jit
    def state(t, z, feed, rate, alpha):
        out, factor = np.empty(80), alpha * 1600.0
        for i in range(40):
            a, b, u, v = 2 * left[i], 2 * right[i], z[2 * i], z[2 * i + 1]
            reaction = u * u * v
            out[2 * i] = feed + reaction - (rate + 1.0) * u + factor * (z[a] + z[b] - 2.0 * u)
            out[2 * i + 1] = rate * u - reaction + factor * (z[a + 1] + z[b + 1] - 2.0 * v)
        return out

    @jit
    def sensitivities(t, z, feed, rate, alpha):
        out, factor = np.empty(320), alpha * 1600.0
        for i in range(40):
            a, b, u, v = 2 * left[i], 2 * right[i], z[2 * i], z[2 * i + 1]
            square, twice = u * u, 2.0 * u * v
            spread_u, spread_v = 1600.0 * (z[a] + z[b] - 2.0 * u), 1600.0 * (z[a + 1] + z[b + 1] - 2.0 * v)
            out[2 * i] = feed + square * v - (rate + 1.0) * u + alpha * spread_u
            out[2 * i + 1] = rate * u - square * v + alpha * spread_v
            for k in range(80, 320, 80):
                su, sv = z[k + 2 * i], z[k + 2 * i + 1]
                moved = twice * su + square * sv
                out[k + 2 * i] = moved - (rate + 1.0) * su + factor * (z[k + a] + z[k + b] - 2.0 * su)
                out[k + 2 * i + 1] = rate * su - moved + factor * (z[k + a + 1] + z[k + b + 1] - 2.0 * sv)
            out[80 + 2 * i] += 1.0
            out[160 + 2 * i] -= u
            out[161 + 2 * i] += u
            out[240 + 2 * i] += spread_u
            out[241 + 2 * i] += spread_v
        return out

    @jit
    def diagonals(z, rate, alpha, blocks):
        out, factor = np.zeros((9, 80 * blocks)), alpha * 1600.0
        for k in range(0, 80 * blocks, 80):
            for i in range(40):
                u, v = z[2 * i], z[2 * i + 1]
                for j in (left[i], right[i]):
                    # The derivative of equation 2 i by number 2 j stands in row 4 + 2 i - 2 j of column 2 j.
                    out[4 + 2 * (i - j), k + 2 * j] = factor
                    out[4 + 2 * (i - j), k + 2 * j + 1] = factor
                out[4, k + 2 * i] = 2.0 * u * v - (rate + 1.0) - 2.0 * factor
                out[4, k + 2 * i + 1] = -u * u - 2.0 * factor
                out[3, k + 2 * i + 1] = u * u
                out[5, k + 2 * i] = rate - 2.0 * u * v
        return out

    @jit
    def of_one(t, z, feed, rate, alpha):
        return diagonals(z, rate, alpha, 1)

    @jit
    def of_four(t, z, feed, rate, alpha):
        return diagonals(z, rate, alpha, 4)

    return by_odeint(
        "odeint, banded, Numba", TIMES,
        (state, of_one, BRUSSELATOR_START[FOLD], lambda theta: 1.0),
        (sensitivities, of_four, np.concatenate([BRUSSELATOR_START[FOLD], np.zeros(3 * SIZE)]), tolerances),
        loss_gradient, band=BAND, unfold=_unfold,
    )  # fmt: skip


def _unfold(z: Vector) -> Vector:
    """A solution alone in the problem's order; sensitivities stay folded, as the loss does not mind."""
    return z[:, UNFOLD] if z.shape[1] == SIZE else z


class _Band:
    """The Jacobian of the folded ring as its diagonals; its constant pattern once."""

    def __init__(self) -> None:
        pattern = np.zeros((2 * BAND + 1, SIZE))
        for i in range(RING):
            for j in (int(LEFT[i]), int(RIGHT[i])):
                pattern[BAND + 2 * (i - j), 2 * j : 2 * j + 2] = DENSITY
        pattern[BAND] = -2.0 * DENSITY
        self._pattern = pattern

    def of_one(self, t: float, z: Vector, feed: float, rate: float, alpha: float) -> Vector:
        """Of the equation."""
        u, v = z[0:SIZE:2], z[1:SIZE:2]
        out = alpha * self._pattern
        square, twice = u * u, 2.0 * u * v
        out[BAND, 0::2] += twice - (rate + 1.0)
        out[BAND, 1::2] -= square
        out[BAND - 1, 1::2] = square
        out[BAND + 1, 0::2] = rate - twice
        return out

    def of_four(self, t: float, z: Vector, feed: float, rate: float, alpha: float) -> Vector:
        """The same four times, without how sensitivities depend on the state."""
        return np.tile(self.of_one(t, z, feed, rate, alpha), (1, 4))


EXPERTS: Experts = {"brusselator-1d": (rk45, dop853, folded, compiled)}

"""Lotka-Volterra in SciPy by hand: LSODA stays with Adams' methods here; Runge-Kutta methods beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from best import Expert, Experts, Vector
from best.numbers import LOTKA_VOLTERRA_START, LOTKA_VOLTERRA_TIMES
from best.scipy_running import by_odeint, by_solve_ivp

TIMES = np.concatenate([[0.0], LOTKA_VOLTERRA_TIMES])
AUGMENTED_START = np.concatenate([LOTKA_VOLTERRA_START, np.zeros(8)])


def rhs(t: float, z: Any, a: float, b: float, c: float, d: float) -> Any:
    """Prey and predators."""
    x, y = z
    xy = x * y
    return (a * x - b * xy, d * xy - c * y)


def augmented(t: float, z: Any, a: float, b: float, c: float, d: float) -> Any:
    """The same, then their derivatives with respect to a, b, c and d."""
    x, y, x1, y1, x2, y2, x3, y3, x4, y4 = z
    xy = x * y
    xx, xy_, yx, yy = a - b * y, b * x, d * y, d * x - c
    return (
        a * x - b * xy, d * xy - c * y,
        xx * x1 - xy_ * y1 + x, yx * x1 + yy * y1,
        xx * x2 - xy_ * y2 - xy, yx * x2 + yy * y2,
        xx * x3 - xy_ * y3, yx * x3 + yy * y3 - y,
        xx * x4 - xy_ * y4, yx * x4 + yy * y4 + xy,
    )  # fmt: skip


def loss_gradient(z: Vector) -> Vector:
    """The loss is the sum of squares."""
    return np.einsum("ti,tki->k", 2.0 * z[:, :2], z[:, 2:].reshape(-1, 4, 2))


def _plain_rhs(t: float, z: Vector, a: float, b: float, c: float, d: float) -> Any:
    return rhs(t, z.tolist(), a, b, c, d)


def _plain_augmented(t: float, z: Vector, a: float, b: float, c: float, d: float) -> Any:
    return augmented(t, z.tolist(), a, b, c, d)


# All states and their derivatives are of one size: one tolerance for all.
PLAIN = (
    (_plain_rhs, None, LOTKA_VOLTERRA_START, lambda theta: 1.0),
    (_plain_augmented, None, AUGMENTED_START, lambda theta: 1.0),
    loss_gradient,
)


def eager() -> Expert:
    """Without a compiler."""
    return by_odeint("odeint, plain Python", TIMES, *PLAIN)


def rk45() -> Expert:
    """The default of ``solve_ivp``."""
    return by_solve_ivp("RK45, plain Python", "RK45", LOTKA_VOLTERRA_TIMES, *PLAIN)


def dop853() -> Expert:
    """What the guide recommends for high precision."""
    return by_solve_ivp("DOP853, plain Python", "DOP853", LOTKA_VOLTERRA_TIMES, *PLAIN)


def compiled() -> Expert:
    """By Numba, into an array."""
    import numba

    jit = numba.njit(error_model="numpy")
    state, sensitivities = jit(rhs), jit(augmented)

    @jit
    def of_two(t, z, a, b, c, d):
        out = np.empty(2)
        out[0], out[1] = state(t, (z[0], z[1]), a, b, c, d)
        return out

    @jit
    def of_ten(t, z, a, b, c, d):
        values = sensitivities(t, (z[0], z[1], z[2], z[3], z[4], z[5], z[6], z[7], z[8], z[9]), a, b, c, d)
        out = np.empty(10)
        for i in range(10):
            out[i] = values[i]
        return out

    return by_odeint(
        "odeint, Numba", TIMES, (of_two, None, LOTKA_VOLTERRA_START, lambda theta: 1.0),
        (of_ten, None, AUGMENTED_START, lambda theta: 1.0), loss_gradient,
    )  # fmt: skip


EXPERTS: Experts = {"lotka-volterra": (eager, rk45, dop853, compiled)}

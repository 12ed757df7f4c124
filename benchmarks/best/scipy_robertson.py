"""Robertson in SciPy by hand: LSODA behind ``odeint``, equations in plain scalars, Jacobians written out.

SciPy's guide: LSODA "can also be a good universal choice"; ``odeint`` is the same in a loop that is compiled as a whole
and calls Python for the equation only. ``col_deriv`` saves it the transposition of each Jacobian.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from best import Expert, Experts, Vector
from best.numbers import ROBERTSON_SIZES, ROBERTSON_START, ROBERTSON_TIMES
from best.scipy_running import by_odeint, by_solve_ivp

ATOL = np.array([1.0, 1e-6, 1.0])
TIMES = np.concatenate([[0.0], ROBERTSON_TIMES])
AUGMENTED_START = np.concatenate([ROBERTSON_START, np.zeros(9)])


def rhs(t: float, y: Any, k1: float, k2: float, k3: float) -> Any:
    """The three species."""
    y1, y2, y3 = y
    slow, fast, back = k1 * y1, k2 * y2 * y2, k3 * y2 * y3
    return (back - slow, slow - back - fast, fast)


def columns(t: float, y: Any, k1: float, k2: float, k3: float) -> Any:
    """The Jacobian, column by column."""
    _, y2, y3 = y
    by2, by3 = k3 * y3, k3 * y2
    quick = 2.0 * k2 * y2
    return ((-k1, k1, 0.0), (by2, -by2 - quick, quick), (by3, -by3, 0.0))


def augmented(t: float, z: Any, k1: float, k2: float, k3: float) -> Any:
    """The species, then their derivatives with respect to each of the three rates."""
    y1, y2, y3, a1, a2, a3, b1, b2, b3, c1, c2, c3 = z
    by2, by3 = k3 * y3, k3 * y2
    fast, back = k2 * y2 * y2, by3 * y3
    slow, quick = k1 * y1, 2.0 * k2 * y2
    a_back, b_back, c_back = by2 * a2 + by3 * a3, by2 * b2 + by3 * b3, by2 * c2 + by3 * c3 + y2 * y3
    a_slow, b_slow, c_slow = k1 * a1 + y1, k1 * b1, k1 * c1
    a_fast, b_fast, c_fast = quick * a2, quick * b2 + y2 * y2, quick * c2
    return (
        back - slow, slow - back - fast, fast,
        a_back - a_slow, a_slow - a_back - a_fast, a_fast,
        b_back - b_slow, b_slow - b_back - b_fast, b_fast,
        c_back - c_slow, c_slow - c_back - c_fast, c_fast,
    )  # fmt: skip


def augmented_columns(t: float, z: Any, k1: float, k2: float, k3: float) -> Vector:
    """The Jacobian of that, column by column: four equal blocks, and below the first the second derivatives."""
    _, y2, y3, _, a2, a3, _, b2, b3, _, c2, c3 = z
    by2, by3 = k3 * y3, k3 * y2
    quick = 2.0 * k2 * y2
    out = np.zeros((12, 12))
    for i in (0, 3, 6, 9):
        out[i, i] = -k1
        out[i, i + 1] = k1
        out[i + 1, i] = by2
        out[i + 1, i + 1] = -by2 - quick
        out[i + 1, i + 2] = quick
        out[i + 2, i] = by3
        out[i + 2, i + 1] = -by3
    out[0, 3] = -1.0
    out[0, 4] = 1.0
    # By y2: back' is k3 s3 (and y3 for k3), fast' is 2 k2 s2 (and 2 y2 for k2). By y3: back' is k3 s2 (and y2 for k3).
    back, fast = k3 * a3, 2.0 * k2 * a2
    out[1, 3] = back
    out[1, 4] = -back - fast
    out[1, 5] = fast
    out[2, 3] = k3 * a2
    out[2, 4] = -k3 * a2
    back, fast = k3 * b3, 2.0 * k2 * b2 + 2.0 * y2
    out[1, 6] = back
    out[1, 7] = -back - fast
    out[1, 8] = fast
    out[2, 6] = k3 * b2
    out[2, 7] = -k3 * b2
    back, fast = k3 * c3 + y3, 2.0 * k2 * c2
    out[1, 9] = back
    out[1, 10] = -back - fast
    out[1, 11] = fast
    back = k3 * c2 + y2
    out[2, 9] = back
    out[2, 10] = -back
    return out


def tolerances(theta: Vector) -> Vector:
    """Of the species and of their derivatives, each in the units of its rate."""
    return np.concatenate([ATOL, *(ATOL / k for k in theta)])


def loss_gradient(z: Vector) -> Vector:
    """The loss is the sum of squares of the species over their sizes."""
    weighted = 2.0 * z[:, :3] / ROBERTSON_SIZES**2
    return np.einsum("ti,tki->k", weighted, z[:, 3:].reshape(-1, 3, 3))


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """With a list in place of an array: Python computes with its own floats several times as fast."""
    return lambda t, y, *rates: function(t, y.tolist(), *rates)


def _eager_columns(t: float, z: Any, k1: float, k2: float, k3: float) -> Any:
    """The same in one flat expression: assigning entries of an array one by one is slow in Python."""
    _, y2, y3, _, a2, a3, _, b2, b3, _, c2, c3 = z
    by2, by3, quick = k3 * y3, k3 * y2, 2.0 * k2 * y2
    second = -by2 - quick
    a_back, a_fast, a_by3 = k3 * a3, 2.0 * k2 * a2, k3 * a2
    b_back, b_fast, b_by3 = k3 * b3, 2.0 * (k2 * b2 + y2), k3 * b2
    c_back, c_fast, c_by3 = k3 * c3 + y3, 2.0 * k2 * c2, k3 * c2 + y2
    return np.array((
        -k1, k1, 0.0, -1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
        by2, second, quick, a_back, -a_back - a_fast, a_fast, b_back, -b_back - b_fast, b_fast,
        c_back, -c_back - c_fast, c_fast,
        by3, -by3, 0.0, a_by3, -a_by3, 0.0, b_by3, -b_by3, 0.0, c_by3, -c_by3, 0.0,
        0.0, 0.0, 0.0, -k1, k1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
        0.0, 0.0, 0.0, by2, second, quick, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
        0.0, 0.0, 0.0, by3, -by3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
        0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -k1, k1, 0.0, 0.0, 0.0, 0.0,
        0.0, 0.0, 0.0, 0.0, 0.0, 0.0, by2, second, quick, 0.0, 0.0, 0.0,
        0.0, 0.0, 0.0, 0.0, 0.0, 0.0, by3, -by3, 0.0, 0.0, 0.0, 0.0,
        0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -k1, k1, 0.0,
        0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, by2, second, quick,
        0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, by3, -by3, 0.0,
    )).reshape(12, 12)  # fmt: skip


def eager() -> Expert:
    """Without a compiler."""
    return by_odeint(
        "odeint, plain Python", TIMES,
        (_plain(rhs), _plain(columns), ROBERTSON_START, lambda theta: ATOL),
        (_plain(augmented), _plain(_eager_columns), AUGMENTED_START, tolerances),
        loss_gradient,
    )  # fmt: skip


def compiled() -> Expert:
    """All of it by Numba; ``odeint`` still calls it through Python."""
    import numba

    jit = numba.njit(error_model="numpy")
    as_array, as_columns = numba.njit(_filled(jit(rhs), 3)), numba.njit(_filled_columns(jit(columns)))
    return by_odeint(
        "odeint, Numba", TIMES,
        (as_array, as_columns, ROBERTSON_START, lambda theta: ATOL),
        (numba.njit(_filled(jit(augmented), 12)), jit(augmented_columns), AUGMENTED_START, tolerances),
        loss_gradient,
    )  # fmt: skip


def _filled(function: Callable[..., Any], n: int) -> Callable[..., Any]:
    def call(t, y, k1, k2, k3):
        values = function(t, y, k1, k2, k3)
        out = np.empty(n)
        for i in range(n):
            out[i] = values[i]
        return out

    return call


def _filled_columns(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(t, y, k1, k2, k3):
        first, second, third = function(t, y, k1, k2, k3)
        out = np.empty((3, 3))
        for i in range(3):
            out[0, i] = first[i]
            out[1, i] = second[i]
            out[2, i] = third[i]
        return out

    return call


def radau() -> Expert:
    """``solve_ivp`` with its implicit Runge-Kutta method, the other that the guide names for stiff equations."""
    return by_solve_ivp(
        "Radau, plain Python", "Radau", ROBERTSON_TIMES,
        (_plain(rhs), lambda t, y, *p: np.array(_plain(columns)(t, y, *p)).T, ROBERTSON_START, lambda theta: ATOL),
        (_plain(augmented), lambda t, y, *p: _plain(_eager_columns)(t, y, *p).T, AUGMENTED_START, tolerances),
        loss_gradient,
    )  # fmt: skip


EXPERTS: Experts = {"robertson": (eager, compiled, radau)}

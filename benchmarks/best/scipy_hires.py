"""HIRES in SciPy by hand: LSODA behind ``odeint``.

With its sensitivities it is 88 equations. Newton's matrix leaves out how they depend on the state, so that it is a band
of eleven equal blocks: the iteration settles the state first and the sensitivities, linear in themselves, after it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from best import Expert, Experts, Vector
from best.numbers import HIRES_RATES, HIRES_SIZES, HIRES_START, HIRES_TIMES
from best.scipy_running import by_odeint, by_solve_ivp

TIMES = np.concatenate([[0.0], HIRES_TIMES])
AUGMENTED_START = np.concatenate([HIRES_START, np.zeros(80)])
ATOL = np.array([1e-3, 1e-4, 1e-4, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3])
BAND = 7


def rhs(t: float, y: Any, p: Any) -> Any:
    """The eight reactants."""
    y1, y2, y3, y4, y5, y6, y7, y8 = y
    k1, k2, k3, k4, k5, k6, kplus, kminus, kstar, oks = p
    binding, release = kplus * y6 * y8, (k2 + kminus + kstar) * y7
    a, b, c, d, e = k1 * y1, k2 * y2, k3 * y2, k6 * y3, k1 * y3
    f, g, h, i, j, k = k2 * y4, k4 * y4, k5 * y5, k1 * y5, k2 * y6, k2 * y7
    return (
        b - a + d + oks, a - b - c, f - d - e + h, c + e - g - f, j + k - i - h,
        g + i - binding - j + kminus * y7, binding - release, release - binding,
    )  # fmt: skip


def constant_jacobian(p: Vector) -> Vector:
    """The part of the Jacobian that the state does not enter."""
    k1, k2, k3, k4, k5, k6, _, kminus, kstar, _ = p
    out = np.zeros((8, 8))
    out[0, :3] = -k1, k2, k6
    out[1, :2] = k1, -k2 - k3
    out[2, 2:5] = -k6 - k1, k2, k5
    out[3, 1:4] = k3, k1, -k4 - k2
    out[4, 4:7] = -k1 - k5, k2, k2
    out[5, 3:7] = k4, k1, -k2, kminus
    out[6, 6] = -k2 - kminus - kstar
    out[7, 6] = k2 + kminus + kstar
    return out


# Rate by rate, what multiplies y1 to y8, y6 y8 and 1 in the derivative of each equation with respect to the rate.
_FORCING = np.zeros((10, 8, 10))
for _rate, _entries in enumerate((
    {(0, 0): -1, (1, 0): 1, (2, 2): -1, (3, 2): 1, (4, 4): -1, (5, 4): 1},
    {(0, 1): 1, (1, 1): -1, (2, 3): 1, (3, 3): -1, (4, 5): 1, (4, 6): 1, (5, 5): -1, (6, 6): -1, (7, 6): 1},
    {(1, 1): -1, (3, 1): 1},
    {(3, 3): -1, (5, 3): 1},
    {(2, 4): 1, (4, 4): -1},
    {(0, 2): 1, (2, 2): -1},
    {(5, 8): -1, (6, 8): 1, (7, 8): -1},
    {(5, 6): 1, (6, 6): -1, (7, 6): 1},
    {(6, 6): -1, (7, 6): 1},
    {(0, 9): 1},
)):  # fmt: skip
    for (_equation, _monomial), _factor in _entries.items():
        _FORCING[_rate, _equation, _monomial] = _factor
FORCING = _FORCING.reshape(80, 10)


def tolerances(theta: Vector) -> Vector:
    """Of the reactants and of their derivatives, each in the units of its rate."""
    return np.concatenate([ATOL, *(ATOL / k for k in theta)])


def loss_gradient(z: Vector) -> Vector:
    """The loss is the sum of squares of the reactants over their sizes."""
    return np.einsum("ti,tki->k", 2.0 * z[:, :8] / HIRES_SIZES**2, z[:, 8:].reshape(-1, 10, 8))


def _template(p: Vector) -> Vector:
    """The constant part of the band of eleven blocks."""
    constant, band = constant_jacobian(p), np.zeros((2 * BAND + 1, 88))
    for i, j in zip(*np.nonzero(constant), strict=True):
        band[BAND + i - j, j::8] = constant[i, j]
    return band


def _arguments(theta: Vector) -> tuple[Any, ...]:
    return (theta.tolist(), constant_jacobian(theta).T.copy(), _template(theta))


def eager() -> Expert:
    """Plain Python for eight equations, NumPy for 88."""

    def columns(t: float, y: Vector, p: Any, transposed: Vector, band: Vector) -> Vector:
        by8, by6 = p[6] * y.item(5), p[6] * y.item(7)
        out = transposed.copy()
        out[5, 5] -= by6
        out[7, 5] -= by8
        out[5, 6] += by6
        out[7, 6] += by8
        out[5, 7] -= by6
        out[7, 7] -= by8
        return out

    def augmented(t: float, z: Vector, p: Any, transposed: Vector, band: Vector) -> Vector:
        y = z[:8]
        out, monomials = np.empty(88), np.ones(10)
        monomials[:8] = y
        monomials[8] = y.item(5) * y.item(7)
        out[:8] = rhs(t, y.tolist(), p)
        by = z[8:].reshape(10, 8) @ columns(t, y, p, transposed, band)
        np.add(by.ravel(), FORCING @ monomials, out=out[8:])
        return out

    def banded(t: float, z: Vector, p: Any, transposed: Vector, band: Vector) -> Vector:
        by8, by6 = p[6] * z.item(5), p[6] * z.item(7)
        out = band.copy()
        out[BAND, 5::8] -= by6
        out[BAND - 2, 7::8] -= by8
        out[BAND + 1, 5::8] += by6
        out[BAND - 1, 7::8] += by8
        out[BAND + 2, 5::8] -= by6
        out[BAND, 7::8] -= by8
        return out

    return by_odeint(
        "odeint, plain Python and NumPy", TIMES,
        (lambda t, y, p, *_: rhs(t, y.tolist(), p), None, HIRES_START, lambda theta: ATOL),
        (augmented, banded, AUGMENTED_START, tolerances),
        loss_gradient, band=BAND, arguments=_arguments,
    )  # fmt: skip


def eager_with_jacobian() -> Expert:
    """As :func:`eager`, the solve's Jacobian written out and dense."""
    made = eager()

    def columns(t: float, y: Vector, p: Any, transposed: Vector, _band: Vector) -> Vector:
        by8, by6 = p[6] * y.item(5), p[6] * y.item(7)
        out = transposed.copy()
        out[5, 5:8] += (-by6, by6, -by6)
        out[7, 5:8] += (-by8, by8, -by8)
        return out

    state = (lambda t, y, p, *_: rhs(t, y.tolist(), p), columns, HIRES_START, lambda theta: ATOL)
    dense = by_odeint("odeint, plain Python", TIMES, state, state, loss_gradient, arguments=_arguments)
    return dense._replace(gradient=None, prepare=made.prepare)


def compiled() -> Expert:
    """All of it by Numba."""
    import numba

    jit = numba.njit(error_model="numpy")
    reactants = jit(rhs)

    @jit
    def state(t, y, p):
        values = reactants(t, (y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7]), _tuple(p))
        out = np.empty(8)
        for i in range(8):
            out[i] = values[i]
        return out

    @jit
    def _tuple(p):
        return (p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9])

    @jit
    def columns(t, y, p):
        out = np.zeros((8, 8))
        k1, k2, k3, k4, k5, k6, kplus, kminus, kstar, _ = _tuple(p)
        by8, by6 = kplus * y[5], kplus * y[7]
        out[0, 0], out[1, 0], out[2, 0] = -k1, k2, k6
        out[0, 1], out[1, 1] = k1, -k2 - k3
        out[2, 2], out[3, 2], out[4, 2] = -k6 - k1, k2, k5
        out[1, 3], out[2, 3], out[3, 3] = k3, k1, -k4 - k2
        out[4, 4], out[5, 4], out[6, 4] = -k1 - k5, k2, k2
        out[3, 5], out[4, 5], out[5, 5], out[6, 5], out[7, 5] = k4, k1, -k2 - by6, kminus, -by8
        out[5, 6], out[6, 6], out[7, 6] = by6, -k2 - kminus - kstar, by8
        out[5, 7], out[6, 7], out[7, 7] = -by6, k2 + kminus + kstar, -by8
        return out

    @jit
    def augmented(t, z, p):
        k1, k2, k3, k4, k5, k6, kplus, kminus, kstar, oks = _tuple(p)
        out = np.empty(88)
        y1, y2, y3, y4, y5, y6, y7, y8 = z[0], z[1], z[2], z[3], z[4], z[5], z[6], z[7]
        for b in range(11):
            i = 8 * b
            s1, s2, s3, s4, s5, s6, s7, s8 = (
                z[i], z[i + 1], z[i + 2], z[i + 3], z[i + 4], z[i + 5], z[i + 6], z[i + 7],
            )  # fmt: skip
            binding = kplus * y6 * y8 if b == 0 else kplus * (y6 * s8 + y8 * s6)
            release = (k2 + kminus + kstar) * s7
            out[i] = -k1 * s1 + k2 * s2 + k6 * s3
            out[i + 1] = k1 * s1 - (k2 + k3) * s2
            out[i + 2] = -(k6 + k1) * s3 + k2 * s4 + k5 * s5
            out[i + 3] = k3 * s2 + k1 * s3 - (k4 + k2) * s4
            out[i + 4] = -(k1 + k5) * s5 + k2 * (s6 + s7)
            out[i + 5] = -binding + k4 * s4 + k1 * s5 - k2 * s6 + kminus * s7
            out[i + 6] = binding - release
            out[i + 7] = release - binding
        out[0] += oks
        out[8] -= y1
        out[9] += y1
        out[10] -= y3
        out[11] += y3
        out[12] -= y5
        out[13] += y5
        out[16] += y2
        out[17] -= y2
        out[18] += y4
        out[19] -= y4
        out[20] += y6 + y7
        out[21] -= y6
        out[22] -= y7
        out[23] += y7
        out[25] -= y2
        out[27] += y2
        out[35] -= y4
        out[37] += y4
        out[42] += y5
        out[44] -= y5
        out[48] += y3
        out[50] -= y3
        bound = y6 * y8
        out[61] -= bound
        out[62] += bound
        out[63] -= bound
        out[69] += y7
        out[70] -= y7
        out[71] += y7
        out[78] -= y7
        out[79] += y7
        out[80] += 1.0
        return out

    @jit
    def banded(t, z, p):
        block = columns(t, z, p)
        out = np.zeros((15, 88))
        for b in range(11):
            for j in range(8):
                for i in range(8):
                    out[7 + i - j, 8 * b + j] = block[j, i]
        return out

    def arguments(theta: Vector) -> tuple[Any, ...]:
        return (theta,)

    gradients = by_odeint(
        "odeint, Numba", TIMES, (state, None, HIRES_START, lambda theta: ATOL),
        (augmented, banded, AUGMENTED_START, tolerances), loss_gradient, band=BAND, arguments=arguments,
    )  # fmt: skip
    alone = (state, columns, HIRES_START, lambda theta: ATOL)
    solves = by_odeint("odeint, Numba", TIMES, alone, alone, loss_gradient, arguments=arguments)
    return gradients._replace(solve=solves.solve)


def radau() -> Expert:
    """``solve_ivp`` with its implicit Runge-Kutta method; solved only."""
    made = eager_with_jacobian()

    def plain(t: float, y: Vector, p: Any, *_: Any) -> Any:
        return rhs(t, y.tolist(), p)

    def jacobian(t: float, y: Vector, p: Any, transposed: Vector, _band: Vector) -> Vector:
        by8, by6 = p[6] * y.item(5), p[6] * y.item(7)
        out = transposed.T.copy()
        out[5:8, 5] += (-by6, by6, -by6)
        out[5:8, 7] += (-by8, by8, -by8)
        return out

    state = (plain, jacobian, HIRES_START, lambda theta: ATOL)
    solves = by_solve_ivp(
        "Radau, plain Python", "Radau", HIRES_TIMES, state, state, loss_gradient, arguments=_arguments
    )
    return solves._replace(gradient=None, prepare=made.prepare)


assert len(HIRES_RATES) == 10
EXPERTS: Experts = {"hires": (eager, eager_with_jacobian, compiled, radau)}

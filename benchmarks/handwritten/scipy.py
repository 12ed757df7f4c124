"""SciPy by hand: ``solve_ivp`` on the problem, and on the problem with its forward sensitivity equations.

Parameters are plain floats and scalar equations compute with floats, which is far faster than with NumPy scalars.
Implicit methods get an analytic Jacobian, with sensitivities too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.sparse import csc_matrix, identity, kron

from handwritten import Handwritten

Vector = NDArray[np.float64]
RTOL, ATOL = 1e-6, 1e-8


def lotka_volterra() -> Handwritten:
    """Two states, four parameters, Runge-Kutta 5(4)."""
    a, b, c, d = 1.5, 1.0, 3.0, 1.0
    times = np.linspace(0.5, 10.0, 20)
    start = np.array([1.0, 1.0])
    start_with_sensitivities = np.concatenate([start, np.zeros(8)])
    atol = np.full(2, ATOL)
    atol_with_sensitivities = np.concatenate([atol, np.repeat(ATOL / np.array([a, b, c, d]), 2)])

    def rhs(t: float, z: Vector) -> Vector:
        x, y = z.tolist()
        return np.array([a * x - b * x * y, -c * y + d * x * y])

    def augmented(t: float, z: Vector) -> Vector:
        x, y = z[:2].tolist()
        jacobian = np.array([[a - b * y, -b * x], [d * y, d * x - c]])
        forcing = np.array([[x, 0.0], [-x * y, 0.0], [0.0, -y], [0.0, x * y]])
        out = np.empty(10)
        out[:2] = a * x - b * x * y, -c * y + d * x * y
        out[2:] = (z[2:].reshape(4, 2) @ jacobian.T + forcing).ravel()
        return out

    def solve() -> Vector:
        return solve_ivp(rhs, (0.0, 10.0), start, method="RK45", t_eval=times, rtol=RTOL, atol=atol).y.T

    def gradient() -> tuple[float, Vector]:
        solution = solve_ivp(
            augmented, (0.0, 10.0), start_with_sensitivities, method="RK45", t_eval=times, rtol=RTOL,
            atol=atol_with_sensitivities,
        ).y  # fmt: skip
        ys, sensitivities = solution[:2], solution[2:].reshape(4, 2, -1)
        return float(np.sum(ys**2)), np.einsum("it,pit->p", 2 * ys, sensitivities)

    return Handwritten("rk45", "forward", "eager", RTOL, ATOL, solve, gradient, _done)


def robertson() -> Handwritten:
    """Three stiff states, three parameters, Radau IIA."""
    k1, k2, k3 = 0.04, 3e7, 1e4
    times = np.array([1e-2, 0.1, 0.4, 1, 4, 10, 40, 100, 400, 1e3, 4e3, 1e4, 4e4, 1e5])
    start = np.array([1.0, 0.0, 0.0])
    start_with_sensitivities = np.concatenate([start, np.zeros(9)])
    scale = np.array([1.0, 1e-5, 1.0])
    atol = ATOL * np.array([1.0, 1e-6, 1.0])
    atol_with_sensitivities = np.concatenate([atol, *(atol / k for k in (k1, k2, k3))])

    def rhs(t: float, z: Vector) -> Vector:
        y1, y2, y3 = z.tolist()
        slow, fast, back = k1 * y1, k2 * y2 * y2, k3 * y2 * y3
        return np.array([back - slow, slow - back - fast, fast])

    def jacobian(t: float, z: Vector) -> Vector:
        _, y2, y3 = z[:3].tolist()
        return np.array([[-k1, k3 * y3, k3 * y2], [k1, -k3 * y3 - 2 * k2 * y2, -k3 * y2], [0.0, 2 * k2 * y2, 0.0]])

    def augmented(t: float, z: Vector) -> Vector:
        y1, y2, y3 = z[:3].tolist()
        slow, fast, back = k1 * y1, k2 * y2 * y2, k3 * y2 * y3
        forcing = np.array([[-y1, y1, 0.0], [0.0, -y2 * y2, y2 * y2], [y2 * y3, -y2 * y3, 0.0]])
        out = np.empty(12)
        out[:3] = back - slow, slow - back - fast, fast
        out[3:] = (z[3:].reshape(3, 3) @ jacobian(t, z).T + forcing).ravel()
        return out

    def augmented_jacobian(t: float, z: Vector) -> Vector:
        """Second derivatives: d(J S + f_k)/dy is H(S_2, S_3), and k's own column of J, over k."""
        y2, y3 = z[1:3].tolist()
        block = jacobian(t, z)
        out = np.zeros((12, 12))
        out[:3, :3] = out[3:6, 3:6] = out[6:9, 6:9] = out[9:, 9:] = block
        for row, (_, s2, s3) in zip((3, 6, 9), z[3:].reshape(3, 3).tolist(), strict=True):
            out[row, 1:3] = k3 * s3, k3 * s2
            out[row + 1, 1:3] = -k3 * s3 - 2 * k2 * s2, -k3 * s2
            out[row + 2, 1] = 2 * k2 * s2
        out[3, 0] -= 1.0
        out[4, 0] += 1.0
        out[7, 1] -= 2 * y2
        out[8, 1] += 2 * y2
        out[9, 1:3] += y3, y2
        out[10, 1:3] -= y3, y2
        return out

    def solve() -> Vector:
        return solve_ivp(rhs, (0.0, 1e5), start, method="Radau", t_eval=times, rtol=RTOL, atol=atol, jac=jacobian).y.T

    def gradient() -> tuple[float, Vector]:
        solution = solve_ivp(
            augmented, (0.0, 1e5), start_with_sensitivities, method="Radau", t_eval=times, rtol=RTOL,
            atol=atol_with_sensitivities, jac=augmented_jacobian,
        ).y  # fmt: skip
        ys, sensitivities = solution[:3] / scale[:, None], solution[3:].reshape(3, 3, -1)
        return float(np.sum(ys**2)), np.einsum("it,pit->p", 2 * ys / scale[:, None], sensitivities)

    return Handwritten("radau", "forward", "eager", RTOL, ATOL, solve, gradient, _done)


def brusselator_1d() -> Handwritten:
    """Eighty states on a ring, three parameters, BDF."""
    feed, rate, alpha, n = 1.0, 3.0, 0.02, 40
    x = np.linspace(0.0, 1.0, n)
    times = np.linspace(0.5, 10.0, 20)
    start = np.concatenate([1 + np.sin(2 * np.pi * x), np.full(n, 3.0)])
    start_with_sensitivities = np.concatenate([start, np.zeros(6 * n)])
    atol = np.full(2 * n, ATOL)
    atol_with_sensitivities = np.concatenate([atol, *(atol / p for p in (feed, rate, alpha))])
    ring = np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0) - 2 * np.eye(n)
    diffusion = alpha * 1600.0 * ring
    diagonal = np.arange(n)

    def laplacian(u: Vector) -> Vector:
        padded = np.concatenate((u[-1:], u, u[:1]))
        return 1600.0 * (padded[:-2] - 2 * u + padded[2:])

    def rhs(t: float, z: Vector) -> Vector:
        u, v = z[:n], z[n:]
        reaction = u * u * v
        out = np.empty(2 * n)
        out[:n] = feed + reaction - (rate + 1) * u + alpha * laplacian(u)
        out[n:] = rate * u - reaction + alpha * laplacian(v)
        return out

    def jacobian(t: float, z: Vector) -> Vector:
        u, v = z[:n], z[n : 2 * n]
        out = np.zeros((2 * n, 2 * n))
        out[:n, :n] = out[n:, n:] = diffusion
        by_u, by_v = 2 * u * v - rate, u * u
        out[diagonal, diagonal] += by_u - 1
        out[diagonal, n + diagonal] = by_v
        out[n + diagonal, diagonal] = -by_u
        out[n + diagonal, n + diagonal] -= by_v
        return out

    def augmented(t: float, z: Vector) -> Vector:
        u, v = z[:n], z[n : 2 * n]
        out = np.empty(8 * n)
        out[: 2 * n] = rhs(t, z[: 2 * n])
        by = z[2 * n :].reshape(3, 2 * n) @ jacobian(t, z).T
        by[0, :n] += 1.0
        by[1, :n] -= u
        by[1, n:] += u
        by[2, :n] += laplacian(u)
        by[2, n:] += laplacian(v)
        out[2 * n :] = by.ravel()
        return out

    def augmented_jacobian(t: float, z: Vector) -> csc_matrix:
        """One block a column of the sensitivities; the second derivatives below the first block buy nothing here."""
        return kron(identity(4), csc_matrix(jacobian(t, z)), format="csc")

    def solve() -> Vector:
        return solve_ivp(rhs, (0.0, 10.0), start, method="BDF", t_eval=times, rtol=RTOL, atol=atol, jac=jacobian).y.T

    def gradient() -> tuple[float, Vector]:
        solution = solve_ivp(
            augmented, (0.0, 10.0), start_with_sensitivities, method="BDF", t_eval=times, rtol=RTOL,
            atol=atol_with_sensitivities, jac=augmented_jacobian,
        ).y  # fmt: skip
        ys, sensitivities = solution[: 2 * n], solution[2 * n :].reshape(3, 2 * n, -1)
        return float(np.sum(ys**2)), np.einsum("it,pit->p", 2 * ys, sensitivities)

    return Handwritten("bdf", "forward", "eager", RTOL, ATOL, solve, gradient, _done)


def _done(_output: object) -> None:
    """NumPy computes before it returns."""


CASES = {"lotka-volterra": lotka_volterra, "robertson": robertson, "brusselator-1d": brusselator_1d}

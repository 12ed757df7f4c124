"""scikit-SUNDAE by hand: CVODE on equations and a Jacobian that Numba compiled. The library takes no gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sksundae.cvode import CVODE

from handwritten import Handwritten

Vector = NDArray[np.float64]
RTOL, ATOL = 1e-6, 1e-8


@njit
def _lotka_volterra(t, y, yp, p):
    yp[0] = p[0] * y[0] - p[1] * y[0] * y[1]
    yp[1] = -p[2] * y[1] + p[3] * y[0] * y[1]


@njit
def _lotka_volterra_jacobian(t, y, out, p):
    out[0, 0] = p[0] - p[1] * y[1]
    out[0, 1] = -p[1] * y[0]
    out[1, 0] = p[3] * y[1]
    out[1, 1] = -p[2] + p[3] * y[0]


@njit
def _robertson(t, y, yp, p):
    slow, fast, back = p[0] * y[0], p[1] * y[1] * y[1], p[2] * y[1] * y[2]
    yp[0] = back - slow
    yp[1] = slow - back - fast
    yp[2] = fast


@njit
def _robertson_jacobian(t, y, out, p):
    out[0, 0] = -p[0]
    out[0, 1] = p[2] * y[2]
    out[0, 2] = p[2] * y[1]
    out[1, 0] = p[0]
    out[1, 1] = -p[2] * y[2] - 2 * p[1] * y[1]
    out[1, 2] = -p[2] * y[1]
    out[2, 1] = 2 * p[1] * y[1]


def lotka_volterra() -> Handwritten:
    """Two states, four parameters, Adams methods."""
    functions = (_lotka_volterra, _lotka_volterra_jacobian)
    times = np.linspace(0.5, 10.0, 20)
    return _program("cvode_adams", functions, times, [1.0, 1.0], [1.5, 1.0, 3.0, 1.0], [1.0, 1.0])


def robertson() -> Handwritten:
    """Three stiff states, three parameters, BDF."""
    times = np.array([1e-2, 0.1, 0.4, 1, 4, 10, 40, 100, 400, 1e3, 4e3, 1e4, 4e4, 1e5])
    functions = (_robertson, _robertson_jacobian)
    return _program("cvode_bdf", functions, times, [1.0, 0.0, 0.0], [0.04, 3e7, 1e4], [1.0, 1e-6, 1.0])


def _program(
    method: str, functions: tuple[Any, Any], times: Vector, y0: list[float], p: list[float], scale: list[float]
) -> Handwritten:
    equations, jacobian = functions
    parameters, start, span = np.array(p), np.array(y0), np.concatenate([[0.0], times])

    def rhs(t: float, y: Vector, yp: Vector) -> None:
        equations(t, y, yp, parameters)

    def jac(t: float, y: Vector, _yp: Vector, out: Vector) -> None:
        jacobian(t, y, out, parameters)

    name = {"cvode_adams": "Adams", "cvode_bdf": "BDF"}[method]
    atol = ATOL * np.array(scale)
    solver = CVODE(rhs, jacfn=jac, method=name, rtol=RTOL, atol=atol, max_num_steps=1_000_000)

    def solve() -> Vector:
        return solver.solve(span, start).y[1:]

    return Handwritten(method, "none", "compiled", RTOL, ATOL, solve, None, _done)


def _done(output: Any) -> None:
    """Calls return when they are done."""


CASES = {"lotka-volterra": lotka_volterra, "robertson": robertson}

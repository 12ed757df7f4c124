"""diffsol by hand: models in DiffSL, forward sensitivities under error control."""

from __future__ import annotations

from typing import Any

import numpy as np
import pydiffsol
from numpy.typing import NDArray

from handwritten import Handwritten

Vector = NDArray[np.float64]
RTOL, ATOL = 1e-6, 1e-8
LOTKA_VOLTERRA = """
in_i { a = 1.5, b = 1.0, c = 3.0, d = 1.0 }
u_i { x = 1.0, y = 1.0 }
F_i { a*x - b*x*y, d*x*y - c*y }
"""
ROBERTSON = """
in_i { k1 = 0.04, k2 = 3e7, k3 = 1e4 }
u_i { x = 1.0, y = 0.0, z = 0.0 }
F_i { k3*y*z - k1*x, k1*x - k3*y*z - k2*y*y, k2*y*y }
"""


def lotka_volterra() -> Handwritten:
    """Two states, four parameters, Runge-Kutta 5(4)."""
    times = np.linspace(0.5, 10.0, 20)
    return _program("tsit45", LOTKA_VOLTERRA, times, [1.5, 1.0, 3.0, 1.0], [1.0, 1.0], ATOL)


def robertson() -> Handwritten:
    """Three stiff states, three parameters, BDF."""
    times = np.array([1e-2, 0.1, 0.4, 1, 4, 10, 40, 100, 400, 1e3, 4e3, 1e4, 4e4, 1e5])
    return _program("bdf", ROBERTSON, times, [0.04, 3e7, 1e4], [1.0, 1e-5, 1.0], ATOL * 1e-6)


def _program(method: str, code: str, times: Vector, p: list[float], scale: list[float], atol: float) -> Handwritten:
    ode = pydiffsol.Ode(code, matrix_type=pydiffsol.nalgebra_dense, ode_solver=getattr(pydiffsol, method))
    ode.rtol, ode.atol, ode.sens_rtol, ode.sens_atol = RTOL, atol, RTOL, atol
    theta, weights = np.array(p), np.array(scale)[:, None] ** -2.0

    def solve() -> Vector:
        return ode.solve_dense(theta, times).ys.T

    def gradient() -> tuple[float, Vector]:
        solution = ode.solve_fwd_sens(theta, times)
        weighted = weights * solution.ys
        return float(np.sum(weighted * solution.ys)), np.tensordot(solution.sens, 2 * weighted, 2)

    return Handwritten(method, "forward-controlled", "compiled", RTOL, ATOL, solve, gradient, _done)


def _done(output: Any) -> None:
    """Calls return when they are done."""


CASES = {"lotka-volterra": lotka_volterra, "robertson": robertson}

"""CasADi by hand: CVODES on symbolic equations, compiled as C; loss and gradient are one function."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from handwritten import Handwritten

Vector = NDArray[np.float64]
RTOL, ATOL = 1e-6, 1e-8


def lotka_volterra() -> Handwritten:
    """Two states, four parameters, Adams methods."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    a, b, c, d = parameters = [ca.SX.sym(name) for name in "abcd"]
    ode = ca.vertcat(a * x - b * x * y, -c * y + d * x * y)
    system = {"x": ca.vertcat(x, y), "p": ca.vertcat(*parameters), "ode": ode}
    adams = {"linear_multistep_method": "adams", "nonlinear_solver_iteration": "functional"}
    times = np.linspace(0.5, 10.0, 20)
    return _program("cvodes_adams", system, times, [1.0, 1.0], [1.5, 1.0, 3.0, 1.0], [1.0, 1.0], ATOL, adams)


def robertson() -> Handwritten:
    """Three stiff states, three parameters, BDF."""
    y1, y2, y3 = states = [ca.SX.sym(name) for name in ("y1", "y2", "y3")]
    k1, k2, k3 = parameters = [ca.SX.sym(name) for name in ("k1", "k2", "k3")]
    slow, fast, back = k1 * y1, k2 * y2 * y2, k3 * y2 * y3
    ode = ca.vertcat(back - slow, slow - back - fast, fast)
    system = {"x": ca.vertcat(*states), "p": ca.vertcat(*parameters), "ode": ode}
    times = np.array([1e-2, 0.1, 0.4, 1, 4, 10, 40, 100, 400, 1e3, 4e3, 1e4, 4e4, 1e5])
    scale = [1.0, 1e-5, 1.0]
    return _program("cvodes_bdf", system, times, [1.0, 0.0, 0.0], [0.04, 3e7, 1e4], scale, ATOL * 1e-6, {})


def _program(
    method: str,
    system: dict[str, Any],
    times: Vector,
    y0: list[float],
    p: list[float],
    scale: list[float],
    atol: float,
    options: dict[str, Any],
) -> Handwritten:
    folder = tempfile.mkdtemp()
    jit = {"flags": ["-O3"], "directory": folder + os.sep}
    compiled = {"jit": True, "compiler": "shell", "jit_options": jit}
    settings = {"reltol": RTOL, "abstol": atol, "max_num_steps": 1_000_000, **options, **compiled}
    theta = ca.MX.sym("theta", len(p))
    with contextlib.chdir(folder):
        integrator = ca.integrator("F", "cvodes", system, 0.0, times, settings)
        states = integrator(x0=y0, p=theta)["xf"]
        loss = ca.sumsqr(states / ca.repmat(ca.DM(scale), 1, len(times)))
        value_and_slopes = ca.Function("g", [theta], [loss, ca.jtimes(loss, theta, ca.DM.eye(len(p)))])

    def solve() -> Vector:
        return integrator(x0=y0, p=p)["xf"].full().T

    def gradient() -> tuple[float, Vector]:
        value, slopes = value_and_slopes(p)
        return float(value), slopes.full().ravel()

    return Handwritten(method, "forward", "compiled", RTOL, ATOL, solve, gradient, _done)


def _done(output: Any) -> None:
    """Calls return when they are done."""


CASES = {"lotka-volterra": lotka_volterra, "robertson": robertson}

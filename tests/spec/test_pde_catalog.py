"""The pde suite against closed forms, published digits, invariants and independent transcriptions.

Every problem is solved from its emitted NumPy source with SciPy's Radau method and the emitted Jacobian. Right-hand
sides are also written out here a second time, point by point, without any array operator.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, exp, pi, sin, sqrt, tanh

import numpy as np
import pytest
from stubs.catalog_solver import Array, emitted, exact_states, integrate, invariant_drift, published_errors

from sciml_bench.spec import catalog

NAMES = sorted(name for name in catalog.names() if catalog.path(name).parent.name == "pde")
#: Its 2048 equations take Radau minutes; the smaller torus is the same file but for its grid.
ONLY_TRANSCRIBED = "brusselator-2d-32"

RTOL, ATOL = 1e-7, 1e-9
#: These problems damp errors or carry them along, so the end is as good as a few steps; 100 tolerances are five digits.
BOUND = 100 * RTOL
#: Linear invariants are kept by every Runge-Kutta method, so only rounding and Newton's residuals can touch them.
INVARIANT_BOUND = {"mass": 1e-9, "energy": BOUND}


@pytest.mark.parametrize("name", [name for name in NAMES if name != ONLY_TRANSCRIBED])
def test_solution(name: str) -> None:
    """Published digits, the closed form, and invariants."""
    problem = catalog.load(name)
    t1 = float(problem.t1)
    states = integrate(problem, [t1], method="Radau", rtol=RTOL, atol=ATOL, implicit=True)
    assert {label: error for label, error in published_errors(problem, states).items() if error > BOUND} == {}
    drift = invariant_drift(problem, states)
    assert {label: value for label, value in drift.items() if value > INVARIANT_BOUND[label]} == {}
    if problem.exact:
        np.testing.assert_allclose(states[t1], exact_states(problem, [t1])[t1], rtol=BOUND, atol=BOUND)
        np.testing.assert_allclose(exact_states(problem, [0.0])[0.0], problem.numbers().y0, rtol=1e-13)


def test_suite_is_complete() -> None:
    assert set(NAMES) == set(TRANSCRIPTIONS)
    for name in NAMES:
        problem = catalog.load(name)
        assert problem.suite == "pde"
        assert problem.published or problem.exact or problem.tier == "heavy"
        assert problem.source.citation


def periodic(n: int, point: Callable[[float, float, float, float, float], float]) -> Callable[[float, Array], Array]:
    """du[i] from the values two places to the left up to two places to the right, on a ring of n points."""

    def rhs(t: float, u: Array) -> Array:
        return np.array([point(*(float(u[(i + k) % n]) for k in (-2, -1, 0, 1, 2))) for i in range(n)])

    return rhs


def between_zeros(n: int, point: Callable[[float, float, float], float]) -> Callable[[float, Array], Array]:
    """du[i] from a value and its neighbours, with zeros beyond both ends."""

    def rhs(t: float, u: Array) -> Array:
        padded = [0.0, *map(float, u), 0.0]
        return np.array([point(*padded[i : i + 3]) for i in range(n)])

    return rhs


def brusselator(n: int) -> tuple[list[float], Callable[[float, Array], Array]]:
    """Initial state and right-hand side on an n x n torus; the disc is decided in integers."""
    last = n - 1
    c = 10 * last**2
    u0 = [22 * sqrt(j / last * (1 - j / last)) ** 3 for _ in range(n) for j in range(n)]
    v0 = [27 * sqrt(i / last * (1 - i / last)) ** 3 for i in range(n) for _ in range(n)]

    def rhs(t: float, y: Array) -> Array:
        u, v = y[: n * n].reshape(n, n), y[n * n :].reshape(n, n)
        du, dv = np.zeros((n, n)), np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                near = [((i - 1) % n, j), ((i + 1) % n, j), (i, (j - 1) % n), (i, (j + 1) % n)]
                inside = (10 * i - 3 * last) ** 2 + (10 * j - 6 * last) ** 2 <= last**2
                production = u[i, j] ** 2 * v[i, j]
                du[i, j] = 1 + production - 4.4 * u[i, j] + c * (sum(u[k] for k in near) - 4 * u[i, j])
                du[i, j] += 5 if inside and t >= 1.1 else 0
                dv[i, j] = 3.4 * u[i, j] - production + c * (sum(v[k] for k in near) - 4 * v[i, j])
        return np.concatenate([du.ravel(), dv.ravel()])

    return u0 + v0, rhs


def burgers(_a: float, b: float, u: float, d: float, _e: float) -> float:
    h = 1 / 128
    return -(u * (d - b) + d**2 - b**2) / (6 * h) + 0.01 * (b - 2 * u + d) / h**2


def kuramoto_sivashinsky(a: float, b: float, u: float, d: float, e: float) -> float:
    h = 0.25
    second, fourth = (b - 2 * u + d) / h**2, (a - 4 * b + 6 * u - 4 * d + e) / h**4
    return -30 / 3 * (u * (d - b) + d**2 - b**2) / (2 * h) - 15 * (second + fourth / 4)


def korteweg_de_vries(a: float, b: float, u: float, d: float, e: float) -> float:
    h = 0.25
    third = (e - 2 * d + 2 * b - a) / (2 * h**3)
    return -6 * 5 / 3 * (u * (d - b) + d**2 - b**2) / (2 * h) - 5 * third


#: name -> (t1, initial state, right-hand side with numbers in place of parameters)
TRANSCRIPTIONS: dict[str, tuple[float, list[float], Callable[[float, Array], Array]]] = {
    "heat": (
        0.2, [sin(pi * j / 128) for j in range(1, 128)], between_zeros(127, lambda b, u, d: 128**2 * (b - 2 * u + d)),
    ),
    "allen-cahn": (
        1, [cos(2 * pi * (-2 + 4 * j / 129)) for j in range(1, 129)],
        between_zeros(128, lambda b, u, d: 3 * (u - u**3) + 1e-3 * (b - 2 * u + d) / (4 / 129) ** 2),
    ),
    "burgers": (1, [exp(-((i / 128 - 0.5) ** 2) / (2 * 0.05**2)) for i in range(128)], periodic(128, burgers)),
    "kuramoto-sivashinsky": (
        1, [cos(2 * pi * (-16 + i / 4) / 16) for i in range(128)], periodic(128, kuramoto_sivashinsky),
    ),
    "korteweg-de-vries": (1, [cos(pi * (-16 + i / 4) / 16) for i in range(128)], periodic(128, korteweg_de_vries)),
    "fisher-kpp": (
        5, [(tanh((0.04 * i - 0.4) / 0.02) - tanh((0.04 * i - 0.6) / 0.02)) / 2 for i in range(26)],
        periodic(26, lambda a, b, u, d, e: u * (1 - u) + 0.01 * (b - 2 * u + d) / 0.04**2),
    ),
    "brusselator-2d-16": (11.5, *brusselator(16)),
    "brusselator-2d-32": (11.5, *brusselator(32)),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSCRIPTIONS)
def test_transcription(name: str) -> None:
    """Span, initial state and right-hand side agree with the second transcription at random states."""
    problem = catalog.load(name)
    t1, y0, rhs = TRANSCRIPTIONS[name]
    numbers, module = problem.numbers(), emitted(problem)
    assert (numbers.t0, numbers.t1) == (0, t1)
    np.testing.assert_allclose(numbers.y0, y0, rtol=0, atol=1e-13)
    rng = np.random.default_rng(7)
    for t in (0.3 * t1, *(side for b in numbers.breakpoints for side in (b - 1e-9, b, b + 1e-9))):
        y = np.array(y0) + rng.normal(size=problem.n_states)
        expected = rhs(t, y)
        found = module.rhs(t, y, np.array(numbers.p))
        # Differences divide by powers of the grid step, so rounding scales with the largest value.
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.max(np.abs(expected)))

"""The nonstiff suite against the literature: published digits, closed forms, invariants and published gradients.

Every problem is solved from its emitted NumPy source with SciPy's DOP853. The end points of ACM Algorithm 648, which
its authors computed for the DETEST problems, are held as a second, independent witness.
"""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp
from scipy.integrate import solve_ivp
from stubs.catalog_solver import (
    Array,
    States,
    emitted,
    exact_states,
    integrate,
    invariant_drift,
    mixed_error,
    published_errors,
)
from sympy import Rational, lambdify

from sciml_bench.spec import Problem, catalog
from sciml_bench.spec.model import symbol

NAMES = sorted(name for name in catalog.names() if catalog.path(name).parent.name == "nonstiff")

RTOL, ATOL = 1e-12, 1e-14
#: DOP853 controls the error of each step. Over these spans a well-conditioned problem gathers at most a few hundred
#: steps' worth of them, so 1000 tolerances, nine digits, leave room for another machine's rounding.
BOUND = 1000 * RTOL
#: Problems that magnify errors: chaos (the Lorenz system by 1e7 as far as t = 20) and close encounters.
LOOSER_BOUND = {"lorenz": 1e-8, "arenstorf": 1e-8, "pleiades": 1e-8}

EXPECTED = {
    *(f"detest-nonstiff-{letter}{i}" for letter, count in (("a", 5), ("b", 5), ("c", 4)) for i in range(1, count + 1)),
    *(f"detest-nonstiff-e{i}" for i in (1, 3, 4, 5)),
    *(f"kepler-e0{i}" for i in (1, 3, 5, 7, 9)),
    "arenstorf", "fitzhugh-nagumo", "growth-factors", "henon-heiles", "linear", "lorenz", "lotka-volterra",
    "nonlinear-chemistry", "pendulum", "pleiades", "rigid-body", "rossler", "van-der-pol",
}  # fmt: skip

#: End points at t = 20 printed in ACM Algorithm 648 (Enright and Pryce 1987); some are good to seven digits only.
ALGORITHM_648 = {
    "detest-nonstiff-a1": (2.061153353012535e-09,),
    "detest-nonstiff-a2": (2.182178902359887e-01,),
    "detest-nonstiff-a3": (2.491650271850414,),
    "detest-nonstiff-a4": (1.773016648131483e01,),
    "detest-nonstiff-a5": (-7.887826688964196e-01,),
    "detest-nonstiff-b1": (6.761876008576667e-01, 1.860816099640036e-01),
    "detest-nonstiff-b2": (1.000000001030576, 1.0, 9.999999989694235e-01),
    "detest-nonstiff-b3": (2.061153488557776e-09, 5.257228022048349e-02, 9.474277177183630e-01),
    "detest-nonstiff-b4": (9.826950928005993e-01, 2.198447081694832, 9.129452507276399e-01),
    "detest-nonstiff-b5": (-9.396570798729192e-01, -3.421177754000779e-01, 7.414126596199957e-01),
    "detest-nonstiff-c1": (
        2.061153622240064e-09, 4.122307244619555e-08, 4.122307244716968e-07, 2.748204829855288e-06,
        1.374102414941961e-05, 5.496409659803266e-05, 1.832136553274552e-04, 5.234675866508716e-04,
        1.308668966628220e-03, 9.979127409508656e-01,
    ),
    "detest-nonstiff-c2": (
        2.061153577984930e-09, 2.061153573736588e-09, 2.061153569488245e-09, 2.061153565239902e-09,
        2.061153560991560e-09, 2.061153556743217e-09, 2.061153552494874e-09, 2.061153548246532e-09,
        2.061153543998189e-09, 9.999999814496180e-01,
    ),
    "detest-nonstiff-c3": (
        2.948119211022058e-03, 5.635380154844266e-03, 7.829072515926013e-03, 9.348257908594937e-03,
        1.007943610301970e-02, 9.982674171429909e-03, 9.088693332766085e-03, 7.489115195185912e-03,
        5.322964130953349e-03, 2.762434379029886e-03,
    ),
    "kepler-e01": (2.198835352008397e-01, 9.427076846341813e-01, -9.787659841058176e-01, 3.287977990962036e-01),
    "kepler-e03": (-1.777027357140412e-01, 9.467784719905892e-01, -1.030294163192969, 1.211074890053952e-01),
    "kepler-e05": (-5.780432953035361e-01, 8.633840009194193e-01, -9.595083730380727e-01, -6.504915126712089e-02),
    "kepler-e07": (-9.538990293416394e-01, 6.907409024219432e-01, -8.212674270877433e-01, -1.539574259125825e-01),
    "kepler-e09": (-1.295266250987574, 4.003938963792321e-01, -6.775390924707566e-01, -1.270838154278686e-01),
    "detest-nonstiff-e1": (1.456723600728308e-01, -9.883500195574063e-02),
    "van-der-pol": (2.008149762174948, -4.250887527320057e-02),
    "detest-nonstiff-e3": (-1.004178858647128e-01, 2.411400132095954e-01),
    "detest-nonstiff-e4": (3.395091444646555e01, 2.767822659672869e-01),
    "detest-nonstiff-e5": (1.411797390542629e01, 2.400000000000002),
}  # fmt: skip


def test_suite_is_complete() -> None:
    """All problems are there, in their suite, and each has digits or a closed form to be held against."""
    assert set(NAMES) == EXPECTED
    for name in NAMES:
        problem = catalog.load(name)
        assert problem.suite == "nonstiff"
        assert problem.published or problem.exact
        assert problem.source.citation


@pytest.mark.parametrize("name", NAMES)
def test_solution(name: str) -> None:
    """Published digits, the closed form at saved times, end points of the literature, and invariants."""
    problem, bound = catalog.load(name), LOOSER_BOUND.get(name, BOUND)
    stops = sorted({*problem.numbers().save_times[3::4], *(float(b.t) for b in problem.published), float(problem.t1)})
    states = integrate(problem, stops, method="DOP853", rtol=RTOL, atol=ATOL)
    assert {label: error for label, error in published_errors(problem, states).items() if error > bound} == {}
    assert {label: drift for label, drift in invariant_drift(problem, states).items() if drift > bound} == {}
    if problem.exact:
        check_exact(problem, states)
    for label, expected in zip(problem.state_labels, ALGORITHM_648.get(name, ()), strict=False):
        found = float(states[20.0][problem.state_labels.index(label)])
        assert mixed_error(problem, label, found, expected) < bound, label


def check_exact(problem: Problem, states: States) -> None:
    """The closed form at t0, where it must give the initial state, and at all computed states."""
    start = exact_states(problem, [float(problem.t0)])[float(problem.t0)]
    np.testing.assert_allclose(start, problem.numbers().y0, rtol=1e-14, atol=1e-14)
    scale = np.array(problem.numbers().atol_scale)
    for t, expected in exact_states(problem, list(states)).items():
        assert np.max(np.abs(states[t] - expected) / np.maximum(np.abs(expected), scale)) < BOUND


@pytest.mark.parametrize("name", [name for name in NAMES if catalog.load(name).exact])
def test_closed_form_for_other_parameters(name: str) -> None:
    """The closed form solves the equations identically in the parameters, so that it has exact gradients too."""
    problem = catalog.load(name)
    factors = (Rational(7, 10), Rational(11, 5))
    parameters = {symbol(q.name): q.values[0] * factors[i] for i, q in enumerate(problem.parameters)}
    exact = {symbol(state): expr.xreplace(parameters) for state, expr in problem.exact.items()}
    definitions = {symbol(d.name): d.expr.xreplace(parameters).xreplace(exact) for d in problem.definitions}
    for state, equation in problem.equations.items():
        rhs = equation.xreplace(parameters).xreplace(definitions).xreplace(exact)
        residual = lambdify(symbol("t"), exact[symbol(state)].diff(symbol("t")) - rhs, "mpmath")
        with mp.workdps(40):
            assert all(abs(residual(mp.mpf(t))) < 1e-30 for t in (0.25, 3.5, 19)), state


def test_c4_against_its_eigenvectors() -> None:
    """The published digits are a selection of the 51 components; the expansion in eigenvectors checks them all."""
    problem = catalog.load("detest-nonstiff-c4")
    matrix = np.diag(np.full(51, -2.0)) + np.diag(np.ones(50), 1) + np.diag(np.ones(50), -1)
    values, vectors = np.linalg.eigh(matrix)
    expected = vectors @ (np.exp(20 * values) * vectors[0])
    found = integrate(problem, [20.0], method="DOP853", rtol=RTOL, atol=ATOL)[20.0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def test_arenstorf_orbit_closes() -> None:
    """After one period the body is back, also in the components that are zero and have no relative digits."""
    problem = catalog.load("arenstorf")
    period = float(problem.t1)
    found = integrate(problem, [period], method="DOP853", rtol=RTOL, atol=ATOL)[period]
    np.testing.assert_allclose(found, problem.numbers().y0, rtol=0, atol=1e-7)


WITH_GRADIENTS = [name for name in NAMES if "published_gradient" in catalog.path(name).read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", WITH_GRADIENTS)
def test_published_gradients(name: str) -> None:
    """Published derivatives against the variational equation, built from the emitted Jacobians."""
    problem = catalog.load(name)
    labels = (*problem.parameter_labels, *(f"{label}(0)" for label in problem.state_labels))
    for t in sorted({float(block.t) for block in problem.published_gradients}):
        sensitivity = sensitivities(problem, t)
        for block in problem.published_gradients:
            if float(block.t) == t:
                row = sensitivity[problem.state_labels.index(block.of)]
                for label, (value, _digits) in block.values.items():
                    assert row[labels.index(label)] == pytest.approx(float(value), rel=1e-8), (block.of, label)


def sensitivities(problem: Problem, t1: float) -> Array:
    """d y(t1) / d (p, y0), shape (n_states, n_parameters + n_states)."""
    module, n = emitted(problem), problem.n_states
    p, y0 = np.array(problem.numbers().p), np.array(problem.numbers().y0)
    forcing = np.zeros((n, n))

    def rhs(t: float, z: Array) -> Array:
        y, s = z[:n], z[n:].reshape(n, -1)
        direct = np.hstack([module.parameter_jacobian(t, y, p), forcing])
        return np.concatenate([module.rhs(t, y, p), (module.jacobian(t, y, p) @ s + direct).ravel()])

    z0 = np.concatenate([y0, np.hstack([np.zeros((n, len(p))), np.eye(n)]).ravel()])
    solution = solve_ivp(rhs, (0, t1), z0, method="DOP853", rtol=1e-11, atol=1e-12, t_eval=[t1])
    assert solution.success, solution.message
    return solution.y[n:, -1].reshape(n, -1)

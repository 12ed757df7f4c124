"""The SciPy adapter: its sensitivities, its Newton matrices, its failures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from adapters.cells import catalog_task, source_task
from needs import skip_without
from scipy.integrate import solve_ivp

from sciml_bench.adapters.base import ProblemTraits
from sciml_bench.adapters.scipy import ADAPTER, sensitivities
from sciml_bench.adapters.scipy.program import METHODS, SciPyProgram
from sciml_bench.cli.main import main
from sciml_bench.emit import source
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Cell, Numbers, Point
from sciml_bench.spec import catalog

IMPLICIT = ("radau", "bdf", "lsoda", "odeint")


def scipy_program(problem, method):
    return SciPyProgram(catalog_task(problem, "scipy", method, "forward", "eager"))


def solved(program, theta, point):
    return program.read_solution(program.solve(program.prepare(theta, point)))


def differentiated(program, theta, point):
    return program.read_gradient(program.gradient(program.prepare(theta, point)))


@pytest.mark.parametrize(("method", "digits"), [("radau", 7.5), ("bdf", 5.0), ("lsoda", 5.0), ("odeint", 5.5)])
def test_robertson_reaches_the_published_end(method, digits):
    """Significant correct digits at t = 1e5 for rtol = 1e-6.

    LSODA's steps follow the roundings of the processor's BLAS: 643 of them reach 5.2 digits with OpenBLAS's kernels for
    AVX-512, 582 reach 6.3 with those for Haswell.
    """
    problem = catalog.load("robertson")
    numbers = problem.numbers()
    solution = solved(scipy_program("robertson", method), np.array(numbers.theta), Point(1e-6, 1e-8))
    published = np.array([0.01786592114209946, 7.274751468436319e-8, 0.9821340061103859])
    assert -np.log10(np.max(np.abs(solution.ys[-1] / published - 1))) > digits
    assert set(solution.statistics) == {"n_accepted", "n_rhs_evaluations", "n_jacobian_evaluations", "n_lu"}


@pytest.mark.parametrize("method", ["rk45", "radau", "lsoda"])
def test_steps_are_counted_anew_for_every_call(method):
    """``solve_ivp`` gives every step when it is not told which times to save."""
    program = scipy_program("robertson", method) if method == "radau" else scipy_program("lotka-volterra", method)
    numbers, point = program._numbers, Point(1e-6, 1e-6)
    system = program.prepare(np.array(numbers.theta), point)[0].state
    solver: Any = METHODS[method]
    free = solve_ivp(
        system.rhs, (numbers.t0, numbers.t1), system.start, method=solver, rtol=system.rtol, atol=system.atol,
        args=system.args or None, **system.options,
    )  # fmt: skip
    first, second = (solved(program, np.array(numbers.theta), point).statistics["n_accepted"] for _ in range(2))
    assert first == second == len(free.t) - 1


def test_only_a_gradient_makes_its_systems():
    """With many parameters they are many, and would take longer than a solve."""
    program = scipy_program("lotka-volterra", "odeint")
    theta, point = np.array(program._numbers.theta), Point(1e-6, 1e-6)
    (of_solve,), (of_gradient,) = program.prepare(theta, point), program.prepare_gradient(theta, point)
    program.solve([of_solve])
    assert "systems" not in vars(of_solve)
    assert "systems" in vars(of_gradient)
    first, second = (program.gradient([inputs])[0].gradient for inputs in (of_solve, of_gradient))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("method", ["rk45", "dop853", "lsoda", "odeint"])
def test_sensitivities_are_the_published_ones(method):
    """d(x, y)(10)/d(a, b, c, d) of Lotka-Volterra, read from the augmented system itself."""
    program = scipy_program("lotka-volterra", method)
    numbers = catalog.load("lotka-volterra").numbers()
    (inputs,) = program.prepare(np.array(numbers.theta), Point(1e-9, 1e-11))
    (augmented,) = inputs.augmented
    last = program._integrate(augmented).values[-1].reshape(5, 2)
    published = [
        [1.026344767575089, 0.9096910781360416],
        [2.160557523562618, -6.256770517220816],
        [0.1885687770780573, -0.6979775889893585],
        [0.5631827941976804, -1.7090176805979348],
        [0.9396512871530798, -2.7439791559201811],
    ]
    np.testing.assert_allclose(last, published, rtol=2e-6)


def test_sensitivities_to_the_initial_state_start_at_the_identity():
    problem = catalog.load("detest-nonstiff-b2")
    assert problem.wrt == "initial_state"
    program = scipy_program(problem.name, "dop853")
    theta = np.array(problem.numbers().theta)
    (inputs,) = program.prepare(theta, Point(1e-9, 1e-11))
    n = len(theta)
    (augmented,) = inputs.augmented
    np.testing.assert_array_equal(augmented.start.reshape(n + 1, n), np.vstack([theta, np.eye(n)]))
    direction = np.cos(np.arange(n))
    h = 1e-7
    ahead, behind = (differentiated(program, theta + s * h * direction, Point(1e-12, 1e-13)).loss for s in (1, -1))
    slope = differentiated(program, theta, Point(1e-10, 1e-12)).gradient @ direction
    assert slope == pytest.approx((ahead - behind) / (2 * h), rel=1e-3)


@pytest.mark.parametrize("method", ["bdf", "lsoda", "odeint"])
def test_twenty_states_and_twenty_five_parameters_are_practical(method):
    """520 equations; without second derivatives in the Newton matrix LSODA's steps fail at this tolerance."""
    program = scipy_program("pollution", method)
    theta = np.array(catalog.load("pollution").numbers().theta)
    loose, tight = (differentiated(program, theta, Point(rtol, rtol * 1e-2)).gradient for rtol in (1e-4, 1e-6))
    np.testing.assert_allclose(theta * loose, theta * tight, atol=1e-3 * np.max(np.abs(theta * tight)))


def test_tolerances_of_sensitivities_follow_the_size_of_the_parameter():
    numbers = Numbers((1.0, 0.0), (2.0, 0.0), 0.0, 1.0, (1.0,), (), (1.0, 0.5), "parameters")
    atol = 1e-6 * np.array(numbers.atol_scale)
    found = sensitivities.absolute_tolerance(atol, np.array(numbers.p), numbers)
    np.testing.assert_allclose(found, [1e-6, 5e-7, 5e-7, 2.5e-7, 1e-6, 5e-7])


BLOW_UP = """
import numpy as np
def rhs(t, y, p): return np.array([p[0]*y[0]*y[0]])
def jacobian(t, y, p): return np.array([[2*p[0]*y[0]]])
def parameter_jacobian(t, y, p): return np.array([[y[0]*y[0]]])
def loss(ys): return np.sum(ys**2)
def loss_gradient(ys): return 2*ys
"""
NOT_A_NUMBER = BLOW_UP.replace("p[0]*y[0]*y[0]", "p[0]*y[0]/y[0] + (np.nan if t > 1 else 0.0)")


def failing(text, method):
    numbers = Numbers((1.0,), (1.0,), 0.0, 2.0, (0.5, 2.0), (), (1.0,), "parameters")
    program = SciPyProgram(source_task(text, numbers, Cell("failing", "scipy", method, "forward", "eager")))
    return program, program.prepare(np.array([1.0]), Point(1e-6, 1e-8))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("method", ["rk45", "dop853", *IMPLICIT])
def test_a_solution_that_becomes_infinite_underflows_the_step(method):
    program, inputs = failing(BLOW_UP, method)
    for call in (program.solve, program.gradient):
        with pytest.raises(SolverFailure) as raised:
            call(inputs)
        assert raised.value.outcome is Outcome.STEP_UNDERFLOW


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("method", ["rk45", "dop853", *IMPLICIT])
def test_a_right_hand_side_that_is_not_a_number_is_a_typed_failure(method):
    program, inputs = failing(NOT_A_NUMBER, method)
    with pytest.raises(SolverFailure) as raised:
        program.read_solution(program.solve(inputs))
    assert raised.value.outcome in (Outcome.STEP_UNDERFLOW, Outcome.NONFINITE)


def test_lsoda_says_why_it_stopped():
    """Here because the tolerance asks for more than double precision has."""
    numbers = catalog.load("robertson").numbers()
    program = scipy_program("robertson", "lsoda")
    with pytest.raises(SolverFailure, match=r"SciPy stopped.*lsoda: ") as raised:
        program.solve(program.prepare(np.array(numbers.theta), Point(2.3e-14, 0.0)))
    assert raised.value.outcome in (Outcome.STEP_UNDERFLOW, Outcome.MAX_STEPS)


def test_odeint_says_why_it_stopped():
    numbers = catalog.load("robertson").numbers()
    program = scipy_program("robertson", "odeint")
    with pytest.raises(SolverFailure, match=r"SciPy stopped in the segment from t = 0: ") as raised:
        program.solve(program.prepare(np.array(numbers.theta), Point(2.3e-14, 0.0)))
    assert raised.value.outcome in (Outcome.STEP_UNDERFLOW, Outcome.MAX_STEPS)


@pytest.mark.parametrize("problem", ["robertson", "medical-akzo-nobel", "brusselator-2d"])
def test_odeint_takes_the_steps_of_lsoda(problem: str):
    """Dense, banded, and across a jump. The two drivers choose other first steps, so that steps differ by some."""
    theta, point = np.array(catalog.load(problem).numbers().theta), Point(1e-6, 1e-8)
    ours, theirs = (solved(scipy_program(problem, method), theta, point) for method in ("odeint", "lsoda"))
    scale = np.max(np.abs(theirs.ys), axis=0) + 1e-6
    assert np.max(np.abs(ours.ys - theirs.ys) / scale) < 1e-3
    assert ours.statistics["n_accepted"] == pytest.approx(theirs.statistics["n_accepted"], rel=0.2)
    # A wrong Jacobian would be evaluated again and again.
    n_jacobians = theirs.statistics["n_jacobian_evaluations"]
    assert ours.statistics["n_jacobian_evaluations"] == pytest.approx(n_jacobians, rel=0.5)


@pytest.mark.parametrize("method", ["lsoda", "odeint", "radau"])
def test_what_numba_compiled_gives_the_same_and_is_compiled_once(method):
    skip_without("numba")
    problem = catalog.load("robertson")
    theta, point = np.array(problem.numbers().theta), Point(1e-6, 1e-8)
    plain = scipy_program("robertson", method)
    cell = Cell("robertson", "scipy", method, "forward", "compiled")
    compiled = SciPyProgram(source_task(source(problem, ADAPTER.target_of(cell)), problem.numbers(), cell))
    ours, theirs = (solved(program, theta, point) for program in (plain, compiled))
    np.testing.assert_allclose(theirs.ys, ours.ys, rtol=1e-9)
    assert theirs.statistics == ours.statistics
    ours, theirs = (differentiated(program, theta, point) for program in (plain, compiled))
    np.testing.assert_allclose(theirs.gradient, ours.gradient, rtol=1e-7)
    traces = compiled.trace_count()
    assert traces > 0
    assert compiled.phases_ns()["compile"] > 0
    differentiated(compiled, 1.01 * theta, point)
    solved(compiled, 1.02 * theta, point)
    assert compiled.trace_count() == traces
    assert {"scipy", "numpy", "numba"} == set(compiled.versions())
    assert (plain.trace_count(), plain.phases_ns()) == (0, {})


@pytest.mark.parametrize("method", ["lsoda", "odeint"])
def test_a_jacobian_that_lsoda_may_need_later_is_compiled_first(method):
    """On a problem that is not stiff the first solves take explicit steps alone; a later one may not."""
    skip_without("numba")
    problem = catalog.load("lotka-volterra")
    cell = Cell("lotka-volterra", "scipy", method, "forward", "compiled")
    program = SciPyProgram(source_task(source(problem, ADAPTER.target_of(cell)), problem.numbers(), cell))
    inputs = program.prepare(np.array(problem.numbers().theta), Point(1e-3, 1e-3))
    (taken,) = program.gradient(inputs)
    assert taken.counts.n_jacobian_evaluations == 0
    program.solve(inputs)
    traces = program.trace_count()
    for system in (inputs[0].state, *inputs[0].augmented):
        system.options["jac"](0.0, system.start)
    assert program.trace_count() == traces


def test_the_compiled_mode_is_for_numbers_and_for_points_that_are_computed_of_near_ones():
    cell = Cell("robertson", "scipy", "lsoda", "forward", "compiled")
    facts = ProblemTraits("any", "stiff", 3, 3, 0, "parameters", True)
    far = replace(facts, arrays=True, not_local="it has sums")
    assert "point by point: it has sums" in (ADAPTER.refusal(cell, far) or "")
    assert ADAPTER.refusal(cell, replace(facts, latent=True)) is None
    assert "around the solve" in (ADAPTER.refusal(cell, replace(facts, latent=True, arrays=True)) or "")
    assert ADAPTER.refusal(cell, facts) is None
    assert ADAPTER.refusal(cell, replace(facts, arrays=True)) is None
    assert ADAPTER.refusal(replace(cell, mode="eager"), far) is None


def test_each_mode_has_its_own_source(capsys):
    for name, compiled in (("scipy", False), ("scipy/eager", False), ("scipy/compiled", True)):
        assert main(["describe", "robertson", "--code", name]) == 0
        assert ("@njit" in capsys.readouterr().out) == compiled

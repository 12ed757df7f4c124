"""SciPy's choice between Newton matrices with and without the coupling of sensitivities with the state."""

from __future__ import annotations

import numpy as np
import pytest
from adapters.test_scipy_matrices import POINT, full, prepared, scipy_program
from needs import skip_without

from sciml_bench.adapters.scipy import coupling, system
from sciml_bench.adapters.scipy.program import Counts
from sciml_bench.adapters.scipy.system import System
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Point
from sciml_bench.spec import catalog


def skip_without_numba(mode: str) -> None:
    if mode == "compiled":
        skip_without("numba")


@pytest.mark.parametrize("problem", ["hires", "pollution"])
@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_the_matrix_without_coupling_has_the_jacobian_in_every_block(problem: str, mode: str) -> None:
    skip_without_numba(mode)
    program, numbers = scipy_program(problem, "odeint", mode), catalog.load(problem).numbers()
    without = prepared(program, problem).uncoupled
    blocks, n = 1 + len(numbers.theta), len(numbers.y0)
    natural = np.tile(np.array(numbers.y0) + 0.1, blocks)
    place = np.arange(len(natural)) if without.place is None else without.place
    z = np.empty_like(natural)
    z[place] = natural
    matrix = full(without.options["jac"](0.3, z), without.options)[np.ix_(place, place)]
    one = full(scipy_program(problem, "radau")._source.jacobian(0.3, natural[:n], list(numbers.p)), {})
    np.testing.assert_allclose(matrix, np.kron(np.eye(blocks), one), rtol=1e-13)


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_hires_does_without_the_coupling_and_its_gradient_is_the_same(mode: str) -> None:
    skip_without_numba(mode)
    program, whole = scipy_program("hires", "odeint", mode), scipy_program("hires", "bdf")
    theta, tight = np.array(catalog.load("hires").numbers().theta), Point(1e-8, 1e-10)
    (inputs,) = program.prepare(theta, tight)
    (found,), (expected,) = program.gradient([inputs]), whole.gradient(whole.prepare(theta, tight))
    assert program._cheaper(inputs) == [inputs.uncoupled]
    np.testing.assert_allclose(
        theta * found.gradient, theta * expected.gradient, atol=1e-5 * np.max(np.abs(theta * expected.gradient))
    )


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-9])
def test_robertson_keeps_the_coupling(rtol: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small as it is, it would not be looked at; looked at, it takes many times the steps."""
    skip_without_numba("compiled")
    program = scipy_program("robertson", "odeint", "compiled")
    theta = np.array(catalog.load("robertson").numbers().theta)
    assert program.prepare(theta, Point(rtol, rtol))[0].uncoupled is None
    monkeypatch.setattr(system, "is_narrow", lambda _width, _size: True)
    program = scipy_program("robertson", "odeint", "compiled")
    (inputs,) = program.prepare(theta, Point(rtol, rtol * 1e-4))
    assert inputs.uncoupled is not None
    assert program._cheaper(inputs) is inputs.augmented


def test_the_choice_is_made_once_for_tolerances_of_about_the_same_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """For other parameters, or a tolerance that is a little different, nothing is solved twice."""
    program, theta = scipy_program("hires", "odeint"), np.array(catalog.load("hires").numbers().theta)
    program.gradient(program.prepare(theta, POINT))
    monkeypatch.setattr("sciml_bench.adapters.scipy.program.cheaper", lambda *_: pytest.fail("chosen again"))
    program.gradient(program.prepare(1.01 * theta, POINT))
    program.gradient(program.prepare(theta, Point(1.2 * POINT.rtol, POINT.atol)))
    with pytest.raises(pytest.fail.Exception):
        program.gradient(program.prepare(theta, Point(1e-5, 1e-7)))


def test_the_coupling_stays_where_the_solve_without_fails_or_takes_more_work() -> None:
    start = np.zeros(88)
    coupled = System(lambda t, y: y, start, 1e-6, start, {})
    band = System(lambda t, y: y, start, 1e-6, start, {"lband": 7, "uband": 7})

    def counting(times: int, given: list[int]):
        def counts_of(solved: System) -> Counts:
            given.append(solved.options.get("max_steps", 0))
            factor = times if "lband" in solved.options else 1
            return Counts(100 * factor, 200 * factor, 10 * factor, 10 * factor)

        return counts_of

    limits: list[int] = []
    assert coupling.cheaper([coupled], band, counting(1, limits)) == [band]
    assert limits == [0, 200]
    assert "max_steps" not in band.options
    assert coupling.cheaper([coupled], band, counting(20, limits)) == [coupled]

    def failing(solved: System) -> Counts:
        if "lband" in solved.options:
            raise SolverFailure(Outcome.MAX_STEPS, "too many")
        return Counts(100, 200, 10, 10)

    assert coupling.cheaper([coupled], band, failing) == [coupled]

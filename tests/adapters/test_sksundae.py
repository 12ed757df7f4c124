"""The scikit-SUNDAE adapter; what needs the library runs where it is installed."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from adapters.cells import build, catalog_task, digits_of, source_task
from needs import skip_without

from sciml_bench.adapters.base import ProblemTraits
from sciml_bench.adapters.sksundae import ADAPTER, METHODS
from sciml_bench.planning.script import script_of_cell
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Cell, Numbers, Point
from sciml_bench.spec import catalog

FACTS = ProblemTraits("any", "stiff", 3, 3, 0, "parameters", True)
SOURCE = """from numba import njit


@njit
def derivative(t, y, dy, p):
    dy[0] = {}


@njit
def jacobian(t, y, out, p):
    out[0] = {}
"""


@pytest.fixture(scope="module")
def library() -> Any:
    skip_without("sksundae")
    return importlib.import_module("sksundae")


def cell(method: str) -> Cell:
    return Cell("any", "sksundae", method, "none", "compiled")


@pytest.mark.parametrize(
    "changes", [{"arrays": True}, {"n_weights": 10}, {"batch": 4}, {"latent": True}, {"controlled": True}]
)
def test_what_is_not_a_small_system_of_numbers_is_refused(changes):
    assert ADAPTER.refusal(cell("cvode_bdf"), FACTS) is None
    assert ADAPTER.refusal(cell("cvode_bdf"), ProblemTraits(**{**vars(FACTS), **changes})) is not None


@pytest.mark.parametrize(
    ("problem", "method", "digits"),
    [
        ("robertson", "cvode_bdf", 5.0),
        ("pollution", "cvode_bdf", 5.0),
        ("lotka-volterra", "cvode_adams", 5.0),
    ],
)
def test_solutions_are_right_and_nothing_is_compiled_again(library, problem, method, digits):
    program = build(catalog_task(problem, "sksundae", method, "none", "compiled"))
    theta = np.array(catalog.load(problem).numbers().theta)
    solution = program.read_solution(program.solve(program.prepare(theta, Point(1e-8, 1e-10))))
    assert digits_of(problem, solution.ys) > digits
    assert solution.statistics["n_rhs_evaluations"] > 10
    traces = program.trace_count()
    assert program.phases_ns()["compile"] > 0
    loose = program.read_solution(program.solve(program.prepare(1.01 * theta, Point(1e-4, 1e-4))))
    assert loose.statistics["n_rhs_evaluations"] < solution.statistics["n_rhs_evaluations"]
    # The parameters of one call do not stay for the next one.
    again = program.read_solution(program.solve(program.prepare(theta, Point(1e-8, 1e-10))))
    np.testing.assert_array_equal(again.ys, solution.ys)
    assert program.trace_count() == traces > 0
    assert set(program.versions()) == {"scikit-sundae", "numba", "numpy"}


def test_gradients_are_typed_as_unsupported(library):
    program = build(catalog_task("robertson", "sksundae", "cvode_bdf", "none", "compiled"))
    for call in (program.gradient, program.read_gradient):
        with pytest.raises(SolverFailure) as caught:
            call(None)
        assert caught.value.outcome is Outcome.UNSUPPORTED


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("times", [(2.0,), (0.5, 2.0)])
def test_a_solution_that_becomes_infinite_is_a_typed_failure(library, method, times):
    """y' = y² from 1 is infinite at t = 1."""
    numbers = Numbers((1.0,), (1.0,), 0.0, 2.0, times, (), (1.0,), "parameters")
    program = build(source_task(SOURCE.format("p[0]*y[0]*y[0]", "2*p[0]*y[0]"), numbers, cell(method)))
    with pytest.raises(SolverFailure, match="CVODE failed in the segment from t = 0: ") as caught:
        program.read_solution(program.solve(program.prepare(np.array([1.0]), Point(1e-6, 1e-6))))
    assert caught.value.outcome in (Outcome.STEP_UNDERFLOW, Outcome.MAX_STEPS)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("times", [(2.0,), (0.5, 2.0)])
def test_steps_stop_where_the_right_hand_side_jumps(library, method, times):
    """y' = p before t = 1 and -p after it: exact for any step that does not cross the jump."""
    numbers = Numbers((0.0,), (3.0,), 0.0, 2.0, times, (1.0,), (1.0,), "parameters")
    program = build(source_task(SOURCE.format("p[0] if t < 1.0 else -p[0]", "0.0"), numbers, cell(method)))
    ys = program.read_solution(program.solve(program.prepare(np.array([3.0]), Point(1e-3, 1e-3)))).ys
    np.testing.assert_allclose(ys, [[0.0]] if len(times) == 1 else [[1.5], [0.0]], atol=1e-9)


def test_initial_values_may_be_differentiated_too(library):
    """y' = -y, where theta is the initial value."""
    numbers = Numbers((2.0,), (), 0.0, 1.0, (1.0,), (), (1.0,), "initial")
    program = build(source_task(SOURCE.format("-y[0]", "-1.0"), numbers, cell("cvode_bdf")))
    ys = program.read_solution(program.solve(program.prepare(np.array([3.0]), Point(1e-10, 1e-10)))).ys
    np.testing.assert_allclose(ys, [[3 * np.exp(-1)]], rtol=1e-8)


def test_the_script_runs_and_agrees(library, capsys):
    text = script_of_cell("robertson", ["sksundae", "cvode_bdf", "none", "compiled"], 1e-8)
    assert "sciml_bench" not in text
    exec(compile(text, "script", "exec"), {"__name__": "__main__"})
    assert "error" in capsys.readouterr().out

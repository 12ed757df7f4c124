"""The numbalsoda adapter; what needs the library runs where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adapters.cells import build, catalog_task, digits_of, source_task
from needs import imported

from sciml_bench.adapters.base import ProblemTraits
from sciml_bench.adapters.numbalsoda import ADAPTER
from sciml_bench.planning.script import script_of_cell
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Cell, Numbers, Point
from sciml_bench.spec import catalog

CELL = Cell("any", "numbalsoda", "lsoda", "none", "compiled")


@pytest.fixture(scope="module")
def library() -> Any:
    # Its import compiles for seconds, so that it is not done before it is needed.
    return imported("numbalsoda")


def test_what_is_not_a_small_system_of_numbers_is_refused():
    facts = ProblemTraits("any", "stiff", 3, 3, 0, "parameters", True)
    assert ADAPTER.refusal(CELL, facts) is None
    for changes in ({"arrays": True}, {"n_weights": 10}, {"batch": 4}, {"latent": True}, {"controlled": True}):
        assert ADAPTER.refusal(CELL, ProblemTraits(**{**vars(facts), **changes})) is not None


@pytest.mark.parametrize(
    ("problem", "method", "digits"), [("robertson", "lsoda", 5.0), ("lotka-volterra", "dop853", 6.0)]
)
def test_solutions_are_right_and_nothing_is_compiled_again(library, problem, method, digits):
    program = build(catalog_task(problem, "numbalsoda", method, "none", "compiled"))
    theta = np.array(catalog.load(problem).numbers().theta)
    solution = program.read_solution(program.solve(program.prepare(theta, Point(1e-8, 1e-10))))
    assert digits_of(problem, solution.ys) > digits
    traces = program.trace_count()
    assert program.phases_ns()["compile"] > 0
    program.solve(program.prepare(1.01 * theta, Point(1e-4, 1e-4)))
    assert program.trace_count() == traces > 0
    assert set(program.versions()) == {"numbalsoda", "numba", "numpy"}


def test_gradients_are_typed_as_unsupported(library):
    program = build(catalog_task("robertson", "numbalsoda", "lsoda", "none", "compiled"))
    for call in (program.gradient, program.read_gradient):
        with pytest.raises(SolverFailure) as caught:
            call(None)
        assert caught.value.outcome is Outcome.UNSUPPORTED


@pytest.mark.parametrize("method", ["lsoda", "dop853"])
def test_a_solution_that_becomes_infinite_is_a_typed_failure(library, method):
    """y' = y² from 1 is infinite at t = 1; LSODA stands still before it and reports success."""
    text = "from numba import njit\n\n\n@njit\ndef derivative(t, y, dy, p):\n    dy[0] = p[0]*y[0]*y[0]\n"
    numbers = Numbers((1.0,), (1.0,), 0.0, 2.0, (2.0,), (), (1.0,), "parameters")
    program = build(source_task(text, numbers, Cell("any", "numbalsoda", method, "none", "compiled")))
    with pytest.raises(SolverFailure) as caught:
        program.read_solution(program.solve(program.prepare(np.array([1.0]), Point(1e-6, 1e-6))))
    assert caught.value.outcome in (Outcome.NONFINITE, Outcome.STEP_UNDERFLOW)


def test_steps_stop_where_the_right_hand_side_jumps(library):
    """y' = p before t = 1 and -p after it: exact for any step that does not cross the jump."""
    text = "from numba import njit\n\n\n@njit\ndef derivative(t, y, dy, p):\n    dy[0] = p[0] if t < 1.0 else -p[0]\n"
    numbers = Numbers((0.0,), (3.0,), 0.0, 2.0, (0.5, 2.0), (1.0,), (1.0,), "parameters")
    program = build(source_task(text, numbers, CELL))
    ys = program.read_solution(program.solve(program.prepare(np.array([3.0]), Point(1e-3, 1e-3)))).ys
    np.testing.assert_allclose(ys, [[1.5], [0.0]], atol=1e-12)


def test_the_script_solves_each_smooth_part_and_says_how_wrong_it_is():
    text = script_of_cell("robertson", ["numbalsoda", "lsoda", "none", "compiled"], 1e-8)
    compile(text, "script.py", "exec")
    assert "sciml_bench" not in text
    assert "    derivative(t, y, dy, p)" in text
    assert text.count("REFERENCE") == 3

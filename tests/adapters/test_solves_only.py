"""CyRK, numbalsoda and scikit-SUNDAE, which only solve; what needs a library runs where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adapters.cells import build, catalog_task, digits_of, source_task
from cases import others_slow
from needs import skip_without

from sciml_bench.adapters.base import ProblemTraits
from sciml_bench.adapters.registry import adapter
from sciml_bench.planning.script import script_of_cell
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Cell, Numbers, Point
from sciml_bench.spec import catalog

#: By each library: its own package, its stiff method, and the count of its work, if it reports one.
LIBRARIES = {
    "cyrk": ("CyRK", "lsoda", "n_accepted"),
    "numbalsoda": ("numbalsoda", "lsoda", ""),
    "sksundae": ("scikit-sundae", "cvode_bdf", "n_rhs_evaluations"),
}
SOLVED = [
    *(("cyrk", method, "robertson", 5.0) for method in ("lsoda", "radau", "bdf")),
    *(("cyrk", method, "lotka-volterra", 6.0) for method in ("rk45", "dop853", "tsit5", "vern7")),
    ("numbalsoda", "lsoda", "robertson", 5.0), ("numbalsoda", "dop853", "lotka-volterra", 6.0),
    ("sksundae", "cvode_bdf", "robertson", 5.0), ("sksundae", "cvode_bdf", "pollution", 5.0),
    ("sksundae", "cvode_adams", "lotka-volterra", 5.0),
]  # fmt: skip
METHODS = others_slow(
    [(name, method.name) for name in LIBRARIES for method in adapter(name).methods],
    [
        ("cyrk", "rk45"),
        ("cyrk", "lsoda"),
        ("numbalsoda", "lsoda"),
        ("numbalsoda", "dop853"),
        ("sksundae", "cvode_bdf"),
        ("sksundae", "cvode_adams"),
    ],
)
FACTS = ProblemTraits("any", "stiff", 3, 3, 0, "parameters", True)
SOURCE = """from numba import njit


@njit
def derivative(t, y, dy, p):
    dy[0] = {}


@njit
def jacobian(t, y, out, p):
    out[0] = {}
"""


def program_of(library: str, method: str, derivative: str, jacobian: str, numbers: Numbers) -> Any:
    skip_without(library)
    return build(
        source_task(SOURCE.format(derivative, jacobian), numbers, Cell("any", library, method, "none", "compiled"))
    )


def solved(program: Any, theta: Any, rtol: float, atol: float | None = None) -> Any:
    inputs = program.prepare(np.array(theta), Point(rtol, rtol if atol is None else atol))
    return program.read_solution(program.solve(inputs))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "changes", [{"arrays": True}, {"n_weights": 10}, {"batch": 4}, {"latent": True}, {"controlled": True}]
)
def test_what_is_not_a_small_system_of_numbers_is_refused(library, changes):
    declared = adapter(library)
    cell = Cell("any", library, LIBRARIES[library][1], "none", "compiled")
    assert declared.refusal(cell, FACTS) is None
    assert declared.refusal(cell, ProblemTraits(**{**vars(FACTS), **changes})) is not None


@pytest.mark.parametrize(("library", "method", "problem", "digits"), SOLVED)
def test_solutions_are_right_and_nothing_is_compiled_again(library, method, problem, digits):
    skip_without(library)
    package, _, work = LIBRARIES[library]
    program = build(catalog_task(problem, library, method, "none", "compiled"))
    theta = np.array(catalog.load(problem).numbers().theta)
    solution = solved(program, theta, 1e-8, 1e-10)
    assert digits_of(problem, solution.ys) > digits
    traces = program.trace_count()
    assert program.phases_ns()["compile"] > 0
    loose = solved(program, 1.01 * theta, 1e-4)
    if work:
        assert 10 < loose.statistics[work] < solution.statistics[work]
    # The parameters of one call do not stay for the next one.
    np.testing.assert_array_equal(solved(program, theta, 1e-8, 1e-10).ys, solution.ys)
    assert program.trace_count() == traces > 0
    assert set(program.versions()) == {package, "numba", "numpy"}


@pytest.mark.parametrize("library", LIBRARIES)
def test_gradients_are_typed_as_unsupported(library):
    skip_without(library)
    program = build(catalog_task("robertson", library, LIBRARIES[library][1], "none", "compiled"))
    for call in (program.gradient, program.read_gradient):
        with pytest.raises(SolverFailure) as caught:
            call(None)
        assert caught.value.outcome is Outcome.UNSUPPORTED


@pytest.mark.parametrize(("library", "method"), METHODS)
@pytest.mark.parametrize("times", [(2.0,), (0.5, 2.0)])
def test_a_solution_that_becomes_infinite_is_a_typed_failure(library, method, times, monkeypatch):
    """y' = y² from 1 is infinite at t = 1; numbalsoda's LSODA stands still before it and reports success."""
    numbers = Numbers((1.0,), (1.0,), 0.0, 2.0, times, (), (1.0,), "parameters")
    program = program_of(library, method, "p[0]*y[0]*y[0]", "2*p[0]*y[0]", numbers)
    if library == "sksundae":
        monkeypatch.setattr("sciml_bench.adapters.sksundae.program.MAX_STEPS", 10_000)
    with pytest.raises(SolverFailure) as caught:
        solved(program, [1.0], 1e-6)
    assert caught.value.outcome in (Outcome.NONFINITE, Outcome.STEP_UNDERFLOW, Outcome.MAX_STEPS)
    assert "reports success" in str(caught.value) or "failed in the segment from t = 0: " in str(caught.value)


@pytest.mark.parametrize(("library", "method"), METHODS)
@pytest.mark.parametrize("times", [(2.0,), (0.5, 2.0)])
def test_steps_stop_where_the_right_hand_side_jumps(library, method, times):
    """y' = p before t = 1 and -p after it: exact for any step that does not cross the jump."""
    numbers = Numbers((0.0,), (3.0,), 0.0, 2.0, times, (1.0,), (1.0,), "parameters")
    program = program_of(library, method, "p[0] if t < 1.0 else -p[0]", "0.0", numbers)
    expected = [[0.0]] if len(times) == 1 else [[1.5], [0.0]]
    np.testing.assert_allclose(solved(program, [3.0], 1e-3).ys, expected, atol=1e-9)


@pytest.mark.parametrize("library", LIBRARIES)
def test_initial_values_may_be_differentiated_too(library):
    """y' = -y, where theta is the initial value."""
    numbers = Numbers((2.0,), (), 0.0, 1.0, (1.0,), (), (1.0,), "initial")
    program = program_of(library, LIBRARIES[library][1], "-y[0]", "-1.0", numbers)
    np.testing.assert_allclose(solved(program, [3.0], 1e-10).ys, [[3 * np.exp(-1)]], rtol=1e-7)


def test_results_of_cyrk_are_freed():
    """A thousand solves with a thousand saved times each would keep 16 MB."""
    psutil = pytest.importorskip("psutil")
    times = tuple(np.linspace(0.001, 1, 2000).tolist())
    numbers = Numbers((2.0,), (1.0,), 0.0, 1.0, times, (), (1.0,), "parameters")
    program = program_of("cyrk", "rk45", "-p[0]*y[0]", "-p[0]", numbers)
    inputs = program.prepare(np.array([1.0]), Point(1e-4, 1e-4))
    program.solve(inputs)
    before = psutil.Process().memory_info().rss
    for _ in range(2000):
        program.solve(inputs)
    assert psutil.Process().memory_info().rss - before < 20e6


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_script_runs_without_this_package_and_says_how_wrong_it_is(library, capsys):
    text = script_of_cell("robertson", [library, LIBRARIES[library][1], "none", "compiled"], 1e-8)
    assert "sciml_bench" not in text
    assert text.count("REFERENCE") == 3
    skip_without(library)
    exec(compile(text, "script", "exec"), {"__name__": "__main__"})
    error = float(capsys.readouterr().out.rsplit(" ", 1)[1])
    assert error < 1e-5

"""The CasADi adapter; what needs the library runs where it is installed."""

from __future__ import annotations

import importlib
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adapters.cells import build, catalog_task, gradient_error, outcome, source_task
from needs import skip_without

from sciml_bench.adapters import casadi
from sciml_bench.adapters.base import DEFAULT, ProblemTraits
from sciml_bench.adapters.casadi import ADAPTER, SOLVERS
from sciml_bench.emit import source
from sciml_bench.planning.script import script_of_cell
from sciml_bench.record.task import Cell, Point
from sciml_bench.spec import catalog
from sciml_bench.spec.load import load_problem

FACTS = ProblemTraits("any", "stiff", 3, 3, 0, "parameters", True)
EVERY_FUNCTION = """
spec = 1
name = "functions"
title = "Every function, and branches"

[time]
t1 = 1.0

[parameters]
ca = 0.5
k = 0.75

[states]
u = 0.4
v = 0.5

[definitions]
trigonometric = "sin(u) + cos(v) + tan(u*v) + asin(u/2) + acos(v/2) + atan(u)"
hyperbolic = "sinh(u) + cosh(v) + tanh(u)"
others = "exp(-u) + log(1 + v) + sqrt(u + 1) + abs(u - v) + sign(v) + expm1(u) + log1p(v) + floor(3*u)"
branches = "where(u > v and not (t > 0.5 or u > 2), u**3, v**(-1/2)) + max(u, v) + min(u, k)"

[equations]
u = "-ca*trigonometric*hyperbolic"
v = "others - k*branches*t"
"""

JUMP = """
spec = 1
name = "jump"
title = "A decay whose rate jumps"

[time]
t0 = 0.5
t1 = 1.5
save = { times = [1.0, 1.5] }
breakpoints = [1.2]

[states]
x = 2.0

[equations]
x = "-where(t < 1.2, 0.5, 4/3)*x"
"""


@pytest.fixture(scope="module")
def library() -> Any:
    skip_without("casadi")
    with warnings.catch_warnings():
        # Its wrapper was made by an older SWIG.
        warnings.simplefilter("ignore", DeprecationWarning)
        return importlib.import_module("casadi")


def cell(method: str, sensitivity: str = "forward", mode: str = "eager") -> Cell:
    return Cell("any", "casadi", method, sensitivity, mode)


@pytest.mark.parametrize(
    "changes", [{"arrays": True}, {"n_weights": 10}, {"batch": 4}, {"latent": True}, {"controlled": True}]
)
def test_what_is_not_a_small_system_of_numbers_is_refused(changes):
    assert ADAPTER.refusal(cell("idas"), FACTS) is None
    assert ADAPTER.refusal(cell("idas"), ProblemTraits(**{**vars(FACTS), **changes})) is not None


def test_events_that_count_in_both_directions_are_refused():
    facts = ProblemTraits(**{**vars(FACTS), "events": True})
    assert ADAPTER.why_not(cell("idas"), facts) is None
    assert "one direction" in (
        ADAPTER.why_not(cell("idas"), ProblemTraits(**{**vars(facts), "either_way": True})) or ""
    )


def test_without_a_compiler_equations_are_interpreted(monkeypatch):
    monkeypatch.setattr(casadi, "compiler", lambda: None)
    assert ADAPTER.refusal(cell("idas"), FACTS) is None
    assert "neither gcc nor cc" in (ADAPTER.refusal(cell("idas", mode="compiled"), FACTS) or "")


def test_recipes_go_by_size_and_show_the_default():
    best, *others = ADAPTER.recipes(FACTS)
    assert (best.method, best.sensitivity, best.mode) == ("cvodes_bdf", "forward", "compiled")
    assert [(other.sensitivity, other.mode) for other in others if other.role == DEFAULT] == [("adjoint", "eager")]
    large = ADAPTER.recipes(ProblemTraits(**{**vars(FACTS), "n_states": 200}))
    assert large[0].sensitivity == "adjoint"


@pytest.mark.parametrize(
    ("problem", "method", "sensitivity", "mode", "digits"),
    [
        *(
            ("robertson", method, sensitivity, "eager", 4.5)
            for method in ("cvodes_bdf",)
            for sensitivity in ADAPTER.sensitivities
        ),
        ("hires", "cvodes_bdf", "forward", "compiled", 5.0),
        ("hires", "cvodes_bdf", "adjoint", "compiled", 4.0),
        ("hires", "idas", "forward", "eager", 5.0),
        ("pollution", "cvodes_bdf", "forward", "eager", 5.0),
        ("lotka-volterra", "cvodes_adams", "forward", "eager", 4.0),
        ("lotka-volterra", "cvodes_adams", "adjoint", "eager", 4.0),
        # The state jumps, at times that the solution decides and at known ones.
        ("bouncing-ball", "idas", "forward", "eager", 4.5),
        ("thermostat", "idas", "adjoint", "eager", 4.5),
        ("integrate-and-fire", "cvodes_bdf", "forward", "compiled", 4.5),
        ("oral-doses", "cvodes_bdf", "forward", "eager", 5.0),
        pytest.param("pk-pd", "cvodes_bdf", "forward", "compiled", 4.0, marks=pytest.mark.slow),
        ("pk-pd", "cvodes_adams", "adjoint", "eager", 4.0),
    ],
)
def test_solutions_and_gradients_are_right(library, problem, method, sensitivity, mode, digits):
    if mode == "compiled" and casadi.compiler() is None:
        pytest.skip("no C compiler")
    program = build(catalog_task(problem, "casadi", method, sensitivity, mode))
    assert -np.log10(gradient_error(problem, program, Point(1e-7, 1e-9))) > digits
    assert program.phases_ns()["compile"] > 0
    # Another theta at the same tolerance makes no function again.
    made = program.phases_ns()
    theta = 1.01 * np.array(catalog.load(problem).numbers().theta)
    program.read_gradient(program.gradient(program.prepare(theta, Point(1e-7, 1e-9))))
    assert program.phases_ns() == made
    assert set(program.versions()) == {"casadi", "numpy"}


@pytest.mark.parametrize("sensitivity", ADAPTER.sensitivities)
def test_gradients_by_the_initial_state_across_a_jump(library, sensitivity, tmp_path):
    path = tmp_path / "jump.toml"
    path.write_text(JUMP)
    problem = load_problem(path)
    program = build(source_task(source(problem, "casadi"), problem.numbers(), cell("cvodes_bdf", sensitivity)))
    theta = np.array([2.0])
    inputs = program.prepare(theta, Point(1e-8, 1e-10))
    factors = np.exp([-0.25, -0.5 * 0.7 - 0.3 * 4 / 3])
    np.testing.assert_allclose(program.read_solution(program.solve(inputs)).ys[:, 0], factors * 2.0, rtol=1e-6)
    found = program.read_gradient(program.gradient(inputs))
    np.testing.assert_allclose(found.gradient, [4 * np.sum(factors**2)], rtol=1e-5)


@pytest.mark.parametrize("calls", [("solve",), ("gradient",), ("solve", "gradient")])
def test_what_is_made_is_counted_once_and_leaves_no_file(library, monkeypatch, tmp_path, calls):
    if casadi.compiler() is None:
        pytest.skip("no C compiler")
    monkeypatch.chdir(tmp_path)
    start = time.perf_counter_ns()
    program = build(catalog_task("robertson", "casadi", "cvodes_bdf", "forward", "compiled"))
    inputs = program.prepare(np.array([0.04, 3e7, 1e4]), Point(1e-6, 1e-8))
    for call in calls:
        getattr(program, call)(inputs)
    assert 0 < program.phases_ns()["compile"] < time.perf_counter_ns() - start
    assert not list(tmp_path.iterdir())


def test_an_error_of_building_is_not_the_solvers(library, monkeypatch):
    monkeypatch.setattr("sciml_bench.adapters.casadi.program.compiler", lambda: "/bin/false")
    program = build(catalog_task("robertson", "casadi", "cvodes_bdf", "forward", "compiled"))
    with pytest.raises(RuntimeError, match=r"(?i)compil"):
        program.solve(program.prepare(np.array([0.04, 3e7, 1e4]), Point(1e-6, 1e-8)))


@pytest.mark.parametrize("t", [0.25, 0.75])
@pytest.mark.parametrize("state", [(0.4, 0.5), (0.6, 0.5)])
def test_every_function_and_branch_is_right(library, tmp_path, t, state):
    path = tmp_path / "functions.toml"
    path.write_text(EVERY_FUNCTION)
    problem = load_problem(path)
    p = np.array(problem.numbers().p)
    ours, numpys = dict[str, Any](), dict[str, Any]()
    exec(source(problem, "casadi"), ours)
    exec(source(problem, "numpy"), numpys)
    found = ours["rhs"](library.DM(t), library.DM(state), library.DM(p)).full().ravel()
    np.testing.assert_allclose(found, numpys["rhs"](t, np.array(state), p), rtol=1e-14)


@pytest.mark.parametrize("method", SOLVERS)
def test_a_solution_that_becomes_infinite_is_a_typed_failure(library, method):
    text = "import numpy as np\ndef rhs(t, y, p):\n    return p*y*y\n"
    text += "def loss(ys):\n    return np.sum(ys)\ndef loss_gradient(ys):\n    return np.ones_like(ys)\n"
    found, message = outcome(text, cell(method))
    assert found in ("step_underflow", "max_steps")
    assert message.startswith("CasADi: ")
    assert "\n" not in message


@pytest.mark.parametrize("sensitivity", ADAPTER.sensitivities)
@pytest.mark.parametrize(
    ("name", "method"),
    [("hires", "cvodes_bdf"), ("akzo-nobel-dae", "idas"), ("oral-doses", "cvodes_adams"), ("thermostat", "idas")],
)
def test_scripts_run_and_agree(library, capsys, name, method, sensitivity):
    text = script_of_cell(name, ["casadi", method, sensitivity, "eager"], 1e-6)
    exec(compile(text, "script", "exec"), {"__name__": "__main__"})
    shown = capsys.readouterr().out
    assert float(shown.partition("relative error of the gradient ")[2].split()[0]) < 1e-4


IMPLICIT = """
spec = 1
name = "implicit"
title = "A decay at a rate that an equation determines"

[time]
t1 = 1

[parameters]
k = 0.7
c = 0.3

[states]
x = 1

[algebraic.z]
equation = "exp(z) + z - 1 - c*x"
near = 0.1

[equations]
x = "-k*z*x"
"""


@pytest.mark.parametrize(
    ("name", "method", "sensitivity"),
    [
        ("robertson-dae", "idas", "forward"),
        ("robertson-dae", "cvodes_bdf", "forward"),
        ("pendulum-dae", "idas", "forward"),
        ("pendulum-dae", "idas", "adjoint"),
        ("pendulum-dae", "cvodes_bdf", "forward"),
        ("akzo-nobel-dae", "idas", "adjoint"),
    ],
)
def test_algebraic_equations_are_solved_as_they_are_or_by_what_follows(
    library: Any, name: str, method: str, sensitivity: str
):
    program = build(catalog_task(name, "casadi", method, sensitivity, "eager"))
    assert gradient_error(name, program, Point(1e-9, 1e-11)) < 1e-3


@pytest.mark.parametrize("sensitivity", ["forward", "adjoint"])
def test_idas_finds_initial_values_that_depend_on_parameters_and_their_slopes(
    library: Any, tmp_path: Path, sensitivity: str
):
    path = tmp_path / "implicit.toml"
    path.write_text(IMPLICIT)
    problem = load_problem(path)
    cell = Cell("any", "casadi", "idas", sensitivity, "eager")
    task = source_task(source(problem, "casadi"), problem.numbers(), cell)
    program = build(task)

    def gradient(p: Any) -> Any:
        return program.read_gradient(program.gradient(program.prepare(np.array(p), Point(1e-11, 1e-13))))

    p = np.array(task.numbers.p)
    steps = np.eye(2) * 1e-4
    slopes = [(gradient(p + step).loss - gradient(p - step).loss) / 2e-4 for step in steps]
    np.testing.assert_allclose(gradient(p).gradient, slopes, rtol=1e-5)
    assert problem.latent, "the initial value of z depends on c, and with it the solution"

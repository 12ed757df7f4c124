"""The diffsol adapter; what needs the library runs where it is installed."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from adapters.cells import build, catalog_task, gradient_error, outcome, source_task
from needs import skip_without

from sciml_bench.adapters.base import DEFAULT, ProblemTraits
from sciml_bench.adapters.diffsol import ADAPTER, MATRICES
from sciml_bench.adapters.diffsol.model import model_text
from sciml_bench.emit import source
from sciml_bench.emit.symbolic.elementary import functions_of
from sciml_bench.errors import UsageError
from sciml_bench.planning.script import script_of_cell
from sciml_bench.record.task import Cell, Point
from sciml_bench.spec import catalog
from sciml_bench.spec.load import load_problem

FACTS = ProblemTraits("any", "stiff", 3, 3, 0, "parameters", True)
HOSTILE = """
spec = 1
name = "hostile"
title = "Names that mean something in DiffSL"

[time]
t0 = 0.5
t1 = 2.0
save = { times = [1.0, 2.0] }

[parameters]
F = 0.5
M = 1.25
k_1 = 0.75
rr = 0.1
data = 0.2
k1 = 0.25

[states]
u = 1.0
N = 0.5
in_1 = 0.3

[definitions]
stop = "tan(0.3*N) + tanh(900*(u - 2*N)) + abs(in_1)"
start_0 = "u*N"
unused = "floor(u)"
heaviside = "sqrt(1 + u**2)/(1 + t)**3 + u**(-1/2)"

[equations]
u = "-F*u*stop + k_1*heaviside"
N = "M*sinh(u)/cosh(N) - k1*N**3"
in_1 = "tanh(u)*start_0 + rr*data - in_1**1.5*exp(-t)*log(2 + N) + cos(t)*sin(N)"

[invariants]
unused = "unused"
"""

DECAY = """
spec = 1
name = "decay"
title = "A decay that quickens, and a state at rest"

[time]
t0 = 1.0
t1 = 2.0
save = { times = [1.5, 2.0] }

[states]
x = 2.0
rest = 3.0

[equations]
x = "-0.5*t*x"
rest = "0"
"""


@pytest.fixture(scope="module")
def library() -> Any:
    skip_without("diffsol")
    return importlib.import_module("pydiffsol")


def cell(method: str, sensitivity: str = "forward", mode: str = "compiled") -> Cell:
    return Cell("any", "diffsol", method, sensitivity, mode)


@pytest.mark.parametrize(
    "changes",
    [
        {"arrays": True}, {"n_weights": 10}, {"batch": 4}, {"latent": True}, {"controlled": True}, {"n_breakpoints": 1},
        {"functions": frozenset({"exp", "floor"})},
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_refused(changes):
    assert ADAPTER.refusal(cell("bdf"), FACTS) is None
    assert ADAPTER.refusal(cell("bdf"), ProblemTraits(**{**vars(FACTS), **changes})) is not None


def test_entries_of_vectors_of_parameters_are_no_functions():
    """POLLU's rate constants are one vector."""
    assert "item" not in functions_of(catalog.load("pollution"))


def test_a_refusal_names_the_functions():
    facts = ProblemTraits(**{**vars(FACTS), "functions": frozenset({"exp", "where", "atan"})})
    assert ADAPTER.refusal(cell("bdf"), facts) == "DiffSL has no way to write atan, where"


def test_recipes_control_the_errors_of_sensitivities_and_show_the_default():
    best, *others = ADAPTER.recipes(FACTS)
    assert (best.method, best.sensitivity, best.mode) == ("bdf", "forward-controlled", "compiled")
    assert [recipe.sensitivity for recipe in others if recipe.role == DEFAULT] == ["forward"]
    large = ADAPTER.recipes(ProblemTraits(**{**vars(FACTS), "n_states": 200, "n_parameters": 10}))
    assert (large[0].sensitivity, large[0].mode) == ("adjoint", "sparse")


@pytest.mark.parametrize(
    ("problem", "method", "sensitivity", "mode", "digits"),
    [
        *(
            ("hires", "bdf", sensitivity, mode, 5.0)
            for sensitivity in ADAPTER.sensitivities
            for mode in MATRICES
        ),
        ("robertson", "bdf", "forward-controlled", "compiled", 6.0),
        # Its states start at zero, with absolute tolerances of 1e-25.
        ("pollution", "bdf", "forward-controlled", "compiled", 5.0),
        ("lotka-volterra", "tsit45", "forward-controlled", "compiled", 5.0),
        ("van-der-pol", "esdirk34", "forward", "compiled", 2.0),
        ("chemical-akzo-nobel", "tr_bdf2", "forward", "compiled", 3.0),
    ],
)  # fmt: skip
def test_solutions_and_gradients_are_right(library, problem, method, sensitivity, mode, digits):
    program = build(catalog_task(problem, "diffsol", method, sensitivity, mode))
    assert -np.log10(gradient_error(problem, program, Point(1e-7, 1e-9))) > digits
    assert program.phases_ns()["compile"] > 0
    assert set(program.versions()) == {"pydiffsol", "diffsol", "numpy"}


def test_names_of_the_language_are_renamed_and_every_function_is_right(library, tmp_path):
    path = tmp_path / "hostile.toml"
    path.write_text(HOSTILE)
    problem = load_problem(path)
    numbers = problem.numbers()
    y, p = np.array(numbers.y0), np.array(numbers.p)
    ours, numpys = dict[str, Any](), dict[str, Any]()
    exec(source(problem, "diffsl"), ours)
    exec(source(problem, "numpy"), numpys)
    ode = library.Ode(model_text(_Module(ours), numbers.p, numbers.y0, "parameters"))
    assert "floor" not in functions_of(problem)
    for t, state in ((0.5, y), (1.7, 2 * y)):
        np.testing.assert_allclose(np.ravel(ode.rhs(p, t, state)), numpys["rhs"](t, state, p), rtol=1e-14)
    states = library.Ode(model_text(_Module(ours), numbers.p, numbers.y0, "initial_state"))
    assert states.nparams == 3
    np.testing.assert_allclose(np.ravel(states.rhs(y, 0.5, y)), np.ravel(ode.rhs(p, 0.5, y)), rtol=1e-15)
    np.testing.assert_allclose(np.ravel(states.y0(3 * y)), 3 * y)


class _Module:
    def __init__(self, names: dict[str, Any]):
        self.__dict__.update(names)


@pytest.mark.parametrize("sensitivity", ADAPTER.sensitivities)
def test_gradients_by_the_initial_state_and_a_late_start(library, sensitivity, tmp_path):
    path = tmp_path / "decay.toml"
    path.write_text(DECAY)
    problem = load_problem(path)
    numbers = problem.numbers()
    program = build(source_task(source(problem, "diffsl"), numbers, cell("bdf", sensitivity)))
    theta = np.array([2.0, 3.0])
    inputs = program.prepare(theta, Point(1e-8, 1e-10))
    ys = program.read_solution(program.solve(inputs)).ys
    # Each is y0 times exp of the integral of -k t from 1.
    factors = np.exp(-0.25 * (np.array([1.5, 2.0]) ** 2 - 1))[:, None] * [1.0, 0.0] + [0.0, 1.0]
    np.testing.assert_allclose(ys, factors * theta, rtol=1e-6)
    found = program.read_gradient(program.gradient(inputs))
    np.testing.assert_allclose(found.gradient, 2 * np.sum(factors**2, axis=0) * theta, rtol=1e-4)
    np.testing.assert_allclose(found.loss, np.sum(ys**2), rtol=1e-7)


def test_a_worker_needs_no_symbolic_algebra(library):
    code = "import sys, sciml_bench.adapters.diffsol.program; print('sympy' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


def test_steep_switches_have_values_and_derivatives(library):
    ode = library.Ode("in_i { a = 1000.0 }\nu_i { x = 1.0 }\nF_i { tanh(max(min(a*x, 30.0), -30.0)) }")
    for x, value, slope in ((1.0, 1.0, 0.0), (-1.0, -1.0, 0.0), (1e-4, np.tanh(0.1), 1000 / np.cosh(0.1) ** 2)):
        at = np.array([x])
        assert np.ravel(ode.rhs(np.array([1000.0]), 0.0, at))[0] == pytest.approx(value, rel=1e-12)
        found = np.ravel(ode.rhs_jac_mul(np.array([1000.0]), 0.0, at, np.ones(1)))[0]
        assert found == pytest.approx(slope, rel=1e-9, abs=1e-9)


def test_branches_and_unknown_functions_are_named(tmp_path):
    path = tmp_path / "hostile.toml"
    path.write_text(HOSTILE.replace("tan(0.3*N)", "atan(0.3*N)"))
    problem = load_problem(path)
    assert "atan" in functions_of(problem)
    with pytest.raises(UsageError, match="DiffSL has no way to write atan"):
        source(problem, "diffsl")


@pytest.mark.parametrize("method", [method.name for method in ADAPTER.methods])
def test_a_solution_that_becomes_infinite_is_a_typed_failure(library, method):
    text = "import numpy as np\nSTATES = ('x',)\nPARAMETERS = ('a',)\nMODEL = 'F_i { a*x*x }'\n"
    text += "def loss(ys):\n    return np.sum(ys)\ndef loss_gradient(ys):\n    return np.ones_like(ys)\n"
    found, message = outcome(text, cell(method))
    assert found == "step_underflow"
    assert "diffsol: ODE solver error" in message


@pytest.mark.parametrize("sensitivity", ADAPTER.sensitivities)
def test_scripts_run_and_agree(library, capsys, sensitivity):
    text = script_of_cell("hires", ["diffsol", "bdf", sensitivity, "compiled"], 1e-6)
    exec(compile(text, "script", "exec"), {"__name__": "__main__"})
    shown = capsys.readouterr().out
    assert float(shown.partition("relative error of the gradient ")[2].split()[0]) < 1e-4

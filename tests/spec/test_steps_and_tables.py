"""Steps in time by floor, ceil and mod, and tables by interp: values, breakpoints, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sciml_bench.emit import source
from sciml_bench.errors import ProblemError
from sciml_bench.spec import Problem
from sciml_bench.spec.language.operators import Floor
from sciml_bench.spec.load import load_problem
from sciml_bench.spec.model import to_double

TEXT = """
spec = 1
name = "driven"
title = "Driven"
[time]
t1 = {t1}
{constants}
[parameters]
k = 0.5
[states]
x = {{ initial = 1, scale = 1 }}
[equations]
x = "{equation}"
"""


def driven(folder: Path, equation: str, t1: float = 10, constants: str = "") -> Problem:
    path = folder / "driven.toml"
    path.write_text(TEXT.format(t1=t1, equation=equation, constants=constants), encoding="utf-8")
    return load_problem(path)


def refusal(folder: Path, equation: str, constants: str = "") -> str:
    with pytest.raises(ProblemError) as caught:
        driven(folder, equation, constants=constants)
    return str(caught.value)


def values(problem: Problem, times: list[float], x: float = 1.0) -> list[float]:
    namespace: dict[str, object] = {}
    exec(compile(source(problem, "numpy"), "numpy", "exec"), namespace)
    rhs = namespace["rhs"]
    return [float(np.ravel(rhs(t, np.array([x]), [0.5]))[0]) for t in times]  # pyright: ignore[reportCallIssue]


TIMES = [0.0, 0.4, 1.99, 2.0, 3.5, 7.25, 9.999]


@pytest.mark.parametrize(
    ("equation", "right", "breakpoints"),
    [
        ("floor(t/2) - k*x", lambda t: np.floor(t / 2) - 0.5, [2, 4, 6, 8]),
        ("ceil(t/2 - 1/4) - k*x", lambda t: np.ceil(t / 2 - 0.25) - 0.5, [0.5, 2.5, 4.5, 6.5, 8.5]),
        ("mod(t, 4) - k*x", lambda t: np.mod(t, 4) - 0.5, [4, 8]),
        ("mod(-t, 4) - k*x", lambda t: np.mod(-t, 4) - 0.5, [4, 8]),
        # A dose that repeats: a condition on what has steps itself.
        ("where(mod(t, 3) < 1, 2, 0) - k*x", lambda t: 2.0 * (np.mod(t, 3) < 1) - 0.5, [1, 3, 4, 6, 7, 9]),
    ],
)
def test_steps_in_time_are_found_and_written_as_they_are(tmp_path, equation, right, breakpoints):
    problem = driven(tmp_path, equation)
    assert [to_double(time) for time in problem.breakpoints] == pytest.approx(breakpoints)
    # No framework has to round a quotient at the time of a step.
    assert not any(expr.has(Floor) for expr in problem.equations.values())
    # At the steps of a ceiling the value is that after them.
    inside = [t for t in TIMES if all(abs(t - b) > 1e-9 for b in breakpoints) and (t > 0 or "-t" not in equation)]
    assert values(problem, inside) == pytest.approx([right(t) for t in inside])


def test_a_period_that_is_fitted_moves_its_steps(tmp_path):
    problem = driven(tmp_path, "floor(t/k) - x")
    (moving,) = problem.switching.unsettled
    assert moving.names == ("k",)
    assert not moving.of_states
    assert values(problem, [0.6, 1.7]) == pytest.approx([0.0, 2.0])


def test_steps_of_a_state_are_told_of(tmp_path):
    problem = driven(tmp_path, "floor(2*x) - k*x")
    (moving,) = problem.switching.unsettled
    assert moving.of_states
    assert values(problem, [0.0], 1.3) == pytest.approx([2.0 - 0.65])


def test_floor_of_numbers_and_parameters_needs_no_breakpoint(tmp_path):
    problem = driven(tmp_path, "floor(2.5) + floor(3*k) - k*x")
    assert problem.breakpoints == ()
    assert values(problem, [0.0]) == pytest.approx([2 + 1 - 0.5])


TABLE = "[constants]\nhours = [1, 2, 4, 8]\ndose = [0, 3, 1, 5]"


@pytest.mark.parametrize("equation", ["interp(t, hours, dose) - k*x", "interp(t, [1, 2, 4, 8], [0, 3, 1, 5]) - k*x"])
def test_a_table_is_interpolated_in_straight_lines_and_ends_level(tmp_path, equation):
    problem = driven(tmp_path, equation, constants=TABLE if "hours" in equation else "")
    assert [to_double(time) for time in problem.breakpoints] == [1, 2, 4, 8]
    times = [0.0, 0.99, 1.0, 1.5, 2.0, 3.3, 7.9, 8.0, 9.5]
    right = np.interp(times, [1, 2, 4, 8], [0, 3, 1, 5]) - 0.5
    assert values(problem, times) == pytest.approx(list(right))


def test_a_table_may_be_over_a_state_and_hold_parameters(tmp_path):
    problem = driven(tmp_path, "interp(x, [0, 1, 2], [k, 3, 4*k]) - x")
    states = [-1.0, 0.25, 1.0, 1.5, 3.0]
    right = [np.interp(x, [0, 1, 2], [0.5, 3, 2]) - x for x in states]
    assert [values(problem, [0.0], x)[0] for x in states] == pytest.approx(right)
    assert problem.switching.unsettled[0].of_states


def test_a_long_table_asks_few_conditions(tmp_path):
    places = list(range(200))
    problem = driven(tmp_path, f"interp(x, {places}, {[p % 7 for p in places]}) - k*x")
    assert values(problem, [0.0], 120.5) == pytest.approx([(120 % 7 + 121 % 7) / 2 - 60.25])


@pytest.mark.parametrize(
    ("equation", "told"),
    [
        ("interp(t, [], []) - k*x", "a table has 2 to 400 points, this one has 0"),
        ("interp(t, [1], [1]) - k*x", "a table has 2 to 400 points, this one has 1"),
        ("interp(t, [1, 2], [1, 2, 3]) - k*x", "2 places and 3 values"),
        ("interp(t, [1, 3, 2], [1, 2, 3]) - k*x", "2 does not come after 3"),
        ("interp(t, [1, 1], [1, 2]) - k*x", "1 does not come after 1"),
        ("interp(t, [0, k], [1, 2]) - k*x", "the places of interp are numbers"),
        ("interp(t, 3, 4) - k*x", "takes a place, then lists or vectors"),
        ("interp(t, [0, 1]) - k*x", "interp takes 3 arguments"),
        ("t % 24 - k*x", "a remainder is mod(a, b)"),
        ("t // 24 - k*x", "write floor(a/b)"),
        ("round(t) - k*x", "write floor(x + 0.5)"),
        ("mod(t, 0) - k*x", "divides by zero"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path, equation, told):
    assert told in refusal(tmp_path, equation)


@pytest.mark.parametrize(
    ("equation", "right", "t1"),
    [
        # The integer is touched in the middle, but not crossed.
        ("floor(1 - (t - 1)**2)*k - x", lambda t: np.floor(1 - (t - 1) ** 2) * 0.5 - 1, 3),
        ("floor(sin(t)) - k*x", lambda t: np.floor(np.sin(t)) - 0.5, 6),
        ("floor(3*sinc(t)) - k*x", lambda t: np.floor(3 * np.sinc(t / np.pi)) - 0.5, 6),
    ],
)
def test_an_integer_that_is_touched_is_no_step(tmp_path, equation, right, t1):
    problem = driven(tmp_path, equation, t1)
    assert not problem.switching.unsettled
    times = [0.31, 0.77, 1.3, 1.9, 2.2, 2.6, 2.9]
    assert values(problem, times) == pytest.approx([right(t) for t in times])


@pytest.mark.parametrize(
    ("equation", "right"),
    [
        ("where(exprel(x) > 2, 1, 0) - k*x", lambda x: 1.0 * (np.expm1(x) / x > 2) - 0.5 * x),
        ("max(x/exprel(x), 0.1) - k*x", lambda x: max(x * x / np.expm1(x), 0.1) - 0.5 * x),
        ("abs(exprel(x) - 2) - k*x", lambda x: abs(np.expm1(x) / x - 2) - 0.5 * x),
        ("interp(x/(1 + interp(x, [0, 1], [1, 2])), [0, 1], [1, 2]) - k*x", lambda x: 1 + x / (2 + x) - 0.5 * x),
        ("max(x/(1 + where(x < 1, 1, 2)), 0.1) - k*x", lambda x: max(x / 2, 0.1) - 0.5 * x),
    ],
)
def test_functions_stand_in_conditions_and_in_each_other(tmp_path, equation, right):
    problem = driven(tmp_path, equation)
    for x in (0.1, 0.6, 0.95):
        assert values(problem, [0.0], x) == pytest.approx([right(x)])
    for target in ("jax", "torch", "tensorflow", "julia", "numba"):
        assert source(problem, target)


def test_kinks_of_sinc_in_time_are_found(tmp_path):
    problem = driven(tmp_path, "abs(sinc(t)) - k*x", 6)
    assert [to_double(time) for time in problem.breakpoints] == pytest.approx([np.pi])

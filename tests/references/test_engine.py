"""The solver: known solutions, breakpoints, and failures that say where and why."""

from __future__ import annotations

import pytest
from flint import arb
from stubs.small_problems import Load
from sympy import Rational

from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.numbers import matching_digits, precision
from sciml_bench.references.engine.radau import solve
from sciml_bench.references.engine.trajectory import Settings, Trajectory
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.spec.model import Problem

SETTINGS = Settings(18, 1e-19)


def solved(problem: Problem, settings: Settings = SETTINGS) -> Trajectory:
    case = Case(problem)
    return solve(case.dynamics, case.start, problem.t0, problem.save_times, settings)


def one(equation: str, time: str = "t1 = 2", initial: str = "1", extra: str = "") -> str:
    return (
        f'spec = 1\nname = "one"\ntitle = "One equation"\n[time]\n{time}\n{extra}\n'
        f'[states]\ny = {initial}\n[equations]\ny = "{equation}"\n'
    )


def test_robertson_to_the_digits_published(robertson: Problem):
    middle, end = solved(robertson).saved
    published = (
        (middle, ("0.7158270687194050904745", "9.185534764557763903899e-6", "0.2841637457458303517616")),
        (end, ("0.01786592114209946496529", "7.274751468436318770766e-8", "0.9821340061103858506715")),
    )
    with precision(160):
        for row, values in published:
            assert all(matching_digits(x, arb(value)) > 20.5 for x, value in zip(row, values, strict=True))


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        (one("-y"), lambda: arb(-2).exp()),
        (one("-1000*(y - cos(t)) - sin(t)"), lambda: arb(2).cos()),
        (one("-y**3/2"), lambda: arb(3).rsqrt()),
        (one("y*cos(t)"), lambda: arb(2).sin().exp()),
        (one("sqrt(y)"), lambda: arb(4)),
    ],
    ids=["decay", "stiff", "algebraic", "forced", "root"],
)
def test_exact_solutions(load: Load, text: str, exact):
    end = solved(load(text)).saved[-1][0]
    with precision(160):
        assert matching_digits(end, exact()) > 20


def test_breakpoints_are_stepped_on_exactly(load: Load):
    text = one("where(t >= pi/4, 3, 1)", 't1 = 2\nbreakpoints = ["pi/4"]', "0")
    end = solved(load(text)).saved[-1][0]
    with precision(160):
        quarter = arb.pi() / 4
        assert matching_digits(end, quarter + 3 * (2 - quarter)) > 35


def test_a_component_that_dies_out_keeps_its_digits(load: Load):
    end = solved(load(one("-50*y", "t1 = 1"))).saved[-1][0]
    with precision(160):
        assert matching_digits(end, arb(-50).exp()) > 19


def test_a_solution_that_blows_up_says_where(load: Load):
    with pytest.raises(ReferenceFailure, match=r"stops at t = 1(\.0+)?[:;].*blows up") as caught:
        solved(load(one("y**2")))
    assert "step size fell" in str(caught.value)


def test_a_solution_that_leaves_the_domain_says_where(load: Load):
    with pytest.raises(ReferenceFailure, match=r"stops at t = 0\.5[:;0-9]*.*"):
        solved(load(one("-1/y", "t1 = 2")))


def test_too_many_unknowns_are_refused(load: Load):
    text = (
        'spec = 1\nname = "big"\ntitle = "Big"\n[time]\nt1 = 1\n'
        '[states]\ny = { size = 3001, initial = 1 }\n[equations]\ny = "-y"\n'
    )
    with pytest.raises(ReferenceFailure, match="3001 unknowns"):
        Case(load(text))


def test_too_many_steps_are_given_up(orbit: Problem):
    with pytest.raises(ReferenceFailure, match="reached only t ="):
        solved(orbit, Settings(9, 1e-20, max_steps=5))


def test_saved_times_do_not_disturb_the_solution(orbit: Problem):
    case = Case(orbit)
    times = [Rational(k, 7) for k in range(1, 22)]
    fine = solve(case.dynamics, case.start, orbit.t0, times, SETTINGS).saved[-1]
    with precision(160):
        assert all(matching_digits(a, b) > 20 for a, b in zip(fine, solved(orbit).saved[-1], strict=True))

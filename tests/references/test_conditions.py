"""Conditions in time and on states: certified with their switches, refused with a cause, and never a traceback."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st
from stubs.conditions import Evaluation, one
from stubs.small_problems import Load

from sciml_bench.emit import source
from sciml_bench.emit.diffsl import FUNCTIONS
from sciml_bench.emit.symbolic.elementary import functions_of
from sciml_bench.emit.targets import TARGETS
from sciml_bench.errors import ProblemError
from sciml_bench.references.certificate import certify
from sciml_bench.references.cost import estimate_s
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.numbers import matching_digits, precision
from sciml_bench.references.engine.radau import solve
from sciml_bench.references.engine.trajectory import Settings
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.spec import load_problem
from sciml_bench.spec.model import Problem

SETTINGS = Settings(18, 1e-19)


def end_of(problem: Problem) -> arb:
    case = Case(problem)
    return solve(case.dynamics, case.start, problem.t0, problem.save_times, SETTINGS).saved[-1][0]


def test_a_window_that_no_step_sees_is_certified_rightly(load: Load):
    certified = certify(Case(load(one("-k*y + 3*where(t >= 5 and t < 5.001, 1, 0)", y0=0))))
    with precision(200):
        k = arb("0.5")
        exact = 3 / k * ((-k * (10 - arb("5.001"))).exp() - (-k * 5).exp())
        assert matching_digits(certified.rows[-1][0], exact) > 20


@pytest.mark.parametrize(
    ("equation", "exact"),
    [
        ("abs(t - 5)", lambda: arb(25)),
        ("max(t - 5, 0)", lambda: arb("12.5")),
        ("sign(sin(t))", lambda: 4 * arb.pi() - 10),
        ("20*where(t >= 5, 1, 0)", lambda: arb(100)),
        ("where(t >= 5, 1, 0)**2 + 2**where(t >= 5, 1, 0)", lambda: arb(20)),
        ("1/where(t >= 5, 1, 2)", lambda: arb("7.5")),
        ("where(t >= 5, 2, 1)*where(t >= 6, 3, 1)", lambda: arb(31)),
        ("where(exp(-((t - 5)*1e6)**2) > 0.5, 1e6, 0)", lambda: 2 * arb(2).log().sqrt()),
    ],
)
def test_integrals_over_switches(load: Load, equation: str, exact: Callable[[], arb]):
    end = end_of(load(one(equation, y0=0)))
    with precision(160):
        assert matching_digits(end, exact()) > 20


@pytest.mark.parametrize("equation", ["-k*y + max(y, 0)", "-k*y + abs(y)", "-k*y + y*sign(y)", "-k*y + min(y, 1e9)"])
def test_conditions_on_the_state_that_never_change_are_followed(load: Load, equation: str):
    end = end_of(load(one(equation)))
    with precision(160):
        assert matching_digits(end, arb(5).exp()) > 20


@pytest.mark.parametrize(
    ("equation", "time"),
    [
        ("1 + k*sign(y - 1.5)", r"0\.99999|1\b"),
        ("where(y >= 1.5, 2, 1)", r"0\.49999|0\.5\b"),
        ("-1 + k*max(y, 0)", r"1\.38"),
        ("-sign(y)", r"0\.99999|1\b"),
    ],
)
def test_a_condition_that_changes_along_the_solution_is_refused_with_the_time(load: Load, equation: str, time: str):
    with pytest.raises(ReferenceFailure, match=rf"stops at t = ({time}).*depends on more than the time.*:13:"):
        end_of(load(one(equation)))


def test_not_even_where_it_changes_at_a_breakpoint(load: Load):
    # There the value would be right, and its gradient would be without the jump that the adjoint does not see.
    with pytest.raises(ReferenceFailure, match="depends on more than the time"):
        end_of(load(one("1 + k*sign(y - 2)", "breakpoints = [1, 2]")))


@pytest.mark.parametrize(
    "equation",
    [
        "k*sqrt(y)",
        "1 + k*sign(y - 0.5)",
        "k*max(y, 0)",
        "k*y*1/where(t >= 5, 1, 0)",
        "k/y",
        "log(y)",
        "y**(-1/3)",
        "where(y > 0, sqrt(y), 1/y)",
        "sqrt(where(t >= 5, 1, 0))*k",
        "k*exp(1/y)",
    ],
)
def test_singular_starts_end_in_a_refusal_or_a_number(load: Load, equation: str):
    # Whichever of the two it is, it is nothing else.
    with suppress(ReferenceFailure):
        case = Case(load(one(equation, y0=0)))
        assert estimate_s(case) > 0
        certify(case, limit_s=20, gradients=False)


def test_definitions_that_are_numbers(load: Load):
    text = one("-a*k*y + b").replace("[equations]", '[definitions]\na = 1\nb = "2*a*where(t >= 5, a, 0)"\n[equations]')
    problem = load(text)
    assert problem.breakpoints == (5,)
    end = end_of(problem)
    with precision(160):
        k = arb("0.5")
        assert matching_digits(end, (-10 * k).exp() + 2 / k * (1 - (-5 * k).exp())) > 20


NUMBERS = st.sampled_from(["0.3", "1", "2.5", "pi", "5", "7.25"])
SMOOTH = st.one_of(
    st.just("t"),
    st.builds("(t - {})".format, NUMBERS),
    st.builds("sin({}*t)".format, NUMBERS),
    st.builds("(cos(t + {}) - 0.4)".format, NUMBERS),
    st.builds("(t**2 - 7*t + {})".format, NUMBERS),
    st.builds("(exp(-t/3) - 1/{})".format, NUMBERS),
    NUMBERS,
)


def rough(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    comparison = st.builds("{} {} {}".format, inner, st.sampled_from(["<", "<=", ">", ">="]), inner)
    joined = st.builds("({} {} {})".format, comparison, st.sampled_from(["and", "or"]), comparison)
    condition = st.one_of(comparison, joined, st.builds("not {}".format, joined))
    return st.one_of(
        st.builds("where({}, {}, {})".format, condition, inner, inner),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner),
        st.builds("{}({})".format, st.sampled_from(["abs", "sign", "sin"]), inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*"]), inner),
        st.builds("{}**2".format, inner),
        st.builds("{}/(2 + sin({}))".format, inner, inner),
    )


EXPRESSIONS = rough(st.recursive(SMOOTH, rough, max_leaves=3))


@given(equation=EXPRESSIONS, seed=st.integers(0, 2**20))
@settings(max_examples=25, phases=(Phase.generate,))
def test_any_conditions_of_the_time(tmp_path_factory: pytest.TempPathFactory, equation: str, seed: int):
    file = tmp_path_factory.mktemp("conditions") / "one.toml"
    file.write_text(one(f"-k*y + {equation}"))
    problem = None
    # Two sides that are the same but for their form touch all over.
    with suppress(ProblemError):
        problem = load_problem(file)
    if problem is None:
        event("refused")
        return
    event(f"{min(len(problem.breakpoints), 5)} breakpoints")
    for target in TARGETS:
        # DiffSL has no branches; its adapter refuses the problem.
        if target != "diffsl" or functions_of(problem) <= FUNCTIONS:
            source(problem, target)
    times = [float(time.evalf(20)) for time in problem.breakpoints]
    _same_value_beside_every_switch(problem, equation, times, seed)
    # Magnitudes whose square is taken are smooth.
    if str(problem.equations["y"]).count("Abs(") == equation.count("abs("):
        _no_switch_without_a_breakpoint(equation, times)
    _engine_has_the_value(problem, equation, times)


def _same_value_beside_every_switch(problem: Problem, equation: str, times: list[float], seed: int) -> None:
    namespace: dict[str, Any] = {}
    exec(source(problem, "numpy"), namespace)
    rhs = namespace["rhs"]
    random = np.random.default_rng(seed)
    places = [*random.uniform(0, 10, 20), *(t + side for t in times for side in (-1e-9, 1e-9))]
    for t in places:
        if not 0 < t < 10 or any(abs(t - other) < 5e-10 for other in times):
            continue
        expected = -0.5 + Evaluation(equation, {"t": t}).value
        assert rhs(t, np.array([1.0]), np.array([0.5]))[0] == pytest.approx(expected, rel=1e-6, abs=1e-6), t


def _no_switch_without_a_breakpoint(equation: str, times: list[float]) -> None:
    grid = np.linspace(1e-6, 10 - 1e-6, 1501)
    ways = [Evaluation(equation, {"t": t}).taken for t in grid]
    for a, b, before, after in zip(grid, grid[1:], ways, ways[1:], strict=False):
        if before != after:
            assert bisect.bisect(times, b + 1e-9) > bisect.bisect(times, a - 1e-9), f"a switch in {a}…{b}"


def _engine_has_the_value(problem: Problem, equation: str, times: list[float]) -> None:
    case = Case(problem)
    ends = [0.0, *times, 10.0]
    with precision(128):
        for segment, a, b in zip(case.dynamics.segments(), ends, ends[1:], strict=False):
            t = a + 0.4321 * (b - a)
            found = float(segment.rhs(arb(t), [arb(1)], [arb("0.5")])[0])
            expected = -0.5 + Evaluation(equation, {"t": t}).value
            assert math.isclose(found, expected, rel_tol=1e-6, abs_tol=1e-6), t

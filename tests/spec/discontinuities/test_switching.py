"""Breakpoints that a file does not declare are found; those that it declares must be right."""

from __future__ import annotations

import pytest
import sympy
from stubs.conditions import one
from stubs.small_problems import Load
from sympy import Rational, pi

from sciml_bench.errors import ProblemError


@pytest.mark.parametrize(
    ("equation", "times"),
    [
        ("where(t >= 5, 1, 0)", [5]),
        ("where(t >= 2 and t < 3, 1, 0)", [2, 3]),
        ("where(not (t >= 2 and t < 3), 1, 0)", [2, 3]),
        ("where(abs(t - 7) < 1, 1, 0)", [6, 8]),
        ("where(t >= 1 and t >= 3, 1, 0)", [3]),
        ("abs(t - 5)", [5]),
        ("max(t - 5, 0)", [5]),
        ("min(max(t, 2), 5)", [2, 5]),
        ("sign(sin(t))", [pi, 2 * pi, 3 * pi]),
        ("max(sin(t), 0)", [pi, 2 * pi, 3 * pi]),
        ("sqrt((t - 4)**2)", [4]),
        ("where(t >= 2, where(t >= 1, 3, 4), where(t >= 7, 5, 6))", [2]),
        ("exp(-where(t >= 5, 1, 0))", [5]),
        ("where(k*sin(t) > 0, 1, 0)", [pi, 2 * pi, 3 * pi]),
        ("where(t**2 > 2, 1, 0)*where(t >= pi/2, 1, 0)", [sympy.sqrt(2), pi / 2]),
        ("max(t - abs(t), 0)", []),
        ("where(1 - cos(t) > 0, 1, 0)", []),
        ("where(t >= 12, 1, 0)", []),
        ("where(t >= 5 and y > 0.001, 1, 0)", [5]),
    ],
)
def test_switches_are_found(load: Load, equation: str, times: list[object]):
    problem = load(one(f"-k*y + {equation}"))
    assert list(problem.breakpoints) == times
    assert [switch.time for switch in problem.switching.found] == times
    assert all(switch.origin.endswith("(…) of y") for switch in problem.switching.found)


def test_found_and_declared_ones_are_merged(load: Load):
    problem = load(one("-k*y + where(t >= pi, 1, 0) + where(t >= 6, 1, 0)", 'breakpoints = [2, "pi"]'))
    assert problem.breakpoints == (2, pi, 6)
    assert problem.switching.declared == (2, pi)


def test_they_are_found_through_definitions_and_constants(load: Load):
    text = one("-k*y + dose").replace("[states]", '[constants]\nbegin = 3\nends = [4, "pi + 1"]\n[states]')
    dose = '[definitions]\nphase = "t - begin"\ndose = "where(phase >= 0 and t < ends[1], 1, 0)"\n[equations]'
    assert load(text.replace("[equations]", dose)).breakpoints == (3, 1 + pi)


def test_every_element_of_a_field_switches_at_its_own_time(load: Load):
    text = (
        'spec = 1\nname = "front"\ntitle = "A front"\n[time]\nt1 = 1\n[grids.x]\npoints = 4\nfirst = 0\nlast = 1\n'
        'boundary = "neumann"\n[states]\nu = { grid = ["x"], initial = 0, scale = 1 }\n[equations]\n'
        'u = "-u + where(t >= x, 1, 0)"\n'
    )
    assert load(text).breakpoints == (Rational(1, 3), Rational(2, 3))


@pytest.mark.parametrize("declared", ["3.14159", "3.14", "3.1416", "3.141592653589793"])
def test_a_breakpoint_beside_a_switch_is_refused_with_both_times(load: Load, declared: str):
    with pytest.raises(ProblemError, match=r"breakpoint .* is not the time pi at which where\(…\) of y"):
        load(one("-k*y + where(t >= pi, 1, 0)", f"breakpoints = [{declared}]"))


@pytest.mark.parametrize(
    ("equation", "declared", "times"),
    [
        ("-k*y + where(t >= 5, 1, 0) + where(t >= 5.001, 1, 0)", "[]", [5, Rational(5001, 1000)]),
        ("-k*y + where(t >= 5, 1, 0) + where(t >= 5.001, 1, 0)", "[5, 5.001]", [5, Rational(5001, 1000)]),
        ("-k*y + where(t >= 5, 1, 0)", "[5, 5.001]", [5, Rational(5001, 1000)]),
        ("-k*y + where(t >= 5, 1, 0)", "[6]", [5, 6]),
        ("-k*y", "[6]", [6]),
    ],
)
def test_close_switches_and_idle_breakpoints_pass(load: Load, equation: str, declared: str, times: list[object]):
    assert list(load(one(equation, f"breakpoints = {declared}")).breakpoints) == times


@pytest.mark.parametrize(
    ("equation", "message"),
    [
        ("where(sin(1/t) > 0, 1, 0)", "cannot be decided"),
        ("sign(sin(10000*t))", "more than 10000 times"),
        ("where(t >= 5, 1, 0) + where(t >= 5.00000000000000000001, 1, 0)", "the same in double precision"),
        ("where(sqrt(-1 - t**2) > 0, 1, 0)", "compares numbers that are not real"),
        ("max(sqrt(-1 - t**2), 0)", "compares numbers that are not real"),
        ("where(t == 5, 1, 0)", "is not a condition"),
        ("where(1 < t < 2, 1, 0)", "is not a condition"),
    ],
)
def test_what_cannot_be_decided_is_refused_in_its_line(load: Load, equation: str, message: str):
    with pytest.raises(ProblemError, match=message) as caught:
        load(one(f"-k*y + {equation}"))
    assert caught.value.line is not None


def test_conditions_that_move_are_noted_with_their_place(load: Load):
    problem = load(one("-k*y + where(t >= 4*k, 1, 0)"))
    (unsettled,) = problem.switching.unsettled
    assert problem.breakpoints == ()
    assert (unsettled.names, unsettled.of_states) == (("k",), False)
    assert ":13: the condition in '-k*y + where(t >= 4*k, 1, 0)' depends on k" in str(unsettled)


@pytest.mark.parametrize(
    ("equation", "sentence"),
    [
        ("max(t - k, 0)", "bends at a time that depends on k"),
        ("where(t >= 4*k, 1, 0)", "switches at a time that depends on k"),
        ("max(y, 0)", "switches when a state does"),
    ],
)
def test_what_a_moving_condition_does_to_gradients_is_said(load: Load, equation: str, sentence: str):
    (unsettled,) = load(one(f"{equation} - k*y")).switching.unsettled
    assert unsettled.sentence.startswith(sentence)


def test_conditions_are_written_with_their_times(load: Load):
    # So that a framework takes the same branch on each side, however it rounds a sine.
    problem = load(one("-k*y + where(sin(10*t) > 0, 1, 0) + sign(cos(t))", t1=2))
    conditions = problem.equations["y"].atoms(sympy.core.relational.Relational)
    assert all(condition.lhs == sympy.Symbol("t", real=True) for condition in conditions)
    assert {condition.rhs for condition in conditions} == {pi * k / 10 for k in range(1, 7)} | {pi / 2}
    # As it stands in the file.
    assert problem.equation_texts["y"] == "-k*y + where(sin(10*t) > 0, 1, 0) + sign(cos(t))"

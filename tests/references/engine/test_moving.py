"""Conditions whose times follow from parameters: solutions step on them, and gradients know whether they jump."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flint import arb
from stubs.conditions import one
from stubs.small_problems import Load

from sciml_bench.references.build import make
from sciml_bench.references.certificate import certify
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.numbers import exact, matching_digits, precision
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.spec.model import Problem

Formula = Callable[[arb, arb], arb]
"""The solution at a time, for a value of k."""

BITS = 400
WIDTH = "1e-30"


def ramp(t: arb, k: arb) -> arb:
    """y' = max(t − k, 0) − y from 1."""
    s = t - k
    return (-t).exp() + (s - 1 + (-s).exp() if s > 0 else 0)


def vee(t: arb, k: arb) -> arb:
    """y' = |t − k| from 1."""
    return 1 + (k * t - t * t / 2 if t < k else k * k / 2 + (t - k) ** 2 / 2)


def half_waves(t: arb, k: arb) -> arb:
    """y' = max(sin(k t), 0) from 1."""
    whole = (k * t / (2 * arb.pi())).floor()
    phase = k * t - 2 * arb.pi() * whole
    return 1 + (2 * whole + (1 - phase.cos() if phase < arb.pi() else 2)) / k


def hat(t: arb, k: arb) -> arb:
    """y' = max(min(t − k, k + 2 − t), 0) from 1."""
    s = t - k
    return arb(1) + (0 if s < 0 else s * s / 2 if s < 1 else 1 - (2 - s) ** 2 / 2 if s < 2 else 1)


def rows(problem: Problem, formula: Formula, k: arb) -> list[list[arb]]:
    return [[formula(exact(time), k)] for time in problem.save_times]


def slope(case: Case, formula: Formula, k: arb) -> arb:
    """The derivative of the loss, by differences of the formula."""
    width = arb(WIDTH)
    ahead, behind = (case.objective.value(rows(case.problem, formula, at), (at,)) for at in (k + width, k - width))
    return (ahead - behind) / (2 * width)


@pytest.mark.parametrize(
    ("equation", "k", "formula"),
    [
        ("max(t - k, 0) - y", "3.3", ramp),
        ("-y - min(k - t, 0)", "5", ramp),
        ("max(t - k, 0) - y", "0", ramp),
        ("max(t - k, 0) - y", "12", ramp),
        ("abs(t - k)", "pi", vee),
        ("max(sin(k*t), 0)", "2.1", half_waves),
        ("max(min(t - k, k + 2 - t), 0)", "3.3", hat),
        ("min(max(t - k, 0), max(k + 2 - t, 0))", "3.3", hat),
    ],
)
def test_a_bend_that_a_parameter_moves_has_a_certified_gradient(load: Load, equation: str, k: str, formula: Formula):
    case = Case(load(one(equation, k=f'"{k}"')))
    certified = certify(case)
    with precision(BITS):
        here = exact(case.problem.p[0])
        truth = rows(case.problem, formula, here)
        assert min(matching_digits(a[0], b[0]) for a, b in zip(certified.rows, truth, strict=True)) > 28
        assert certified.gradient_digits[0] > 20
        right = slope(case, formula, here)
        assert matching_digits(certified.gradient[0], right, max(abs(float(right)), 1e-30)) > 20


def test_a_definition_may_stand_between(load: Load):
    text = one("max(start, 0) - y", k=1.1).replace("[equations]", '[definitions]\nstart = "t - 3*k"\n[equations]')
    case = Case(load(text))
    with precision(BITS):
        assert matching_digits(certify(case).rows[-1][0], ramp(arb(10), 3 * exact(case.problem.p[0]))) > 28


def step(t: arb, k: arb) -> arb:
    """y' = 1 from k on, from 1."""
    return 1 + (t - k if t > k else arb(0))


def stairs(t: arb, k: arb) -> arb:
    """y' = floor(t / k) from 1."""
    whole = (t / k).floor()
    return 1 + k * whole * (whole - 1) / 2 + whole * (t - k * whole)


@pytest.mark.parametrize(
    ("equation", "k", "formula"),
    [
        ("where(t >= k, 1, 0)", "3.3", step),
        ("where(t < k, 0, 1)", "pi", step),
        ("0.5 + 0.5*sign(t - k)", "3.3", step),
        ("floor(t/k)", "2.3", stairs),
        ("max(where(t > k, 1, 0), 0)", "3.3", step),
    ],
)
def test_a_jump_that_a_parameter_moves_is_certified_without_its_derivative(
    load: Load, equation: str, k: str, formula: Formula
):
    problem = load(one(equation, k=f'"{k}"'))
    certified = certify(Case(problem))
    assert certified.gradient_digits[0] == 0
    evidence: Any = certified.evidence["gradient"]
    assert evidence["jumps"] == ["k"]
    with precision(BITS):
        truth = rows(problem, formula, exact(problem.p[0]))
        assert matching_digits(certified.rows[-1][0], truth[-1][0]) > 28


def test_the_derivatives_of_other_parameters_are_certified(load: Load):
    """y' = a from k on: the loss depends on both."""
    text = one("a*where(t >= k, 1, 0)", k=3.3).replace("[states]", "a = 2\n[states]")
    certified = certify(Case(load(text)))
    assert certified.gradient_digits[0] == 0
    assert certified.gradient_digits[1] > 20
    stored, missing = make(load(text))
    assert missing == ""
    assert stored.gradient_digits[0] == 0 < stored.gradient_digits[1]


@pytest.mark.parametrize(
    ("equation", "k"),
    [
        # A window without width opens when k moves: to either side the derivative is another one.
        ("where(t >= k and t < 2*k - 3, 1, 0)", "3"),
        ("where(t >= k, 1, 0) - where(t >= 2*k - 3, 1, 0)", "3"),
        # A jump at the ends of the time span moves into it.
        ("where(t >= k, 1, 0)", "0"),
        ("where(t >= k, 1, 0)", "10"),
        ("floor(t - k)", "0"),
        # It jumps inside of a bend.
        ("max(where(t > k, t, 0), 1)", "3.3"),
        # The state's part of a condition never changes, the parameter's does.
        ("where(t >= k and y > -1e9, 1, 0)", "3.3"),
        ("where(t >= k or y > 1e9, 1, 0)", "3.3"),
        # Its sides change places at a pole, not by meeting.
        ("max(min(1/(t - k), 1), -1)", "3.3"),
        ("max(min(tan(k*t), 1), -1)", "0.3"),
        # Only inside of a branch is it defined.
        ("where(t > 1, where(sqrt(t - 1) > k, 1, 0), 0)", "1"),
        # A window opens where the two sides touch.
        ("where((t - 3)**2 < k, 1, 0)", "0"),
        ("where((t - k)*(t - 3) < 0, 1, 0)", "3"),
        ("where(sin(t) > k, 1, 0)", "1"),
        # By way of a definition, and as a remainder.
        ("where(mod(t, k) < 1, 1, 0)", "2.3"),
    ],
)
def test_no_derivative_where_a_jump_may_appear(load: Load, equation: str, k: str):
    case = Case(load(one(f"{equation} - y", k=f'"{k}"')))
    assert case.jump_movers == ("k",)
    assert certify(case).gradient_digits[0] == 0


@pytest.mark.parametrize(
    "equation",
    [
        "where(t >= 100*k, 1, 0) - k*y",
        "k*where(t >= 5, 1, 0) - y",
        "-k*y*sign(t + k)",
        "where(sin(k*t/9) >= 0, 1, 2) - k*y",
        "max(1/(t + k), 1) - y",
    ],
)
def test_a_jump_that_no_parameter_moves_within_the_span_costs_no_gradient(load: Load, equation: str):
    case = Case(load(one(equation)))
    assert case.jump_movers == ()
    assert certify(case).gradient_digits[0] > 20


def test_a_batch_certifies_no_sum_of_unknown_derivatives(load: Load):
    text = one("where(t >= k, 1, 0) - y", k=3.3) + "\n[batch]\nsize = 3\nspread = 0.5\n"
    stored, missing = make(load(text))
    assert missing == ""
    assert stored.gradient_digits == [0.0]


def test_a_parameter_at_its_own_kink_is_still_refused(load: Load):
    """To either side the right-hand side is another one, at all times."""
    case = Case(load(one("max(t - k, 0) - max(t - 2*k, 0) + abs(k*(t - 20)) - y", k=0)))
    certified = certify(case)
    assert certified.gradient_digits[0] == 0


def test_too_many_switches_are_refused_in_time(load: Load):
    problem = load(one("where(sin(2e3*k*t) > 0, 1, 0) - y"))
    with pytest.raises(ReferenceFailure, match="changes inside a segment"):
        Case(problem)

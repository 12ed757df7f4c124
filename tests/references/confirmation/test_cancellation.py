"""Formulas that lose their digits in double precision are found; those that only look so are not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cases import others_slow

from sciml_bench.references import truth
from sciml_bench.references.confirmation.cancellation import Unresolved, cancellation
from sciml_bench.references.double_precision import double_solution
from sciml_bench.spec import catalog
from sciml_bench.spec.model import Problem

TEXT = """
spec = 1
name = "mine"
title = "Mine"
[time]
t1 = 1
[parameters]
k = 1
e = 1e-8
[states]
y = 2
z = 1
[equations]
y = "{equation}"
z = "-k*z"
"""

Load = Callable[[str], Problem]


def found(problem: Problem):
    return cancellation(problem, double_solution(problem, 20.0).rows)


@pytest.mark.parametrize(
    "equation",
    ["-k*(1 - cos(e*y))/e**2", "-k*(exp(e*y) - 1 - e*y)/e**2", "k*(sqrt(1 + e**2*y) - 1)/e**2 + 0*z"],
)
def test_a_formula_that_cancels_is_named_with_its_state(load: Load, equation: str):
    lost = found(load(TEXT.format(equation=equation)))
    assert lost is not None
    assert lost.state == "y"
    assert lost.digits < 8
    assert "the equation of y" in str(lost)


def test_what_all_solvers_agree_on_is_then_no_reference(load: Load):
    said: list[str] = []
    problem = load(TEXT.format(equation="-k*(1 - cos(e*y))/e**2"))
    with pytest.raises(Unresolved):
        truth._double(problem, said.append)
    assert "subtracts numbers that are nearly equal" in said[-1]


@pytest.mark.parametrize(
    "equation",
    ["-k*y + e*z", "1e8*(z - y) + e*k", "-k*(y - cos(1e9*e*t))", "k*sin(1e5*y) + e", "-k*y*(1 - e) - 1e6*(y - z)"],
)
def test_stiff_and_fast_equations_keep_their_digits(load: Load, equation: str):
    assert found(load(TEXT.format(equation=equation))) is None


@pytest.mark.parametrize(
    "name", others_slow(["robertson", "hires", "lotka-volterra", "oregonator", "pollution"], ["robertson"])
)
def test_problems_of_the_catalog_keep_their_digits(name: str):
    if name in catalog.names():
        assert found(catalog.load(name)) is None

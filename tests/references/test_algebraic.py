"""References of problems with algebraic equations: against closed forms, with the slopes of initial values."""

from __future__ import annotations

from typing import Any

import mpmath
import pytest
from stubs.small_problems import Load

from sciml_bench.references.certificate import certify
from sciml_bench.references.engine.case import Case
from sciml_bench.references.failures import ReferenceFailure

COUPLED = """\
spec = 1
name = "coupled"
title = "A decay, a logarithm of it, and their sum"
[time]
t1 = 2
save = { times = [1, 2] }
[parameters]
k = 0.7
c = 0.3
[states]
x = 1
[algebraic.z]
equation = "exp(z) - 1 - c*x"
near = 0.1
[algebraic.w]
equation = "w - 2*z - k*x"
[equations]
x = "-k*(w - 2*z)/k"
"""


def loss(k: Any, c: Any) -> Any:
    """Half of it lies in the algebraic variables, whose initial values depend on c."""
    total = mpmath.mpf(0)
    for t in (1, 2):
        x = mpmath.exp(-k * t)
        z = mpmath.log(1 + c * x)
        total += x**2 + z**2 + (2 * z + k * x) ** 2
    return total


def test_solution_and_gradient_are_those_of_the_closed_form(load: Load):
    found = certify(Case(load(COUPLED)), gradients=True)
    with mpmath.workdps(50):
        k, c = mpmath.mpf(7) / 10, mpmath.mpf(3) / 10
        for t, row in zip((1, 2), found.rows, strict=True):
            x = mpmath.exp(-k * t)
            z = mpmath.log(1 + c * x)
            for value, exact in zip(row, (x, z, 2 * z + k * x), strict=True):
                assert abs(mpmath.mpf(value.str(40, radius=False)) - exact) < 1e-20
        exact = (mpmath.diff(lambda v: loss(v, c), k), mpmath.diff(lambda v: loss(k, v), c))
        for value, slope in zip(found.gradient, exact, strict=True):
            assert abs(mpmath.mpf(value.str(40, radius=False)) - slope) < 1e-18


CROSSING = """\
spec = 1
name = "crossing"
title = "A root that another one meets"
[time]
t1 = 1
[parameters]
k = 2
[states]
y = 1
[algebraic.z]
equation = "z**2 - k*y"
near = 1
[equations]
y = "-k*z"
"""


def test_a_jacobian_that_becomes_singular_on_the_way_is_refused(load: Load):
    """Here z = sqrt(k y) reaches 0, where z = -sqrt(k y) starts; the derivative passes from one to the other."""
    with pytest.raises(ReferenceFailure, match="by z becomes singular up to t = 0"):
        certify(Case(load(CROSSING)))


def test_before_that_it_is_certified(load: Load):
    found = certify(Case(load(CROSSING.replace("t1 = 1", "t1 = 0.5"))))
    assert float(found.row_digits.min()) > 20


def test_what_decays_below_all_that_counts_breaks_no_residual(load: Load):
    text = COUPLED.replace('x = "-k*(w - 2*z)/k"', 'x = "-120*k*x"').replace("exp(z) - 1 - c*x", "z - sqrt(2)*c*x")
    assert certify(Case(load(text))).evidence["invariant_digits"]

"""What a solution does not show: growth of what is too small, switches at one double, doses of size zero, kinks."""

from __future__ import annotations

from typing import Any

import pytest
import sympy
from mpmath import exp, mp, mpf
from stubs.small_problems import Load

from sciml_bench.errors import ProblemError
from sciml_bench.references.build import make
from sciml_bench.references.certificate import certify
from sciml_bench.references.engine.case import Case
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.spec.model import to_double

HEAD = """
spec = 1
name = "unseen"
title = "Something that the solution does not show"
"""

LASER = """
[time]
t1 = 4
save = { times = [0.5, 4] }
[constants]
beta = 1e-60
[parameters]
k = 1
[states]
n = 0
z = 1
[equations]
n = "1e6*((t - 1)*n - n**2) + beta"
z = "-k*z + n"
"""


@pytest.mark.slow
def test_growth_from_below_the_floor_is_not_damped(load: Load):
    found = certify(Case(load(HEAD + LASER)))
    # SciPy's LSODA, BDF and Radau at rtol 1e-8 with an absolute tolerance of 1e-75 give 2.06810.
    n, z = (float(value) for value in found.rows[-1])
    assert n == pytest.approx(3.0, abs=1e-6)
    assert z == pytest.approx(2.06809, abs=1e-5)


SELECTION = """
[time]
t1 = 10
save = { times = [5, 10] }
[parameters]
a = 200
[states]
p = 0.5
[equations]
p = "a*cos(t)*p*(1 - p)"
"""


def test_a_deviation_that_rounding_loses_is_refused_with_the_reason(load: Load):
    # 1 - p falls to 1e-87, and decides the rest.
    with pytest.raises(ReferenceFailure, match="something too small to be followed decides the solution"):
        certify(Case(load(HEAD + SELECTION)))


UNIX = """
[time]
t0 = 1.7e9
t1 = 1700000010
save = { times = [1700000005.3333333, 1700000010] }
[parameters]
k = 1
[states]
y = 1
[equations]
y = "-k*y + where(t >= 1700000000 + 16/3, 1, 0)"
"""


def test_a_switch_next_to_a_saved_time_stays_where_it_is(load: Load):
    found = certify(Case(load(HEAD + UNIX)))
    with mp.workdps(40):
        truth: Any = exp(-10) + 1 - exp(-(10 - mpf(16) / 3))
        assert abs(mpf(found.rows[-1][0].str(35, radius=False)) / truth - 1) < mpf("1e-28")


DOSES = """
[time]
t1 = 48
save = { times = [12, 24, 48] }
[parameters]
k = 0.115
d1 = 1
d2 = 0
[states]
y = 0
[equations]
y = "-k*y + d1*1000*exp(-((t - 6)/0.001)**2) + d2*1000*exp(-((t - 30.1)/0.001)**2)"
[loss]
of = "y"
"""


CLOSE = """
[time]
t1 = 3
save = { times = [1, "1.41421356237309504880168872421", 3] }
breakpoints = ["sqrt(2)"]
[parameters]
k = 1
[states]
y = 1
[equations]
y = "-k*y"
"""


def test_times_that_differ_in_the_thirtieth_digit_are_stepped_on(load: Load):
    found = certify(Case(load(HEAD + CLOSE)))
    with mp.workdps(40):
        assert abs(mpf(found.rows[-1][0].str(35, radius=False)) * exp(3) - 1) < mpf("1e-28")


def test_the_derivative_by_a_dose_of_size_zero_is_seen(load: Load):
    found = certify(Case(load(HEAD + DOSES)))
    with mp.workdps(40):
        # The narrow doses act as jumps of sqrt(pi), up to a factor exp(k²w²/4); the loss is the sum of y²/2 or so.
        y = mpf(found.rows[-1][0].str(35, radius=False))
        by_dose: Any = mp.sqrt(mp.pi) * exp(-mpf("0.115") * (48 - mpf("30.1")))
        slope = mpf(found.gradient[2].str(30, radius=False)) / by_dose
        assert found.gradient_digits[2] >= 12
        assert abs(slope / (2 * y) - 1) < mpf("1e-6")


KINKS = """
[time]
t1 = 3
[parameters]
a = 0
b = 0
c = 0
d = 1
e = 0
[states]
x = 1
[equations]
x = "-d*x + abs(a) + max(b, 0)*sin(t) + c**2 + e*t"
"""


def test_a_parameter_at_its_kink_has_no_derivative_and_others_keep_theirs(load: Load):
    found = certify(Case(load(HEAD + KINKS)))
    assert [digits > 0 for digits in found.gradient_digits] == [False, False, True, True, True]
    evidence: Any = found.evidence["gradient"]
    assert evidence["kinks"] == ["a", "b"]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [("x = 1", "x = 1e350", 15), ("d = 1", "d = 1e320", 12), ("-d*x", "-1e320*d*x", 17)],
)
def test_numbers_beyond_doubles_are_refused_with_their_line(load: Load, old: str, new: str, line: int):
    with pytest.raises(ProblemError, match=rf":{line}: .*beyond the largest") as caught:
        load(HEAD + KINKS.replace(old, new, 1))
    assert "1.8e308" in str(caught.value)


def test_a_product_of_constants_beyond_doubles_is_an_error_with_a_cure():
    with pytest.raises(ProblemError, match="take other units"):
        to_double(sympy.Integer(10) ** 400)


RAMP = (
    HEAD
    + """
[time]
t1 = 10
save = { times = [2, 10] }
[parameters]
tau = 5
[states]
y = 1
[equations]
y = "-1 + max(y - 0.5, 0)/tau"
"""
)


def test_a_kink_that_the_solution_moves_is_named_with_its_line(load: Load):
    problem = load(RAMP)
    with pytest.raises(ReferenceFailure) as caught:
        make(problem, limit_s=60.0)
    said = str(caught.value)
    line = RAMP.splitlines().index('y = "-1 + max(y - 0.5, 0)/tau"') + 1
    assert f":{line}: the condition in '-1 + max(y - 0.5, 0)/tau' depends on" in said
    assert "write it with the time and parameters" in said

"""Where functions of the time change their sign, and where that cannot be told."""

from __future__ import annotations

import pytest
import sympy
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from sympy import Rational, S, Symbol, cos, exp, log, pi, sin, sqrt, tan

from sciml_bench.spec.discontinuities.balls import bits, value
from sciml_bench.spec.discontinuities.roots import Span, Undecided, sign_changes, sign_of_number

T = Symbol("t", real=True)
TEN = Span(S.Zero, S(10))


@pytest.mark.parametrize(
    ("g", "times"),
    [
        (T - 5, [5]),
        (sqrt(2) * T - pi, [sqrt(2) * pi / 2]),
        (sin(T), [pi, 2 * pi, 3 * pi]),
        (cos(pi * T), [Rational(2 * k + 1, 2) for k in range(10)]),
        (T**2 - 2, [sqrt(2)]),
        ((T - 5) ** 3, [5]),
        (T * sin(T), [pi, 2 * pi, 3 * pi]),
        (1 / (T - 5), [5]),
        (tan(T / 4) - 1, [pi, 2 * pi]),
        (sqrt(T) - 1, [1]),
        (log(T) + 2, [exp(-2)]),
        (exp(-T) - exp(-5), [5]),
        ((1 - cos(T)) * (T - 3), [3]),
        ((T - 5) * (T - 5 - Rational(1, 10**25)), [5, 5 + Rational(1, 10**25)]),
    ],
    ids=str,
)
def test_exact_times(g, times):
    assert list(sign_changes(g, T, TEN)) == times


@pytest.mark.parametrize(
    "g",
    [
        (T - 5) ** 2, sin(T) ** 2, 1 - cos(T), T - sin(T), cos(T) + 2, sin(1 / (T + 1)), (T - pi) ** 2 * (T + 1),
        cos(T) ** 2 + sin(T) ** 2 - 1, 2 - T * exp(-T), (T - 10) * T, S(3), sqrt(T), T**2 / 2 + cos(T) - 1,
        1 + sin(3 * T) - Rational(1, 10**9) * T * (T - 20),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_only_touched_changes_no_sign(g):
    assert sign_changes(g, T, TEN) == ()


def test_a_pulse_that_no_grid_sees_is_found():
    times = sign_changes(exp(-(((T - 5) * 10**9) ** 2)) - Rational(1, 2), T, TEN)
    half = float(sqrt(log(2))) * 1e-9
    assert [float(time - 5) for time in times] == pytest.approx([-half, half])


def test_a_time_without_a_form_is_good_to_hundreds_of_digits():
    (time,) = sign_changes(T * exp(T) - 1, T, TEN)
    with bits(800):
        assert abs(value(time) * value(time).exp() - 1) < arb(10) ** -220


@pytest.mark.parametrize(
    ("g", "message"),
    [
        (sin(1 / T), "may touch zero"),
        (sin(10000 * T), "more than 10000 times"),
        (T - 5 - sympy.Max(T, 5) + 5, "no value on intervals"),
        (sqrt(T - 5) - 1, "undefined"),
    ],
    ids=str,
)
def test_what_cannot_be_settled_is_refused(g, message):
    with pytest.raises(Undecided, match=message):
        sign_changes(g, T, TEN)


@pytest.mark.parametrize(
    ("number", "sign"),
    [(sqrt(2) * sqrt(3) - sqrt(6), 0), (pi - Rational(22, 7), -1), (sqrt(2) + sqrt(3) - sqrt(5 + 2 * sqrt(6)), 0),
     (exp(pi * sqrt(163)) - 640320**3 - 744, -1)],
    ids=str,
)  # fmt: skip
def test_signs_of_numbers(number, sign):
    assert sign_of_number(number) == sign


@given(
    st.lists(st.fractions(0, 10, max_denominator=50), min_size=1, max_size=6),
    st.integers(1, 3),
    st.booleans(),
)
def test_every_zero_of_odd_multiplicity_and_no_other(places, multiplicity, in_a_sine):
    zeros = [Rational(place.numerator, place.denominator) for place in places]
    u = sin(T / 10) if in_a_sine else T
    g = sympy.Mul(*((u - u.xreplace({T: zero})) ** multiplicity for zero in zeros))
    odd = {zero for zero in zeros if zeros.count(zero) * multiplicity % 2 and 0 < zero < 10}
    assert list(sign_changes(g, T, TEN)) == sorted(odd)

"""Functions with a removable point: values and derivatives near it, everywhere that they are computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from flint import acb, arb, arb_series, ctx

from sciml_bench.references.confirmation import moments
from sciml_bench.spec.language.removable import (
    CosMoment,
    ExpMoment,
    Moment,
    SinMoment,
    exprel,
    sinc,
    without_removable_points,
    written_out,
)

X = sympy.Symbol("x", real=True)
KINDS: list[tuple[str, type[Moment], Callable[[Any], Any]]] = [
    ("exp_moment", ExpMoment, mpmath.exp),
    ("cos_moment", CosMoment, mpmath.cos),
    ("sin_moment", SinMoment, mpmath.sin),
]
POINTS = (0.0, 1e-300, -1e-9, 3e-4, -0.49, 0.51, -2.0, 7.5, -40.0)


def truth(function: Callable[[Any], Any], x: float, n: int) -> float:
    with mpmath.workdps(40):
        found: Any = mpmath.quad(lambda s: s**n * function(s * mpmath.mpf(x)), mpmath.linspace(0, 1, 9))
        return float(found)


@pytest.mark.parametrize(("name", "kind", "function"), KINDS)
@pytest.mark.parametrize("n", [0, 1, 3])
def test_moments_are_right_on_both_sides_of_the_removable_point(name, kind, function, n):
    code = sympy.lambdify(X, written_out(kind(X, sympy.Integer(n))), [{"Where": np.where}, "numpy"])
    for x in POINTS:
        right = truth(function, x, n)
        found = {
            "written out": float(code(np.array([x]))[0]),
            "arrays": float(moments.ARRAYS[name](np.array([x]), n)[0]),
            "balls": float(moments.BALLS[name](arb(x), n)),
            "disks": float(moments.DISKS[name](acb(x), n).real),
        }
        for where, value in found.items():
            assert value == pytest.approx(right, rel=1e-13, abs=1e-15 if right else 1e-30), (where, x)


@pytest.mark.parametrize(("name", "kind", "function"), KINDS)
@pytest.mark.parametrize("n", [0, 1, 2])
def test_the_derivative_is_the_next_moment(name, kind, function, n):
    slope = sympy.diff(kind(X, sympy.Integer(n)), X)

    def moment(x):
        return mpmath.quad(lambda s: s**n * function(s * x), [0, 1])

    for x in (-0.7, 0.3, 2.0):
        with mpmath.workdps(30):
            right = float(mpmath.diff(moment, x))
        assert float(slope.subs(X, sympy.Rational(x))) == pytest.approx(right, rel=1e-12)


def test_numbers_have_their_values_at_once():
    assert exprel(sympy.Integer(0)) == 1
    assert sinc(sympy.Integer(0)) == 1
    assert float(exprel(sympy.Integer(1))) == pytest.approx(float(sympy.E - 1), rel=1e-15)
    # In a sum the digits of a small number stay.
    assert float((exprel(sympy.Rational(1, 10**10)) - 1 + X).subs(X, 0)) == pytest.approx(5e-11, rel=1e-9)
    assert written_out(exprel(exprel(X))).has(Moment) is False


@pytest.mark.parametrize("start", [0.0, 1e-12, -0.6, 3.0])
@pytest.mark.parametrize("name", [name for name, *_ in KINDS])
def test_series_are_those_of_the_definition(name, start):
    """x E = exp(x) - 1, x C = sin x and x S = 1 - cos x, coefficient by coefficient."""
    before = ctx.cap, ctx.prec
    ctx.cap, ctx.prec = 12, 200
    try:
        x = arb_series([arb(start), 2, -1])
        left = x * moments.SERIES[name](x, 0)
        right = {"exp_moment": x.exp() - 1, "cos_moment": x.sin(), "sin_moment": 1 - x.cos()}[name]
        assert len(left.coeffs()) == 12
        for a, b in zip(left.coeffs(), right.coeffs(), strict=True):
            assert abs(float(a - b)) < 1e-40
            assert a.overlaps(b)
    finally:
        ctx.cap, ctx.prec = before


V, K, T = sympy.symbols("v k t", real=True)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ((V + 40) / (sympy.exp((V + 40) / 10) - 1), 10 / exprel((V + 40) / 10)),
        ((V + 40) / (1 - sympy.exp(-(V + 40) / 10)), 10 / exprel(-(V + 40) / 10)),
        (K * X / (3 * sympy.exp(X) - 3), K / 3 / exprel(X)),
        (sympy.sin(2 * X) / X, 2 * sinc(2 * X)),
        (1 + K * sympy.sin(X) / (5 * X), 1 + K * sinc(X) / 5),
        (sympy.exp(X * sympy.sin(T) / T), sympy.exp(X * sinc(T))),
    ],
)
def test_quotients_that_are_nothing_over_nothing_are_filled_in(expression, expected):
    found = without_removable_points(expression)
    assert found.has(Moment)
    for value in (0.3, 1.7):
        point = {V: value, K: value + 0.2, X: value - 0.9, T: value / 3}
        assert float(found.subs(point)) == pytest.approx(float(expected.subs(point)), rel=1e-12)


@pytest.mark.parametrize(
    "expression",
    [
        1 / (sympy.exp(X) - 1),
        (X + 1) / (sympy.exp(X) - 1),
        X / (sympy.exp(X) - 2),
        X / (sympy.exp(X) + 1),
        X / (sympy.exp(2 * X + K) - 1),
        sympy.cos(X) / X,
        sympy.sin(X) / X**2,
    ],
)
def test_what_is_of_another_form_stays(expression):
    assert without_removable_points(expression) == expression

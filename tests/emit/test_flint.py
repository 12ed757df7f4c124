"""Straight-line programs for the reference engine: values, Jacobians and pullbacks against SymPy."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import sympy
from flint import arb
from sympy import Expr, Rational, S, Symbol

from sciml_bench.emit.flint import flint_source
from sciml_bench.emit.symbolic.graph import UnsupportedExpression
from sciml_bench.emit.symbolic.scalar import ScalarSystem
from sciml_bench.references.engine.dynamics import Dynamics
from sciml_bench.references.engine.numbers import exact, matching_digits, precision
from sciml_bench.spec.discontinuities.roots import Span
from sciml_bench.spec.language.operators import Where

T = Symbol("t", real=True)
Y = tuple(Symbol(f"y_{i}", real=True) for i in range(2))
P = tuple(Symbol(f"p_{i}", real=True) for i in range(2))
A, B = Y
K, L = P


def at(expr: Expr, point: dict[Symbol, Expr]) -> Expr:
    return expr.xreplace(point).doit()


def system_of(*outputs: Any, statements: tuple[tuple[Symbol, Expr], ...] = ()) -> ScalarSystem:
    return ScalarSystem(T, Y, P, statements, outputs, {})


PAIRS: list[Sequence[Expr]] = [
    (-K * A + L * A * B, K * A - L * A * B - 3 * B**2),
    (sympy.sin(T) * A / (1 + B**2), sympy.sqrt(A) - B ** Rational(3, 2)),
    (sympy.exp(-A / B) * K, sympy.log(A) * sympy.tanh(B) - sympy.atan(A * B)),
    ((A**2 + B**2) ** Rational(-3, 2) * A, A ** Rational(7, 5) + B**-2),
    (sympy.Max(A, B) - sympy.Min(A, K), sympy.Abs(A - 2 * B) + sympy.cosh(B) * sympy.sinh(A)),
    (K**A, sympy.tan(A) + sympy.acos(B / 3) + sympy.asin(B / 4) + sympy.cos(A)),
    (S.One, -A),
    (sympy.sign(A - 2) * B, sympy.sign(B) + A),
]


@pytest.mark.parametrize("outputs", PAIRS, ids=str)
def test_values_and_derivatives_are_those_of_sympy(outputs: Sequence[Expr]):
    system = system_of(*outputs)
    generator = random.Random(7)
    point: dict[Symbol, Expr] = {symbol: Rational(generator.randint(300, 900), 1000) for symbol in (T, *Y, *P)}
    with precision(128):
        segment = Dynamics(system, S.Zero, S.One).segments()[0]
        t, y, p = exact(point[T]), [exact(point[s]) for s in Y], [exact(point[s]) for s in P]
        for value, expr in zip(segment.rhs(t, y, p), outputs, strict=True):
            assert matching_digits(value, exact(at(expr, point))) > 35
        entries = segment.jacobian(
            np.array([float(t)]), np.array([[float(x)] for x in y]), np.array(list(map(float, p)))
        )
        dense = np.zeros((2, 2))
        dense[segment.rows, segment.columns] = entries[:, 0]
        expected = [[float(at(expr.diff(s), point)) for s in Y] for expr in outputs]
        assert np.allclose(dense, expected, rtol=1e-12, atol=1e-14)
        v = [arb(2), arb(-3)]
        weighted = 2 * outputs[0] - 3 * outputs[1]
        by_state, by_parameter = segment.pullback(t, y, p, v)
        for value, symbol in zip((*by_state, *by_parameter), (*Y, *P), strict=True):
            assert abs(float(value - exact(at(weighted.diff(symbol), point)))) < 1e-30


def test_a_statement_may_be_constant():
    d = Symbol("d")
    system = system_of(d * A, d + B, statements=((d, S(3)),))
    with precision(128):
        segment = Dynamics(system, S.Zero, S.One).segments()[0]
        values = segment.rhs(exact(S.Zero), [exact(S(2)), exact(S(5))], [exact(S.One) for _ in P])
    assert [float(value) for value in values] == [6, 8]


def test_statements_are_shared():
    d = Symbol("d")
    source = flint_source(system_of(d * A, d * B, statements=((d, sympy.exp(A * B)),)))
    assert source.text.count("exp(") == 3  # one in each of the three functions
    assert tuple(sorted(source.pattern)) == ((0, 0), (0, 1), (1, 0), (1, 1))


def test_conditions_on_the_time_are_decided_segment_by_segment():
    kick = Where(sympy.Ge(T, 2), K, S.Zero)
    system = system_of(kick, A)
    before, after = Dynamics(system, S.Zero, S(4), (S(2),)).sources
    assert "p0" not in before.text
    assert "p0" in after.text


def test_a_condition_without_a_breakpoint_is_refused():
    system = system_of(Where(sympy.Ge(T, 2), K, S.Zero), A)
    with pytest.raises(UnsupportedExpression, match="add its time to breakpoints"):
        flint_source(system, Span(S.Zero, S(4)))
    # The engine steps on it.
    assert Dynamics(system, S.Zero, S(4)).ends == (2, 4)


def test_an_unknown_function_is_refused():
    with pytest.raises(UnsupportedExpression, match="high-precision"):
        flint_source(system_of(sympy.gamma(A), B))

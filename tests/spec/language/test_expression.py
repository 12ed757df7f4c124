"""The expression language: what it takes, what it refuses, and that nothing else can happen."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from sciml_bench.spec.language.expression import MAX_DEPTH, MAX_LENGTH, ExpressionError, Scope, Typed, parse
from sciml_bench.spec.language.operators import Item, Where
from sciml_bench.spec.model import symbol

X, Y, U = symbol("x"), symbol("y"), symbol("u")


@pytest.fixture
def scope() -> Scope:
    return Scope({"x": Typed(X), "y": Typed(Y), "u": Typed(U, (3,)), "v": Typed(symbol("v"), (4,))})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x + 2*y", X + 2 * Y),
        ("-x**2", -(X**2)),
        ("x**(3/2)", X ** sympy.Rational(3, 2)),
        ("0.04*x", sympy.Rational(1, 25) * X),
        ("1e-30", sympy.Rational(1, 10**30)),
        ("8/3", sympy.Rational(8, 3)),
        ("sin(pi*x)", sympy.sin(sympy.pi * X)),
        ("sqrt(2)", sympy.sqrt(2)),
        ("u[1]", Item(U, 1)),
        ("u[-1]", Item(U, 2)),
        ("where(x > 0, x, 0)", Where(X > 0, X, 0)),
        ("min(x, y)", Where(X < Y, X, Y)),
        ("max(2, 3)", sympy.Integer(3)),
    ],
)
def test_text_becomes_exact_algebra(scope: Scope, text: str, expected: sympy.Expr) -> None:
    assert parse(text, scope).expr == expected


def test_numbers_are_decimals_and_not_their_binary_neighbours(scope: Scope) -> None:
    assert parse("0.1", scope).expr == sympy.Rational(1, 10)
    assert parse("0.1", scope).expr != sympy.Rational(0.1)


def test_scalars_broadcast_against_vectors(scope: Scope) -> None:
    assert parse("x*u + 1", scope).shape == (3,)


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("x.real", "functions have plain names"),
        ("().__class__", "functions have plain names"),
        ("__import__('os')", "unknown function '__import__'"),
        ("eval('1')", "unknown function 'eval'"),
        ("[i for i in x]", "not part of the expression language"),
        ("lambda: 1", "function definitions are missing"),
        ("(x := 2)", "not part of the expression language"),
        ("x if y else 1", "a choice is written where"),
        ("'a'", "is not a number"),
        ("True", "is not a number"),
        ("1j", "complex numbers are missing"),
        ("x // y", "write floor(a/b)"),
        ("x @ y", "products with matrices belong in"),
        ("x % y", "a remainder is mod(a, b)"),
        ("~x", "not part of the expression language"),
        ("x; y", "cannot be read"),
        ("", "cannot be read"),
        ("x > 1", "comparisons belong in where"),
        ("where(x, 1, 2)", "is not a condition"),
        ("where(x == 1, 1, 2)", "is not a condition"),
        ("z + 1", "unknown name 'z'"),
        ("sin(x, y)", "takes 1 argument"),
        ("sin(*u)", "cannot be unpacked"),
        ("sin(x=1)", "no keyword"),
        ("sine(x)", "did you mean 'sin'"),
        ("u + v", "do not fit"),
        ("u[3]", "outside 0…2"),
        ("u[x]", "is not an index"),
        ("x[0]", "scalar takes 0 indices"),
        ("x/0", "divides by zero"),
        ("0**(-1)", "not defined"),
        ("log(0)", "not a finite real number"),
        ("sqrt(-1)", "not a finite real number"),
        ("asin(2)", "not a finite real number"),
        ("(-8)**(1/3)", "not a finite real number"),
        ("x**1000", "exponent is beyond"),
        ("10**10**10", "exponent is beyond"),
        ("((10**400)**400)**400", "too large"),
        ("1e999", "beyond"),
        ("(" * 10**6 + "x" + ")" * 10**6, "characters, more than"),
        ("(" * (MAX_DEPTH + 1) + "x" + ")" * (MAX_DEPTH + 1), "nested"),
        ("-" * 5000 + "x", "nested too deeply|cannot be read"),
        ("x" * (MAX_LENGTH + 1), "characters, more than"),
    ],
)
def test_what_is_outside_the_language_is_named(scope: Scope, text: str, piece: str) -> None:
    with pytest.raises(ExpressionError, match=piece.replace("(", r"\(").replace(")", r"\)")):
        parse(text, scope)


@given(st.text(alphabet="xyu0123456789.+-*/() ,[]<>eijsincolgqrt_\"'\\\n", max_size=40))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    names = Scope({"x": Typed(X), "y": Typed(Y), "u": Typed(U, (3,))})
    try:
        expr = parse(text, names).expr
    except ExpressionError:
        return
    assert isinstance(expr, sympy.Expr)
    assert not expr.has(sympy.nan, sympy.zoo, sympy.I)

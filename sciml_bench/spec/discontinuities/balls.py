"""Expressions of the time as functions of balls: a value that is proved to hold all that the expression takes there.

A ball is python-flint's ``arb``, a middle and a radius. The value of an expression at a ball holds its values at every
point of the ball at which it is defined; it is not finite where the expression may be unbounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import flint
import sympy
from flint import acb, arb, fmpq
from sympy import Rational, Symbol
from sympy.codegen.cfunctions import expm1, log1p

from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.language.removable import CosMoment, ExpMoment, Moment, SinMoment

Function = Callable[[arb], arb]

_UNARY: dict[type[Node], Function] = {
    sympy.sin: arb.sin, sympy.cos: arb.cos, sympy.tan: arb.tan, sympy.asin: arb.asin, sympy.acos: arb.acos,
    sympy.atan: arb.atan, sympy.sinh: arb.sinh, sympy.cosh: arb.cosh, sympy.tanh: arb.tanh, sympy.exp: arb.exp,
    sympy.log: arb.log, sympy.Abs: arb.__abs__, expm1: arb.expm1, log1p: arb.log1p,
}  # fmt: skip


def moment_of_exp(z: Any, n: int) -> Any:
    """1F1(n + 1; n + 2; z)/(n + 1), the integral of s**n exp(s z) over 0 ≤ s ≤ 1 (DLMF 13.4.1); of a ball or disk."""
    if isinstance(z, arb) and n <= 1 and z.is_finite() and z.abs_lower() > 2 * n + 0.125:
        # Many times as fast; of a ball the ends are enough, as the integral grows with z.
        low, high = z.lower(), z.upper()
        return _elementary(z, n) if z.is_exact() else _elementary(low, n).union(_elementary(high, n))
    return z.hypgeom_1f1(type(z)(n + 1), type(z)(n + 2)) / (n + 1)


def _elementary(x: arb, n: int) -> arb:
    """The first two, without cancellation at this distance from zero."""
    zeroth = x.expm1() / x
    return zeroth if n == 0 else (x.exp() - zeroth) / x


MOMENTS: dict[type[Moment], Callable[[arb, int], arb]] = {
    ExpMoment: moment_of_exp,
    CosMoment: lambda x, n: moment_of_exp(acb(0, x), n).real,
    SinMoment: lambda x, n: moment_of_exp(acb(0, x), n).imag,
}


class NoBall(ValueError):
    """An expression holds something that has no value on balls. The message names it."""


@contextmanager
def bits(precision: int) -> Iterator[None]:
    """Ball arithmetic at this many bits inside the block."""
    before = flint.ctx.prec
    flint.ctx.prec = precision
    try:
        yield
    finally:
        flint.ctx.prec = before


def compiled(expr: Node, t: Symbol) -> Function:
    """An expression of ``t`` and numbers as a function of a ball, at the precision that holds when it is called.

    Raises:
        NoBall: it holds another symbol, or a function that is not known here.
    """
    if expr == t:
        return lambda x: x
    if expr.is_Rational:
        exact = fmpq(int(expr.p), int(expr.q))
        return lambda _: arb(exact)
    if expr == sympy.pi:
        return lambda _: arb.pi()
    if expr == sympy.E:
        return lambda _: arb(1).exp()
    if expr.is_Add or expr.is_Mul:
        return _folded([compiled(argument, t) for argument in expr.args], expr.is_Add)
    if expr.is_Pow:
        return _power(compiled(expr.base, t), expr.exp, t)
    if isinstance(expr, Moment):
        moment, inside, n = MOMENTS[type(expr)], compiled(expr.args[0], t), int(expr.args[1])
        return lambda x: moment(inside(x), n)
    function = _UNARY.get(expr.func)
    if function is None or len(expr.args) != 1:
        raise NoBall(f"'{expr}' has no value on intervals")
    inner = compiled(expr.args[0], t)
    return lambda x: function(inner(x))


def value(expr: Node) -> arb:
    """A number as a ball that holds it, at the current precision."""
    return compiled(expr, Symbol("_no_time"))(arb(0))


def _folded(parts: list[Function], is_sum: bool) -> Function:
    first, *others = parts

    def of(x: arb) -> arb:
        total = first(x)
        for other in others:
            total = total + other(x) if is_sum else total * other(x)
        return total

    return of


def _power(base: Function, exponent: Node, t: Symbol) -> Function:
    if exponent.is_Integer:
        whole = int(exponent)
        if whole >= 0:
            return lambda x: base(x) ** whole
        return lambda x: 1 / base(x) ** -whole
    if exponent.is_Rational and cast(Rational, exponent).q == 2:
        halves = int(cast(Rational, exponent).p)
        if halves >= 0:
            return lambda x: _root(base(x)) ** halves
        return lambda x: 1 / _root(base(x)) ** -halves
    power = compiled(exponent, t)
    return lambda x: (base(x).log() * power(x)).exp()


def _root(x: arb) -> arb:
    """The square roots of the numbers in a ball that have one."""
    if x.contains(0) and x.is_finite():
        return arb(0).union(x.abs_upper().sqrt())
    return x.sqrt()

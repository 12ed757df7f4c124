"""Functions with a removable point at zero: ``exprel``, (exp(x) - 1)/x, and ``sinc``, sin(x)/x, with their derivatives.

They are means over 0 ≤ s ≤ 1, of exp(s x) and cos(s x), and each derivative is a moment of the same kind, with one more
factor s. The reference engine evaluates moments themselves. Frameworks get them written out, near zero as the Taylor
polynomial, so that no automatic derivative divides by what vanishes.
"""

from __future__ import annotations

from math import factorial

import sympy
from sympy import Integer, Rational
from sympy.core.parameters import distribute

from sciml_bench.problem.operators import Node, Operator, Where

NEAR = Rational(1, 2)
"""Below this magnitude the Taylor polynomial is taken; the first term that it leaves out is below 1e-17."""
_TERMS = 14


class Moment(Operator):
    """``Moment(x, n)``: the integral of s**n times a function of s x over 0 ≤ s ≤ 1."""

    @classmethod
    def eval(cls, *args: Node) -> Node | None:
        """The value at a number."""
        x, n = args
        if not x.is_number:
            return None
        return cls.coefficient(0, int(n)) if x == 0 else cls.away(x, int(n))

    def fdiff(self, argindex: int = 1) -> Node:
        """The derivative by x, a moment with one more factor."""
        return self.slope(self.args[0], int(self.args[1]) + 1)

    @classmethod
    def coefficient(cls, k: int, n: int) -> Node:
        """The coefficient of x**k."""
        raise NotImplementedError

    @classmethod
    def away(cls, x: Node, n: int) -> Node:
        """The value, by a formula that divides by x."""
        raise NotImplementedError

    @classmethod
    def slope(cls, x: Node, n: int) -> Node:
        """The derivative, with ``n`` factors."""
        raise NotImplementedError

    def written_out(self) -> Node:
        """The same in elementary functions and a choice between the polynomial and the formula."""
        x, n = written_out(self.args[0]), int(self.args[1])
        near = sympy.Abs(x) < NEAR
        polynomial: Node = Integer(0)
        step = 2 if self.coefficient(0, n) == 0 or self.coefficient(1, n) == 0 else 1
        first = 0 if self.coefficient(0, n) != 0 else 1
        for k in reversed(range(first, _TERMS, step)):
            polynomial = self.coefficient(k, n) + x**step * polynomial
        # Nothing is divided by zero in the branch that is not taken, whose derivative is computed, too.
        return Where(near, x**first * polynomial, self.away(Where(near, Integer(1), x), n))


class ExpMoment(Moment):
    """``ExpMoment(x, n)``: of exp(s x); ``exprel(x)`` is that without a factor."""

    @classmethod
    def coefficient(cls, k: int, n: int) -> Node:
        """1/(k! (k + n + 1))."""
        return Rational(1, factorial(k) * (k + n + 1))

    @classmethod
    def away(cls, x: Node, n: int) -> Node:
        """By parts."""
        return (sympy.exp(x) - (n * cls.away(x, n - 1) if n else 1)) / x

    @classmethod
    def slope(cls, x: Node, n: int) -> Node:
        """Again that of exp(s x)."""
        return cls(x, n)


class CosMoment(Moment):
    """``CosMoment(x, n)``: of cos(s x); ``sinc(x)`` is that without a factor."""

    @classmethod
    def coefficient(cls, k: int, n: int) -> Node:
        """Even powers alone."""
        return Integer(0) if k % 2 else (-1) ** (k // 2) * ExpMoment.coefficient(k, n)

    @classmethod
    def away(cls, x: Node, n: int) -> Node:
        """By parts."""
        return (sympy.sin(x) - (n * SinMoment.away(x, n - 1) if n else 0)) / x

    @classmethod
    def slope(cls, x: Node, n: int) -> Node:
        """That of -sin(s x)."""
        turned: Node = SinMoment(x, n)
        return -turned


class SinMoment(Moment):
    """``SinMoment(x, n)``: of sin(s x)."""

    @classmethod
    def coefficient(cls, k: int, n: int) -> Node:
        """Odd powers alone."""
        return (-1) ** (k // 2) * ExpMoment.coefficient(k, n) if k % 2 else Integer(0)

    @classmethod
    def away(cls, x: Node, n: int) -> Node:
        """By parts."""
        return ((n * CosMoment.away(x, n - 1) if n else 1) - sympy.cos(x)) / x

    @classmethod
    def slope(cls, x: Node, n: int) -> Node:
        """That of cos(s x)."""
        return CosMoment(x, n)


def exprel(x: Node) -> Node:
    """(exp(x) - 1)/x, and 1 at zero."""
    return ExpMoment(x, Integer(0))


def sinc(x: Node) -> Node:
    """sin(x)/x, and 1 at zero."""
    return CosMoment(x, Integer(0))


def written_out(expression: Node) -> Node:
    """An expression with its moments in elementary functions."""
    found = expression.atoms(Moment)
    if not found:
        return expression
    with distribute(False):
        return expression.xreplace({moment: moment.written_out() for moment in found})

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

from sciml_bench.problem.operators import Node, RealFunction, Where

NEAR = Rational(1, 2)
"""Below this magnitude the Taylor polynomial is taken; the first term that it leaves out is below 1e-17."""
_TERMS = 14


class Moment(RealFunction):
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
    def eval(cls, *args: Node) -> Node | None:
        """The value at a number; without a factor as a product, which a sum that it stands in keeps together."""
        x, n = args
        if x.is_number and x != 0 and n == 0:
            return 2 * sympy.exp(x / 2) * sympy.sinh(x / 2) / x
        return super().eval(x, n)

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


def without_removable_points(expression: Node) -> Node:
    """An expression in which quotients that are 0/0 at a point, u/(exp(w) - 1) and sin(w)/u with u a multiple of w, are
    those functions; what is of another form stays."""
    if not expression.args or not expression.has(sympy.exp, sympy.sin):
        return expression
    arguments = [without_removable_points(argument) for argument in expression.args]
    with distribute(False):
        found: Node = expression
        if any(new is not old for new, old in zip(arguments, expression.args, strict=True)):
            found = expression.func(*arguments)
        return _filled(found) if isinstance(found, sympy.Mul) else found


def _filled(product: Node) -> Node:
    """A product with the first such quotient filled in, as long as there is one."""
    factors = list(product.args)
    for place, factor in enumerate(factors):
        base, exponent = factor.as_base_exp()
        others = factors[:place] + factors[place + 1 :]
        if exponent == -1 and (known := _exp_less_one(base)) is not None:
            coefficient, inner = known
            for k, other in enumerate(others):
                ratio = _multiple(other, inner)
                if ratio is not None:
                    rest = [*others[:k], *others[k + 1 :], ratio / coefficient]
                    return _filled_again(sympy.Mul(*rest, 1 / exprel(inner)))
        if exponent == 1 and isinstance(base, sympy.sin):
            for k, other in enumerate(others):
                below, power = other.as_base_exp()
                ratio = _multiple(below, base.args[0]) if power == -1 else None
                if ratio is not None:
                    return _filled_again(sympy.Mul(*others[:k], *others[k + 1 :], sinc(base.args[0]) / ratio))
    return product


def _filled_again(product: Node) -> Node:
    return _filled(product) if isinstance(product, sympy.Mul) else product


def _exp_less_one(base: Node) -> tuple[Node, Node] | None:
    """(c, w) of c*(exp(w) - 1)."""
    if not isinstance(base, sympy.Add) or len(base.args) != 2:
        return None
    number, term = base.as_coeff_Add()
    coefficient, power = term.as_coeff_Mul()
    if number == 0 or coefficient != -number or not isinstance(power, sympy.exp):
        return None
    return coefficient, power.args[0]


def _multiple(u: Node, w: Node) -> Node | None:
    """u/w where that is a number."""
    if u.is_number or u.free_symbols != w.free_symbols:
        return None
    ratio = sympy.cancel(u / w)
    return ratio if ratio.is_number else None

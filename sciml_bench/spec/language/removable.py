"""Functions with a removable point at zero: ``exprel``, (exp(x) - 1)/x, and ``sinc``, sin(x)/x, with their derivatives.

They are means over 0 ≤ s ≤ 1, of exp(s x) and cos(s x), and each derivative is a moment of the same kind, with one more
factor s. The reference engine evaluates moments themselves. Frameworks get them written out, near zero as the Taylor
polynomial, so that no automatic derivative divides by what vanishes.
"""

from __future__ import annotations

from math import factorial
from typing import Any, ClassVar

import sympy
from sympy import Integer, Rational
from sympy.core.parameters import distribute

from sciml_bench.spec.language.operators import Node, RealFunction, Where

NEAR = Rational(1, 2)
"""Below this magnitude the Taylor polynomial is taken; the first term that it leaves out is below 1e-17."""
TERMS = 14


class Moment(RealFunction):
    """``Moment(x, n)``: the integral of s**n f(s x) over 0 ≤ s ≤ 1, for the function f of the class.

    ``label`` names it in programs, ``signs`` are the signs of the coefficients of f's Taylor series over factorials;
    they repeat.
    """

    label: ClassVar[str]
    function: ClassVar[Any]
    signs: ClassVar[tuple[int, ...]]

    @classmethod
    def eval(cls, *args: Node) -> Node | None:
        """The value at a number."""
        x, n = args
        if not x.is_number:
            return None
        return cls.coefficient(0, int(n)) if x == 0 else cls.away(x, int(n))

    def fdiff(self, argindex: int = 1) -> Node:
        """The derivative by x, a moment with one more factor."""
        sign, kind = DERIVATIVES[type(self)]
        slope: Node = kind(self.args[0], self.args[1] + 1)
        return sign * slope

    @classmethod
    def coefficient(cls, k: int, n: int) -> Node:
        """Return the coefficient of x**k."""
        return Rational(cls.signs[k % len(cls.signs)], factorial(k) * (k + n + 1))

    @classmethod
    def away(cls, x: Node, n: int) -> Node:
        """The value where x is not zero: by parts, with the antiderivative of f."""
        kind, sign = next((kind, sign) for kind, (sign, slope) in DERIVATIVES.items() if slope is cls)
        if n == 0:
            return sign * (kind.function(x) - kind.function(Integer(0))) / x
        return sign * (kind.function(x) - n * kind.away(x, n - 1)) / x

    def written_out(self) -> Node:
        """Return the function as elementary functions and a choice between the polynomial and the formula."""
        x, n = written_out(self.args[0]), int(self.args[1])
        first, step = (self.signs.index(1), 1 if 0 not in self.signs else 2)
        polynomial: Node = Integer(0)
        for k in reversed(range(first, TERMS, step)):
            polynomial = self.coefficient(k, n) + x**step * polynomial
        near = sympy.Abs(x) < NEAR
        # Nothing is divided by zero in the branch that is not taken, whose derivative is computed, too.
        return Where(near, x**first * polynomial, self.away(Where(near, Integer(1), x), n))


class ExpMoment(Moment):
    """Of exp; ``exprel(x)`` is that without a factor."""

    label, function, signs = "exp_moment", sympy.exp, (1,)

    @classmethod
    def eval(cls, *args: Node) -> Node | None:
        """The value at a number; without a factor it is a product, which keeps its parts together inside a sum."""
        x, n = args
        if x.is_number and x != 0 and n == 0:
            return 2 * sympy.exp(x / 2) * sympy.sinh(x / 2) / x
        return super().eval(x, n)


class CosMoment(Moment):
    """Of cos; ``sinc(x)`` is that without a factor."""

    label, function, signs = "cos_moment", sympy.cos, (1, 0, -1, 0)


class SinMoment(Moment):
    """Of sin."""

    label, function, signs = "sin_moment", sympy.sin, (0, 1, 0, -1)


DERIVATIVES: dict[type[Moment], tuple[int, type[Moment]]] = {
    ExpMoment: (1, ExpMoment),
    CosMoment: (-1, SinMoment),
    SinMoment: (1, CosMoment),
}
"""Of which function each one's derivative is, with its sign."""


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
    """An expression in which quotients that are 0/0 at a point, u/(exp(w) - 1) and sin(w)/u with u a multiple of w,
    become these functions; other forms stay.
    """
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
    """u/w if that is a number."""
    if u.is_number or u.free_symbols != w.free_symbols:
        return None
    ratio = sympy.cancel(u / w)
    return ratio if ratio.is_number else None

"""Sign changes of a smooth function of the time: every place, proved by interval arithmetic.

The function is split into factors, whose zeros are found by bisection: a piece is done when the function has no zero
on it, or when its derivative has none, so that the signs at both ends decide. Zeros that bisection does not settle (a
zero that is only touched, infinitely many of them) are refused, never guessed.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, cast

import sympy
from flint import arb, fmpz
from sympy import Poly, Rational, Symbol

from sciml_bench.spec.discontinuities.balls import Function, NoBall, bits, compiled, value
from sciml_bench.spec.language.operators import Node

#: More switches than this make no problem that could be solved from one to the next.
MAX_SWITCHES = 10_000
#: Times are computed to this fraction of the span, in bits: far beyond what any reference computes with.
TIME_BITS = 900
_HIGH_BITS = TIME_BITS + 200
_BITS = 128
_DEEPEST = 90
_MOST_PIECES = 300_000
#: Derivatives up to this order tell zeros that lie close together from touched ones, on pieces halved so often.
_HIGHEST_ORDER = 4
_CLOSE = 6
#: Times of which a multiple by less than this is whole, or is so over pi, are given as such.
_LARGEST_DENOMINATOR = 10**6
_LARGEST_FACTORED = 300
_LARGEST_SIMPLIFIED = 60


class Undecided(ValueError):
    """The sign changes of a function cannot be located. The message says why, with a time."""


class Span(NamedTuple):
    """The open interval between two exact times."""

    start: Node
    end: Node


@lru_cache(maxsize=4096)
def sign_changes(g: Node, t: Symbol, span: Span) -> tuple[Node, ...]:
    """The exact times strictly inside a span at which ``g`` changes its sign, by a zero or a pole; increasing.

    A time is a SymPy number; one without a simple form is a rational that is good to :data:`TIME_BITS` bits.

    Raises:
        Undecided: that cannot be settled.
    """
    try:
        return _sign_changes(g, t, span)
    except Undecided:
        simpler = sympy.simplify(g) if sympy.count_ops(g) <= _LARGEST_SIMPLIFIED else g
        if simpler == g:
            raise
        return _sign_changes(simpler, t, span)


def _sign_changes(g: Node, t: Symbol, span: Span) -> tuple[Node, ...]:
    found: list[Node] = []
    try:
        for factor in _factors(g, t):
            found += _zeros(factor, t, span)
            if len(found) > MAX_SWITCHES:
                raise _too_many()
    except NoBall as error:
        raise Undecided(str(error)) from None
    found.sort(key=_sorting_key)
    # Two factors that change sign at one time change none together.
    apart: list[Node] = []
    for time in found:
        if apart and same_time(apart[-1], time, span):
            apart.pop()
        else:
            apart.append(time)
    return tuple(apart)


def sign_inside(g: Node, t: Symbol, span: Span) -> int:
    """The sign, 1 or -1, of a function that changes it nowhere inside a span.

    Raises:
        Undecided: it is zero at the time where it is evaluated, as far as can be told.
    """
    try:
        function = compiled(g, t)
        with bits(_HIGH_BITS):
            ends = [value(time).mid() for time in span]
        for share in (0.4871, 0.3127, 0.8713):
            for precision in (_BITS, _HIGH_BITS):
                with bits(precision):
                    here = function((ends[0] + (ends[1] - ends[0]) * arb(share)).mid())
                    if here.is_finite() and not here.contains(0):
                        return 1 if here > 0 else -1
    except NoBall as error:
        raise Undecided(str(error)) from None
    raise Undecided(f"'{g}' is zero or undefined all over, as it seems")


def sign_of_number(number: Node) -> int:
    """The sign of a number: 1, 0 or -1.

    Raises:
        Undecided: it is zero as far as can be told, but not by its form; or undefined.
    """
    if number.is_zero:
        return 0
    if number.is_Rational:
        return 1 if number > 0 else -1
    try:
        for precision in (_BITS, _HIGH_BITS):
            with bits(precision):
                ball = value(number)
                if ball.is_finite() and not ball.contains(0):
                    return 1 if ball > 0 else -1
    except NoBall as error:
        raise Undecided(str(error)) from None
    if sympy.simplify(number).is_zero:
        return 0
    raise Undecided(f"whether '{number}' is positive is unknown")


def same_time(a: Node, b: Node, span: Span) -> bool:
    """Return whether two exact times are the same to the bits that times have."""
    if a == b:
        return True
    with bits(_HIGH_BITS):
        return bool(abs(value(a) - value(b)) < _smallest(span))


@lru_cache(maxsize=1 << 16)
def approximately(time: Node) -> float:
    """A time as a double, for ordering and messages."""
    return float(time) if time.is_Rational else float(value(time).mid())


def compared(time: Node, span: Span) -> int:
    """-1 if a time lies before a span or at its start, 0 inside, 1 at its end or after it."""
    at, start, end = (approximately(x) for x in (time, *span))
    margin = 1e-12 * (abs(at) + abs(start) + abs(end))
    if at < start - margin or at > end + margin:
        return -1 if at < start else 1
    if start + margin < at < end - margin:
        return 0
    if same_time(time, span.start, span) or same_time(time, span.end, span):
        return -1 if abs(at - start) <= margin and same_time(time, span.start, span) else 1
    with bits(_HIGH_BITS):
        here = value(time)
        return -1 if here < value(span.start) else 1 if here > value(span.end) else 0


def _sorting_key(time: Node) -> arb:
    with bits(_HIGH_BITS):
        return value(time).mid()


def _smallest(span: Span) -> arb:
    return (value(span.end) - value(span.start)).mid() * arb(2) ** -(TIME_BITS - 100)


def _too_many() -> Undecided:
    return Undecided(f"it switches more than {MAX_SWITCHES} times")


def _factors(g: Node, t: Symbol) -> list[Node]:
    """Functions whose zeros include all sign changes of ``g``; factors in even powers change no sign."""
    if not g.has(t):
        return []
    found: list[Node] = []
    for part in sympy.Mul.make_args(_as_fraction(g)):
        base, exponent = part.as_base_exp()
        if not base.has(t) or base == sympy.E or isinstance(part, sympy.exp):
            continue
        if exponent.is_Integer and exponent % 2 == 0:
            continue
        found += _simple_factors(_without_logarithm(base, t), t)
    return found


def _as_fraction(g: Node) -> Node:
    """Write a function as one product of powers, if that is cheap."""
    if sympy.count_ops(g) > _LARGEST_FACTORED:
        return g
    g = g.xreplace({x: _as_quotient(x) for x in g.atoms(sympy.tan)})
    # An exponential in the denominator of a sum would be its inverse, which is too large for balls to tell from zero.
    hidden = {x: sympy.Dummy(positive=True) for x in g.atoms(sympy.exp)}
    shown = {dummy: x for x, dummy in hidden.items()}
    fraction: Node = sympy.together(g.xreplace(hidden))
    return sympy.factor_terms(fraction).xreplace(shown)


def _without_logarithm(g: Node, t: Symbol) -> Node:
    """k log(u) + c as the function k (u - exp(-c/k)) of the same sign, which is finite where u is zero."""
    logarithms = [x for x in sympy.Add.make_args(g) if x.has(t)]
    if len(logarithms) != 1:
        return g
    factor, logarithm = logarithms[0].as_independent(t, as_Add=False)
    if not isinstance(logarithm, sympy.log):
        return g
    return factor * (logarithm.args[0] - sympy.exp(-(g - logarithms[0]) / factor))


def _as_quotient(tangent: Node) -> Node:
    return sympy.sin(tangent.args[0]) / sympy.cos(tangent.args[0])


def _simple_factors(base: Node, t: Symbol) -> list[Node]:
    """A polynomial as its factors of odd multiplicity, which have simple zeros only; else the function itself."""
    if not base.is_polynomial(t):
        return [base]
    polynomial = Poly(base, t)
    if polynomial.degree() < 2 or not all(c.is_Rational for c in polynomial.all_coeffs()):
        return [base]
    _, parts = polynomial.sqf_list()
    return [part.as_expr() for part, multiplicity in parts if multiplicity % 2]


def _zeros(g: Node, t: Symbol, span: Span) -> list[Node]:
    """The zeros of a factor strictly inside a span."""
    polynomial = Poly(g, t) if g.is_polynomial(t) else None
    if polynomial is not None and polynomial.degree() == 1:
        slope, offset = polynomial.all_coeffs()
        times = [-offset / slope]
    else:
        times = [simple_form(time) for time in _Search(g, t, span).zeros()]
    return [time for time in times if compared(time, span) == 0]


def simple_form(time: arb) -> Node:
    """A time that was computed as a fraction, one of pi, a root of one, or failing these the binary number it is."""
    with bits(_HIGH_BITS):
        forms = [(time, lambda x: x), (time / arb.pi(), lambda x: sympy.pi * x)]
        forms.append((time**2, lambda x: sympy.sqrt(x) if time > 0 else -sympy.sqrt(x)))
        fractions = [(_rational(number.mid()), form) for number, form in forms]
    for exact, form in fractions:
        near = exact.limit_denominator(_LARGEST_DENOMINATOR)
        if abs(exact - near) <= max(abs(exact), Fraction(1, 1 << 20)) / (1 << (TIME_BITS - 100)):
            return form(Rational(near.numerator, near.denominator))
    exact = _rational(time.mid())
    return Rational(exact.numerator, exact.denominator)


def _rational(number: arb) -> Fraction:
    mantissa, exponent = (int(cast(fmpz, part)) for part in number.man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


class _Search:
    """Bisection for the zeros of one function, which may be undefined at single points of the ends."""

    def __init__(self, g: Node, t: Symbol, span: Span):
        self.g, self.t = g, t
        self.derivatives = [compiled(g, t), compiled(g.diff(t), t)]
        with bits(_HIGH_BITS):
            self.ends = tuple(value(time).mid() for time in span)
            self.smallest = _smallest(span)

    def zeros(self) -> list[arb]:
        """Return the zeros at which the sign changes, in increasing order."""
        left, right = self.ends
        pieces = [(left, right, 0)]
        held: list[arb] = []
        count = 0
        with bits(_BITS):
            while pieces:
                left, right, depth = pieces.pop()
                count += 1
                if count > _MOST_PIECES:
                    raise Undecided(f"where '{self.g}' is zero cannot be settled near t = {float(left):.6g}")
                box = left.union(right)
                if self._without_zero(box, left, right):
                    continue
                order = self._definite(box, depth)
                if order:
                    held += self._zeros_by(order, left, right)
                    if len(held) > MAX_SWITCHES:
                        raise _too_many()
                    continue
                middle = ((left + right) / 2).mid()
                if depth >= _DEEPEST or not left < middle < right:
                    raise Undecided(
                        f"'{self.g}' may touch zero without crossing it, or be undefined, near t = {float(middle):.6g}"
                    )
                pieces += [(middle, right, depth + 1), (left, middle, depth + 1)]
        return self._crossed(held)

    def _without_zero(self, box: arb, left: arb, right: arb) -> bool:
        function, slope = self.derivatives[:2]
        here = function(box)
        if here.is_finite() and not here.contains(0):
            return True
        change = slope(box)
        if not change.is_finite():
            return False
        middle = ((left + right) / 2).mid()
        around = function(middle) + change * (box - middle)
        return bool(around.is_finite() and not around.contains(0))

    def _definite(self, box: arb, depth: int) -> int:
        """The order of a derivative that is nowhere zero on a piece; 0 if none is found.

        Higher ones are only asked on short pieces, where several zeros or a touched one lie close together.
        """
        if not self.derivatives[0](box).is_finite():
            return 0
        for order in range(1, 1 + (_HIGHEST_ORDER if depth >= _CLOSE else 1)):
            slope = self._derivative(order)(box)
            if not slope.is_finite():
                return 0
            if not slope.contains(0):
                return order
        return 0

    def _derivative(self, order: int) -> Function:
        while len(self.derivatives) <= order:
            self.derivatives.append(compiled(self.g.diff(self.t, len(self.derivatives)), self.t))
        return self.derivatives[order]

    def _zeros_by(self, order: int, left: arb, right: arb) -> list[arb]:
        """The zeros on a piece on which the derivative of this order has none: each one has one between two zeros of
        the next, at most."""
        turns: list[arb] = []
        for k in range(order - 1, -1, -1):
            places = [left, *turns, right]
            signs = [self._sign(k, place) for place in places]
            turns = [place for place, sign in zip(places, signs, strict=True) if sign == 0]
            for a, b, first, last in zip(places, places[1:], signs, signs[1:], strict=False):
                if first * last < 0:
                    turns.append(self._refined(k, a, b))
            with bits(_HIGH_BITS):
                turns.sort()
        return turns

    def _sign(self, order: int, at: arb) -> int:
        """The sign of a derivative at a point; 0 if no precision decides it, so that a zero lies there."""
        function = self._derivative(order)
        for precision in (_BITS, 512, _HIGH_BITS):
            with bits(precision):
                here = function(at)
                if here > 0:
                    return 1
                if here < 0:
                    return -1
        return 0

    def _crossed(self, zeros: list[arb]) -> list[arb]:
        """Return the zeros at which the function changes its sign."""
        with bits(_HIGH_BITS):
            apart: list[arb] = []
            for zero in sorted(zeros):
                if all(abs(zero - other) > self.smallest for other in (*apart[-1:], *self.ends)):
                    apart.append(zero)
            bounds = [self.ends[0], *apart, self.ends[1]]
            middles = [((a + b) / 2).mid() for a, b in pairwise(bounds)]
            signs = [self._sign(0, middle) for middle in middles]
        if 0 in signs:
            at = float(middles[signs.index(0)])
            raise Undecided(f"'{self.g}' cannot be distinguished from zero, or is undefined, near t = {at:.6g}")
        return [zero for zero, before, after in zip(apart, signs, signs[1:], strict=False) if before != after]

    def _refined(self, order: int, left: arb, right: arb) -> arb:
        """The zero of a monotone derivative between two points of different sign, to all bits: Newton's method, held
        between them."""
        function, derivative = self._derivative(order), self._derivative(order + 1)
        rising = self._sign(order, right) > 0
        precision = _BITS
        with bits(_HIGH_BITS):
            here = ((left + right) / 2).mid()
        for _ in range(_HIGH_BITS + 60):
            with bits(precision):
                found, slope = function(here), derivative(here)
                step = (found / slope).mid() if slope.is_finite() and not slope.contains(0) else None
            with bits(_HIGH_BITS):
                if found > 0 or found < 0:
                    left, right = (left, here) if bool(found > 0) == rising else (here, right)
                if precision == _HIGH_BITS and step is not None and abs(step) < self.smallest:
                    return here
                near = step is not None and abs(step) < (right - left) * arb(2) ** -20 + abs(here) * arb(2) ** -60
                proposed = None if step is None else (here - step).mid()
                inside = proposed is not None and bool(left <= proposed <= right)
                here = cast(arb, proposed) if inside else ((left + right) / 2).mid()
            if near or not (found > 0 or found < 0):
                precision = min(2 * precision, _HIGH_BITS)
        raise Undecided(f"the zero of '{self.g}' near t = {float(here):.6g} is ill-conditioned")

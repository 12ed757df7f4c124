"""Decides conditions of the time inside a span: whether they hold, or at which exact times they change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise, product

import sympy
from flint import arb
from sympy import Symbol
from sympy.core.relational import Relational
from sympy.logic.boolalg import BooleanAtom

from sciml_bench.spec.discontinuities.balls import NoBall, bits, compiled, value
from sciml_bench.spec.discontinuities.roots import (
    Span,
    Undecided,
    compared,
    sign_changes,
    sign_inside,
    sign_of_number,
)
from sciml_bench.spec.language.operators import Floor, Node, Operator, Where
from sciml_bench.spec.language.rebuilding import Size
from sciml_bench.spec.language.removable import Moment

#: What is not smooth where an argument changes its sign.
OF_SIGNS = (sympy.Abs, sympy.sign)
STEPPED = (*OF_SIGNS, Floor)
"""Operators that are not smooth at a sign change or at an integer argument."""
#: An expression that has more of them with its definitions is not decided.
MOST_PARTS = 5_000
_TRUE_FOR = {
    sympy.StrictGreaterThan: (1,), sympy.GreaterThan: (1, 0), sympy.StrictLessThan: (-1,), sympy.LessThan: (-1, 0),
}  # fmt: skip


class Switches(Exception):
    """The decision changes inside the span, at the exact ``times``."""

    def __init__(self, times: tuple[Node, ...]):
        self.times = times
        super().__init__(f"a condition changes at t = {', '.join(map(str, times[:4]))}")


class Moving(ValueError):
    """The time of a condition's change depends on more than the time; ``names`` are states, parameters, operators."""

    def __init__(self, condition: Node, names: tuple[str, ...]):
        self.names = names
        super().__init__(f"'{condition}' depends on {', '.join(names)}")


class Decider:
    """Decides with given values of parameters, which may be factors of a condition but not move its times.

    ``definitions`` are intermediate quantities, each an expression of ``t``, parameters and other definitions. A
    decider that is ``placing`` finds the times at which conditions change with these values of the parameters.
    """

    def __init__(
        self,
        t: Symbol,
        values: Mapping[Symbol, Node],
        definitions: Mapping[Symbol, Node] | None = None,
        *,
        placing: bool = False,
    ):
        self.t, self.values = t, values
        self.definitions = {} if definitions is None else definitions
        self.placing = placing
        self._size = Size(self.definitions)

    def sign(self, u: Node, span: Span) -> int:
        """The sign of an expression inside a span: 1, -1, or 0 if it is zero all over.

        Raises:
            Switches: it changes.
            Moving: it depends on states, or changes at times that depend on parameters.
            Undecided: it cannot be decided.
        """
        return self._settled(self._sign, u, span)

    def _sign(self, u: Node, span: Span) -> int:
        u = self.resolved(self.expanded(u), span)
        constant, varying = self._parts(u)
        varying, moving = self._placed(varying)
        unknown = (varying.free_symbols - {self.t}) | (constant.free_symbols - self.values.keys())
        self._refuse_moving(u, unknown)
        factor = sign_of_number(constant.xreplace(dict(self.values)))
        if not varying.has(self.t):
            factor *= sign_of_number(varying)
        if factor == 0 and (own := constant.free_symbols | moving):
            # The parameters are at their own kink, and to either side of it the sign is another one.
            raise Moving(u, tuple(sorted(s.name for s in own)))
        if factor == 0 or not varying.has(self.t):
            return factor
        times = sign_changes(varying, self.t, span)
        if times:
            raise Switches(times)
        return factor * sign_inside(varying, self.t, span)

    def _placed(self, expr: Node) -> tuple[Node, set[Symbol]]:
        """An expression of the time with the values of its parameters, and the parameters; or as it is."""
        moving = expr.free_symbols & self.values.keys() if self.placing and expr.has(self.t) else set[Symbol]()
        return expr.xreplace({name: self.values[name] for name in moving}), moving

    def floor(self, u: Node, span: Span) -> int:
        """The largest integer that is not above an expression inside a span.

        Raises:
            Switches: it changes.
            Moving: it depends on states, or changes at times that depend on parameters.
            Undecided: it cannot be decided.
        """
        return self._settled(self._floor, u, span)

    def _floor(self, u: Node, span: Span) -> int:
        u, _ = self._placed(self.resolved(self.expanded(u), span))
        unknown = u.free_symbols - ({self.t} if u.has(self.t) else self.values.keys())
        self._refuse_moving(u, unknown)
        if not u.has(self.t):
            return int(sympy.floor(u.xreplace(dict(self.values))))
        times = sign_changes(sympy.sin(sympy.pi * u), self.t, span)
        if times:
            raise Switches(times)
        return _floor_inside(u, self.t, span)

    def _refuse_moving(self, u: Node, unknown: set[Node]) -> None:
        """Refuse unknown names, and operators that are not functions of numbers."""
        operators = {type(x).__name__.lower() for x in u.atoms(Operator) if not isinstance(x, Moment)}
        if unknown or operators:
            raise Moving(u, tuple(sorted(s.name for s in unknown) or sorted(operators)))

    def _parts(self, u: Node) -> tuple[Node, Node]:
        """A factor that does not depend on the time, and the rest; 1 if everything does."""
        if not u.has(self.t):
            return u, sympy.S.One
        constant, varying = u.as_independent(self.t, as_Add=False)
        if varying.free_symbols - {self.t}:
            return sympy.factor_terms(u).as_independent(self.t, as_Add=False)
        return constant, varying

    def holds(self, condition: Node, span: Span) -> bool:
        """Return whether a condition holds inside a span.

        Raises:
            Switches: it changes.
            Moving: it depends on states, or changes at times that depend on parameters.
            Undecided: it cannot be decided.
        """
        return bool(self._settled(self._holds, condition, span))

    def _settled(self, question: Callable[[Node, Span], int], about: Node, span: Span) -> int:
        """An answer that holds in all of a span, though parts of its subject may change inside."""
        answers = list(self.answers(question, about, span))
        times = tuple(b[0].start for a, b in pairwise(answers) if a[1] != b[1])
        if times:
            raise Switches(times)
        answer = answers[0][1]
        if isinstance(answer, tuple):
            raise Moving(about, answer)
        return answer

    def answers(
        self, question: Callable[[Node, Span], int], about: Node, span: Span
    ) -> Iterator[tuple[Span, int | tuple[str, ...]]]:
        """The answers in parts of a span; the names of other dependencies if it depends on more than the time."""
        try:
            yield span, question(about, span)
        except Moving as moving:
            yield span, moving.names
        except Switches as switches:
            for a, b in pairwise((span.start, *switches.times, span.end)):
                yield from self.answers(question, about, Span(a, b))

    def _holds(self, condition: Node, span: Span) -> bool:
        match condition:
            case BooleanAtom():
                return bool(condition)
            case sympy.Not():
                return not self.holds(condition.args[0], span)
            case sympy.And() | sympy.Or():
                return self._joined(condition, span)
            case Relational():
                return self._compared(condition, span)
            case _:
                raise Moving(condition, (str(condition),))

    def _joined(self, condition: Node, span: Span) -> bool:
        settling = isinstance(condition, sympy.Or)
        moving: Moving | None = None
        for part in sorted(condition.args, key=sympy.default_sort_key):
            try:
                if self.holds(part, span) is settling:
                    return settling
            except Moving as error:
                moving = error
        if moving is not None:
            raise moving
        return not settling

    def _compared(self, condition: Node, span: Span) -> bool:
        left, right = condition.lhs, condition.rhs
        if left == self.t and right.is_number:
            # Paths through data are trees of such conditions, with thousands of times.
            place = compared(right, span)
            if place == 0:
                raise Switches((right,))
            sign = -place
        else:
            sign = self.sign(left - right, span)
        return sign in _TRUE_FOR[type(condition)]

    def resolved(self, expr: Node, span: Span) -> Node:
        """An expression as it is inside a span: the branch that is taken of every condition, without magnitudes.

        Raises:
            Switches, Moving, Undecided: as :meth:`sign`.
        """
        if not expr.has(Where, *STEPPED):
            return expr
        match expr:
            case Floor():
                return sympy.Integer(self.floor(expr.args[0], span))
            case Where():
                condition, a, b = expr.args
                return self.resolved(a if self.holds(condition, span) else b, span)
            case sympy.Abs():
                return self.sign(expr.args[0], span) * self.resolved(expr.args[0], span)
            case sympy.sign():
                return sympy.Integer(self.sign(expr.args[0], span))
            case _:
                return expr.func(*(self.resolved(argument, span) for argument in expr.args))

    def expanded(self, expr: Node) -> Node:
        """An expression with the definitions put in.

        Raises:
            Undecided: it is too long.
        """
        if self._size.of(expr) > MOST_PARTS:
            raise Undecided(f"with its definitions written out it has more than {MOST_PARTS} parts")
        while True:
            known = {s: self.definitions[s] for s in expr.free_symbols if s in self.definitions}
            if not known:
                return expr
            expr = expr.xreplace(known)


def _floor_inside(u: Node, t: Symbol, span: Span) -> int:
    """The largest integer below a function of the time that crosses no integer inside a span, but may touch one."""
    try:
        function = compiled(u, t)
        for share, precision in product((0.4871, 0.3127, 0.8713), (128, 1100)):
            with bits(precision):
                start, end = (value(time).mid() for time in span)
                below = function((start + (end - start) * arb(share)).mid()).floor().unique_fmpz()
                if below is not None:
                    return int(below)
    except NoBall as error:
        raise Undecided(str(error)) from None
    raise Undecided(f"'{u}' is an integer all over, or undefined, as it seems")

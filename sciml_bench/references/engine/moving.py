"""Parameters that move the time of a jump, or make one appear: derivatives along a solution then miss something.

Each condition is decided over the time span with the parameters as they are, and with each of its parameters a little
larger and a little smaller. A parameter that changes when it holds moves it. ``max``, ``min`` and ``abs`` bend there
and do not jump, unless their sides change places at a pole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import sympy
from sympy import Basic, Expr, Rational, Symbol
from sympy.core.relational import Relational

from sciml_bench.emit.symbolic.scalar import ScalarSystem
from sciml_bench.spec.discontinuities.balls import bits, value
from sciml_bench.spec.discontinuities.decision import Decider, Switches
from sciml_bench.spec.discontinuities.roots import Span
from sciml_bench.spec.language.operators import Floor, Where, is_extremum
from sciml_bench.spec.model import Problem

#: A parameter is moved by this share of its size, and a time looked at from this share of the span away.
_SHIFT = Rational(1, 2**40)
_BITS = 1100
#: With more conditions all of their parameters count as moving a jump: each takes some searches for roots.
_MOST_CONDITIONS = 64

_Pattern = tuple[tuple[Span, object], ...]
"""The answers to a condition in order of time, each with its span."""


def jump_movers(problem: Problem, system: ScalarSystem) -> tuple[str, ...]:
    """The labels of the parameters that move the time of a jump, or may."""
    if not problem.switching.unsettled:
        return ()
    search = _Search(problem, system)
    movers = set[Symbol]()
    conditions = search.conditions()
    for part, bends in conditions:
        free = search.parameters(part)
        movers |= free if len(conditions) > _MOST_CONDITIONS else {p for p in free if search.moves(p, part, bends)}
    return tuple(label for label, p in zip(problem.theta_labels, system.p, strict=False) if p in movers)


class _Search:
    def __init__(self, problem: Problem, system: ScalarSystem):
        self.system, self.span = system, Span(problem.t0, problem.t1)
        self.values = dict(zip(system.p, problem.p, strict=True))
        self.definitions = dict(system.statements)
        self._roots = cache(self._roots_of)

    def conditions(self) -> dict[tuple[Basic, bool], None]:
        """The conditions on time and parameters alone, and whether all that they decide bends and does not jump."""
        found: dict[tuple[Basic, bool], None] = {}
        for expr in (*self.definitions.values(), *self.system.outputs):
            for part, bends in _conditions(expr):
                if self.parameters(part):
                    found[part, bends] = None
        return found

    def parameters(self, part: Basic) -> set[Any]:
        """The parameters that a condition depends on, also through definitions; none if it depends on states too."""
        roots = set[Any]().union(*map(self._roots, part.free_symbols))
        return set() if roots & set(self.system.y) else roots & self.values.keys()

    def _roots_of(self, symbol: Any) -> frozenset[Any]:
        if symbol not in self.definitions:
            return frozenset((symbol,))
        return frozenset[Any]().union(*map(self._roots, self.definitions[symbol].free_symbols))

    def moves(self, parameter: Any, part: Basic, bends: bool) -> bool:
        """Return whether a parameter changes when a condition holds, so that something may jump."""
        try:
            here = self._pattern(part, self.values)
            if bends and all(self._meet(part, time) for time in _changes(here)):
                return False
            size = abs(self.values[parameter]) or sympy.S.One
            shifted = ({**self.values, parameter: self.values[parameter] + sign * _SHIFT * size} for sign in (1, -1))
            return any(self._pattern(part, values) != here for values in shifted)
        except (ValueError, Switches):
            # It cannot be decided at all, or not next to these values.
            return True

    def _pattern(self, part: Basic, values: Mapping[Any, Expr]) -> _Pattern:
        decider = Decider(self.system.t, values, self.definitions, placing=True)
        question: Any = (
            decider.holds
            if isinstance(part, Relational)
            else decider.floor
            if isinstance(part, Floor)
            else decider.sign
        )
        about: Any = part if isinstance(part, Relational) else part.args[0]
        return tuple(decider.answers(question, about, self.span))

    def _meet(self, part: Basic, time: Expr) -> bool:
        """Return whether the sides of a condition meet at a time, as against at a pole."""
        args: Any = part.args
        difference = args[0] - args[1] if isinstance(part, Relational) else args[0]
        decider = Decider(self.system.t, self.values, self.definitions, placing=True)
        width, at = _SHIFT * (self.span.end - self.span.start), {**self.values, self.system.t: time}
        near = (Span(time - width, time), Span(time, time + width))
        sides = (decider.resolved(decider.expanded(difference), span).xreplace(at) for span in near)
        with bits(_BITS):
            return all(bool(value(side).is_finite()) for side in sides)


def _changes(pattern: _Pattern) -> Iterator[Expr]:
    return (after[0].start for before, after in pairwise(pattern) if before[1] != after[1])


def _conditions(expr: Basic) -> Iterator[tuple[Basic, bool]]:
    """The comparisons, signs and roundings of an expression, and whether they decide something that bends."""
    for node in sympy.preorder_traversal(expr):
        if isinstance(node, Where):
            bends = is_extremum(node)
            yield from ((part, bends) for part in node.args[0].atoms(Relational))
        elif isinstance(node, sympy.Abs | sympy.sign | Floor):
            yield node, isinstance(node, sympy.Abs)

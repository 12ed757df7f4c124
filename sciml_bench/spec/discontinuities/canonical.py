"""Conditions of the time written with the times at which they switch: ``sin(t) > 0`` as ``t < pi or t >= 2 pi``."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import sympy
from sympy.core.parameters import distribute
from sympy.core.relational import Relational

from sciml_bench.spec.discontinuities.decision import Decider, Moving, Switches
from sciml_bench.spec.discontinuities.roots import Span, Undecided
from sciml_bench.spec.language.operators import Floor, Node, Where
from sciml_bench.spec.model import Problem

#: Conditions that switch more often stay as they are: that many comparisons would cost more than they mend.
_MOST_SWITCHES = 64

_MOST_SPANS = 400


def canonical(problem: Problem, decider: Decider) -> Problem:
    """The problem with those conditions of its right-hand side that depend on the time alone written with times."""
    ends = (problem.t0, *problem.breakpoints, problem.t1)
    if len(ends) > _MOST_SPANS:
        return problem
    writer = _Writer(decider, [Span(a, b) for a, b in pairwise(ends)])
    with distribute(False):
        return replace(
            problem,
            definitions=tuple(replace(item, expr=writer.written(item.expr)) for item in problem.definitions),
            equations={name: writer.written(expr) for name, expr in problem.equations.items()},
            implicit={name: writer.written(expr) for name, expr in problem.implicit.items()},
        )


class _Writer:
    def __init__(self, decider: Decider, spans: list[Span]):
        self.decider, self.spans = decider, spans
        self._memo: dict[Node, Node] = {}

    def written(self, expr: Node) -> Node:
        """An expression with its conditions rewritten; the same object if nothing changes."""
        if expr not in self._memo:
            self._memo[expr] = self._written(expr)
        return self._memo[expr]

    def _written(self, expr: Node) -> Node:
        if not expr.args:
            return expr
        if isinstance(expr, Relational):
            return self._relation(expr)
        if isinstance(expr, sympy.sign):
            positive = self._condition([self._sign(expr.args[0], span) for span in self.spans])
            return expr if positive is None else Where(positive, sympy.S.One, sympy.S.NegativeOne)
        if isinstance(expr, Floor) and (steps := self._staircase(expr.args[0])) is not None:
            return steps
        arguments = tuple(self.written(argument) for argument in expr.args)
        if arguments == expr.args:
            return expr
        return expr.func(*arguments)

    def _relation(self, relation: Node) -> Node:
        t = self.decider.t
        if relation.lhs == t and relation.rhs.is_number:
            return relation
        found = self._condition([self._holds(relation, span) for span in self.spans])
        return relation if found is None else found

    def _holds(self, relation: Node, span: Span) -> bool | None:
        try:
            return self.decider.holds(relation, span)
        except (Moving, Switches, Undecided):
            # Elements of an array that switch at different times, and what depends on more than the time.
            return None

    def _sign(self, u: Node, span: Span) -> bool | None:
        try:
            return {1: True, -1: False}.get(self.decider.sign(u, span))
        except (Moving, Switches, Undecided):
            return None

    def _staircase(self, u: Node) -> Node | None:
        """The integers below an expression, from step to step."""
        try:
            below = [self.decider.floor(u, span) for span in self.spans]
        except (Moving, Switches, Undecided):
            return None
        t = self.decider.t
        rises = [(span.start, now - was) for span, was, now in zip(self.spans[1:], below, below[1:], strict=False)]
        steps: list[Node] = [Where(t >= time, rise, 0) for time, rise in rises if rise]
        return None if len(steps) > _MOST_SWITCHES else sympy.Add(below[0], *steps)

    def _condition(self, held: list[bool | None]) -> Node | None:
        """The condition that holds in these spans; ``None`` if it is not known in all, or switches too often."""
        if None in held:
            return None
        t = self.decider.t
        turns = [
            (span.start, now) for span, was, now in zip(self.spans[1:], held, held[1:], strict=False) if was != now
        ]
        if len(turns) > _MOST_SWITCHES:
            return None
        windows: list[Node] = []
        since: Node = sympy.true
        for time, now in turns:
            if now:
                since = t >= time
            else:
                windows.append(sympy.And(since, t < time))
        if held[-1]:
            windows.append(since)
        return sympy.Or(*windows)

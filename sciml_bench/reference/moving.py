"""Parameters that move a time at which a right-hand side may jump: its derivatives then miss how the time moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import sympy
from sympy import Basic

from sciml_bench.emit.scalar import ScalarSystem
from sciml_bench.problem.decision import Decider, Moving, Switches
from sciml_bench.problem.model import Problem
from sciml_bench.problem.operators import Floor, Where, is_extremum
from sciml_bench.problem.roots import Span, Undecided


def jump_movers(problem: Problem, system: ScalarSystem) -> tuple[str, ...]:
    """The labels of the parameters that move the time of a jump, or may.

    ``max``, ``min`` and ``abs`` bend and do not jump: their derivatives are right wherever the bend is.
    """
    if all(moving.of_states for moving in problem.switching.unsettled):
        return ()
    decider = Decider(system.t, dict(zip(system.p, problem.p, strict=True)), dict(system.statements), placing=True)
    span = Span(problem.t0, problem.t1)
    for expr in (*(expr for _, expr in system.statements), *system.outputs):
        for question, about in _jumps(expr, decider):
            _ask(question, about, span)
    return tuple(
        label for label, parameter in zip(problem.theta_labels, system.p, strict=False) if parameter in decider.movers
    )


def _jumps(expr: Basic, decider: Decider) -> Iterator[tuple[Callable[[Any, Span], int], Basic]]:
    """The conditions, signs and roundings of an expression that may make it jump."""
    for node in sympy.preorder_traversal(expr):
        if isinstance(node, Where) and not is_extremum(node):
            yield decider.holds, node.args[0]
        elif isinstance(node, sympy.sign):
            yield decider.sign, node.args[0]
        elif isinstance(node, Floor):
            yield decider.floor, node.args[0]


def _ask(question: Callable[[Any, Span], int], about: Basic, span: Span) -> None:
    """Decide all over a span, for what the decider notes on the way."""
    try:
        question(about, span)
    except Switches as switches:
        for part in pairwise((span.start, *switches.times, span.end)):
            _ask(question, about, Span(*part))
    except (Moving, Undecided):
        # It depends on states as well, so that its change would end the solution.
        pass

"""A problem as frameworks get it: without functions that they do not have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sympy import Function

from sciml_bench.emit.symbolic.statements import needed
from sciml_bench.spec.language.operators import Item, Node
from sciml_bench.spec.language.removable import without_removable_points, written_out
from sciml_bench.spec.model import Problem, symbol
from sciml_bench.spec.quantities import Definition


def in_elementary_functions(problem: Problem) -> Problem:
    """A problem whose expressions are written out, for frameworks."""
    return _with(problem, written_out)


def functions_of(problem: Problem) -> frozenset[str]:
    """The names of the functions in the equations as frameworks get them, and ``where`` if they branch."""
    written = in_elementary_functions(problem)
    outputs = list(written.equations.values())
    named = [(symbol(definition.name), definition.expr) for definition in written.definitions]
    expressions = (*outputs, *(expression for _, expression in needed(named, outputs)))
    found = {each for expression in expressions for each in expression.atoms(Function)}
    # An entry of a vector of parameters is a parameter like any other.
    return frozenset(type(each).__name__.lower() for each in found if not isinstance(each, Item))


def filled(problem: Problem) -> Problem:
    """A problem that is defined where quotients of the file are 0/0 at a single point, for references."""
    return _with(problem, without_removable_points)


def _with(problem: Problem, made: Callable[[Node], Node]) -> Problem:
    """The problem with other expressions; the same object if none changed, which keeps its cached results."""

    def or_none(expression: Node | None) -> Node | None:
        return None if expression is None else made(expression)

    def definitions(given: tuple[Definition, ...]) -> tuple[Definition, ...]:
        return tuple(replace(definition, expr=made(definition.expr)) for definition in given)

    def table(given: Mapping[str, Node]) -> dict[str, Node]:
        return {name: made(expression) for name, expression in given.items()}

    changed = replace(
        problem,
        states=tuple(replace(state, start=or_none(state.start)) for state in problem.states),
        definitions=definitions(problem.definitions),
        encoding=definitions(problem.encoding),
        equations=table(problem.equations),
        implicit=table(problem.implicit),
        invariants=table(problem.invariants),
        events=tuple(replace(event, when=or_none(event.when), reset=table(event.reset)) for event in problem.events),
        loss=replace(problem.loss, of=or_none(problem.loss.of), penalty=or_none(problem.loss.penalty)),
    )
    return problem if changed == problem else changed

"""A problem as frameworks get it: without functions that they do not have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from sciml_bench.problem.model import Definition, Problem
from sciml_bench.problem.operators import Node
from sciml_bench.problem.removable import written_out

Name = TypeVar("Name")


def in_elementary_functions(problem: Problem) -> Problem:
    """A problem whose expressions are written out, for frameworks."""
    states = tuple(
        state if state.start is None else replace(state, start=written_out(state.start)) for state in problem.states
    )
    loss = problem.loss
    return replace(
        problem,
        states=states,
        definitions=_definitions(problem.definitions),
        encoding=_definitions(problem.encoding),
        equations=_all(problem.equations),
        implicit=_all(problem.implicit),
        invariants=_all(problem.invariants),
        loss=replace(
            loss,
            of=None if loss.of is None else written_out(loss.of),
            penalty=None if loss.penalty is None else written_out(loss.penalty),
        ),
    )


def _definitions(definitions: tuple[Definition, ...]) -> tuple[Definition, ...]:
    return tuple(replace(definition, expr=written_out(definition.expr)) for definition in definitions)


def _all(expressions: Mapping[Name, Node]) -> dict[Name, Node]:
    return {name: written_out(expression) for name, expression in expressions.items()}

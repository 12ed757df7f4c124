"""The elements of the state that each equation of a grid reads: the structure of the Jacobian."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import Symbol

from sciml_bench.spec.language.operators import (
    ARRAY_OPERATORS,
    PERIODIC,
    Difference,
    Laplacian,
    Node,
    Shift,
    Where,
)
from sciml_bench.spec.model import Problem, symbol

# Below this size a dense Jacobian is faster.
_SMALLEST = 32

Offset = tuple[int, ...]

Reads = frozenset[tuple[str, Offset]]


class NotLocal(Exception):
    """An equation reads more than neighbours."""


@dataclass(frozen=True)
class Stencil:
    """The equations of the states at ``row`` read elements of the states at ``column``, shifted by this many places."""

    row: int
    column: int
    offsets: tuple[Offset, ...]


def stencils(problem: Problem) -> tuple[Stencil, ...]:
    """One for each pair of states if one reads the other; empty if the Jacobian is dense, or small.

    An offset that leaves the grid wraps around on periodic axes and has no element on others.
    """
    shapes = {state.shape for state in problem.states}
    if problem.n_states < _SMALLEST or len(shapes) != 1 or shapes == {()}:
        return ()
    definitions = {symbol(definition.name): definition.expr for definition in problem.definitions}
    starts = {state.name: index * state.size for index, state in enumerate(problem.states)}
    found: list[Stencil] = []
    try:
        for state in problem.states:
            reads = _reads(problem.equations[state.name], starts, definitions, len(state.shape))
            for other in problem.states:
                offsets = tuple(sorted(offset for name, offset in reads if name == other.name))
                if offsets:
                    found.append(Stencil(starts[state.name], starts[other.name], offsets))
    except NotLocal:
        return ()
    return tuple(found)


def wraps(problem: Problem) -> tuple[bool, ...]:
    """Return whether each axis is periodic. Shifts may wrap around on any axis, which an offset then does, too."""
    axes = len(problem.states[0].shape)
    periodic = [grid.boundary == "periodic" for grid in problem.grids] or [False] * axes
    for expr in (*problem.equations.values(), *(definition.expr for definition in problem.definitions)):
        for node in expr.atoms(Shift, Difference):
            axis, edge = int(node.args[-2]), node.args[-1]
            periodic[axis] |= edge == PERIODIC
    return tuple(periodic)


def _reads(expr: Node, states: Mapping[str, int], definitions: Mapping[Symbol, Node], axes: int) -> Reads:
    match expr:
        case Symbol():
            if expr in definitions:
                return _reads(definitions[expr], states, definitions, axes)
            return frozenset({(expr.name, (0,) * axes)}) if expr.name in states else frozenset()
        case Laplacian():
            operand = _reads(expr.args[0], states, definitions, axes)
            around = [_moved(operand, axis, k) for axis in range(axes) for k in (-1, 1)]
            return operand.union(*around)
        case Difference():
            operand = _reads(expr.args[0], states, definitions, axes)
            return _moved(operand, int(expr.args[1]), -1) | _moved(operand, int(expr.args[1]), 1)
        case Shift():
            operand = _reads(expr.args[0], states, definitions, axes)
            return _moved(operand, int(expr.args[2]), int(expr.args[1]))
        case Where():
            # The derivative is the derivative of the branches.
            return frozenset().union(*(_reads(part, states, definitions, axes) for part in expr.args[1:]))
        case _ if isinstance(expr, ARRAY_OPERATORS):
            raise NotLocal
        case _:
            return frozenset().union(*(_reads(part, states, definitions, axes) for part in expr.args))


def _moved(reads: Reads, axis: int, k: int) -> Reads:
    return frozenset((name, (*o[:axis], o[axis] + k, *o[axis + 1 :])) for name, o in reads)

"""The equations of fields at one point, in the values at that point and at the neighbours of its operators.

A *place* is reached from every point by the same steps: a table of points. Around a ring the steps add up, at an edge
that mirrors they do not; so a place is identified by its table, however it was reached.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Symbol
from sympy.core.parameters import distribute

from sciml_bench.emit.context import Context
from sciml_bench.emit.symbolic.variation import fresh
from sciml_bench.spec.language.operators import MIRRORED, PERIODIC, Difference, Laplacian, Node, Shift, Where
from sciml_bench.spec.language.rebuilding import rebuilt
from sciml_bench.spec.model import symbol, to_double

Table = NDArray[Any]


def stepped(points, shape, axis, places, edge):
    """The points ``places`` further along an axis, and which of them are on the grid; a point off the grid stays."""
    at = np.stack(np.unravel_index(points, shape))
    size, own = shape[axis], at[axis].copy()
    further = own + places
    if edge == "wrapped":
        further %= size
    elif edge == "mirrored":
        further = np.clip(further, 0, size - 1)
    inside = (0 <= further) & (further < size)
    at[axis] = np.where(inside, further, own)
    return np.ravel_multi_index(tuple(at), shape), inside


STEPPED = inspect.getsource(stepped)


class Points:
    """The points of a problem that :func:`~sciml_bench.spec.language.locality.why_not_local` does not refuse.

    ``equations`` has an expression a field. They hold ``variables``, the symbols of field ``s`` at place ``k``, and
    ``fixed``, the symbols of values that each point has before anything is computed; parameters and t, and the
    ``spacings`` that operators divide by, are the same for all points. ``lines`` define the tables of the places and
    the fixed values, ``_AT_k`` and arrays of the points; ``n_places`` is the number of places.
    """

    def __init__(self, context: Context, taken: set[str]):
        problem = context.problem
        self._context, self._taken = context, taken
        self.shape = problem.states[0].shape
        self.size = int(np.prod(self.shape))
        self._states = {symbol(state.name): s for s, state in enumerate(problem.states)}
        self._fields = {symbol(q.name) for q in (*problem.grids, *problem.constants)}
        own: Table = np.arange(self.size)
        self._tables: list[Table] = [own]
        self._known: dict[bytes, int] = {own.tobytes(): 0}
        self._inside: dict[bytes, Symbol] = {}
        self._steps: dict[tuple[int, int, int, str], tuple[int, Node]] = {}
        self._memo: dict[tuple[Node, int], Node] = {}
        self.variables: dict[Symbol, tuple[int, int]] = {}
        self.fixed: dict[Symbol, str] = {}
        self.spacings: dict[Symbol, float] = {}
        self.lines = ["_AT_0 = np.arange(POINTS)"]
        self._definitions: dict[Symbol, Node] = {symbol(d.name): context.resolve(d.expr) for d in problem.definitions}
        with distribute(False):
            self.equations = [self._at(context.resolve(expr), 0) for expr in problem.equations.values()]

    @property
    def n_places(self) -> int:
        """The number of places, the point itself among them."""
        return len(self._tables)

    def _at(self, expr: Node, place: int) -> Node:
        key = (expr, place)
        if key not in self._memo:
            self._memo[key] = self._value(expr, place)
        return self._memo[key]

    def _value(self, expr: Node, place: int) -> Node:
        match expr:
            case Symbol():
                return self._symbol(expr, place)
            case Laplacian():
                return self._laplacian(expr, place)
            case Difference():
                axis, edge = int(expr.args[1]), expr.args[2]
                spacing = self._spacing(1 / (2 * self._context.problem.grids[axis].step))
                ahead, behind = (self._moved(expr.args[0], place, axis, k, edge) for k in (1, -1))
                return spacing * (ahead - behind)
            case Shift():
                return self._moved(expr.args[0], place, int(expr.args[2]), int(expr.args[1]), expr.args[3])
            case _:
                return rebuilt(expr, [self._at(argument, place) for argument in expr.args]) if expr.args else expr

    def _laplacian(self, expr: Node, place: int) -> Node:
        field, *edges = expr.args
        total: Node = 0
        for axis, (edge, grid) in enumerate(zip(edges, self._context.problem.grids, strict=True)):
            ahead, behind = (self._moved(field, place, axis, k, edge) for k in (1, -1))
            total += self._spacing(1 / grid.step**2) * (ahead - 2 * self._at(field, place) + behind)
        return total

    def _symbol(self, quantity: Symbol, place: int) -> Node:
        if quantity in self._definitions:
            return self._at(self._definitions[quantity], place)
        if quantity in self._states:
            found = fresh(f"{quantity.name}_at_{place}", self._taken)
            self.variables[found] = (self._states[quantity], place)
            return found
        if quantity in self._fields or quantity in self._context.statics.values():
            name = self._context.names.get(quantity, quantity.name)
            return self._fix(f"_{name}_at_{place}", f"np.ravel({name})" + (f"[_AT_{place}]" if place else ""))
        return quantity

    def _fix(self, array: str, code: str) -> Symbol:
        """The symbol of an array's value at the point."""
        self.lines.append(f"{array} = {code}")
        found = fresh(array.lstrip("_"), self._taken)
        self.fixed[found] = array
        return found

    def _spacing(self, factor: Node) -> Symbol:
        value = to_double(factor)
        for known, other in self.spacings.items():
            if other == value:
                return known
        found = Symbol(f"_SPACING_{len(self.spacings)}", real=True)
        self.spacings[found] = value
        return found

    def _moved(self, field: Node, place: int, axis: int, places: int, edge: Node) -> Node:
        kind = "wrapped" if edge == PERIODIC else "mirrored" if edge == MIRRORED else "filled"
        there, inside = self._step(place, axis, places, kind)
        if inside is False:
            return self._at(edge, 0)
        value = self._at(field, there)
        return value if inside is True else Where(inside, value, self._at(edge, 0))

    def _step(self, place: int, axis: int, places: int, kind: str) -> tuple[int, Any]:
        """The place further on, and the symbol of whether a point has one; True or False if all points agree."""
        key = (place, axis, places, kind)
        if key not in self._steps:
            found, inside = stepped(self._tables[place], self.shape, axis, places, kind)
            table: Table = np.asarray(found)
            code = f"stepped(_AT_{place}, {self.shape}, {axis}, {places}, {kind!r})"
            there = self._known.get(table.tobytes())
            if there is None:
                there = self._known[table.tobytes()] = len(self._tables)
                self._tables.append(table)
                self.lines.append(f"_AT_{there} = {code}[0]")
            within: Any = bool(inside.all()) if inside.all() or not inside.any() else self._inside.get(inside.tobytes())
            if within is None:
                within = self._inside[inside.tobytes()] = self._fix(f"_INSIDE_{len(self._inside)}", f"{code}[1]")
            self._steps[key] = there, within
        return self._steps[key]

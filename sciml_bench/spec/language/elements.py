"""The elements of an expression over a grid or over vectors of constants, as expressions of the time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from sympy import Symbol

from sciml_bench.spec.language.operators import At, Item, Node
from sciml_bench.spec.language.shapes import Shape, shape_of
from sciml_bench.spec.model import Problem, symbol

#: Fields and tables of more elements than this are not written out.
MOST_ELEMENTS = 10_000


class Elements:
    """Writes out what depends on coordinates and on vectors among the constants."""

    def __init__(self, problem: Problem):
        self._shapes = problem.shapes
        self._axes = {symbol(grid.name): (axis, grid) for axis, grid in enumerate(problem.grids)}
        self._vectors = {symbol(constant.name): constant for constant in problem.constants}
        self._read: dict[Node, Shape] = {}
        self._known: dict[tuple[Node, Shape, frozenset[tuple[Node, int]]], Node] = {}

    def of(self, expr: Node) -> Iterator[Node]:
        """Every element once; anything but coordinates and constants stays.

        Raises:
            ValueError: there are too many.
        """
        indexed = {atom.args[1]: shape_of(atom.args[0], self._shapes)[0] for atom in expr.atoms(At)}
        bare = expr.xreplace({atom: Symbol("_element") for atom in expr.atoms(At)})
        shape = shape_of(bare, self._shapes)
        sizes = (*shape, *indexed.values())
        count = 1
        for size in sizes:
            count *= size
        if count > MOST_ELEMENTS:
            raise ValueError(f"it has {count} elements, more than {MOST_ELEMENTS}")
        seen: set[Node] = set()
        for index in product(*map(range, sizes)):
            bound = dict(zip(indexed, index[len(shape) :], strict=True))
            element = self._element(expr, index[: len(shape)], bound)
            if element not in seen:
                seen.add(element)
                yield element

    def _element(self, expr: Node, index: Shape, bound: dict[Node, int]) -> Node:
        match expr:
            case Symbol():
                if expr in self._axes:
                    axis, grid = self._axes[expr]
                    return grid.coordinate(index[axis])
                return self._vectors[expr].values[index[0]] if expr in self._vectors else expr
            case At():
                return self._element(expr.args[0], (bound[expr.args[1]],), bound)
            case Item():
                return self._element(expr.args[0], tuple(int(i) for i in expr.args[1:]), bound)
            case _ if expr.args:
                # Most parts of a field are the same at many points.
                read = tuple(index[place] for place in self._places_read(expr, index))
                key = expr, read, frozenset(bound.items())
                if key not in self._known:
                    self._known[key] = expr.func(*(self._element(argument, index, bound) for argument in expr.args))
                return self._known[key]
            case _:
                return expr

    def _places_read(self, expr: Node, index: Shape) -> Shape:
        """The places of an index that an expression depends on."""
        if expr not in self._read:
            names = expr.free_symbols
            everything = names & self._vectors.keys()
            self._read[expr] = tuple(
                place
                for place in range(len(index))
                if everything or any(self._axes[x][0] == place for x in names & self._axes.keys())
            )
        return self._read[expr]

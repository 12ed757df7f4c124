"""The elements of an expression over a grid or over vectors of constants, as expressions of the time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from sympy import Symbol

from sciml_bench.problem.model import Problem, symbol
from sciml_bench.problem.operators import At, Item, Node
from sciml_bench.problem.shapes import Shape, shape_of

#: Fields and tables of more elements than this are not written out.
MOST_ELEMENTS = 10_000


class Elements:
    """Writes out what depends on coordinates and on vectors among the constants."""

    def __init__(self, problem: Problem):
        self._shapes = problem.shapes
        self._axes = {symbol(grid.name): (axis, grid) for axis, grid in enumerate(problem.grids)}
        self._vectors = {symbol(constant.name): constant for constant in problem.constants}

    def of(self, expr: Node) -> Iterator[Node]:
        """Every element once; what is no coordinate and no constant is left as it is.

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
                return expr.func(*(self._element(argument, index, bound) for argument in expr.args))
            case _:
                return expr

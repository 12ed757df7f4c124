"""The body of a loop over the elements of a vector or field, as scalar statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import sympy
from sympy import Symbol

from sciml_bench.emit.julia.arrays import FlatArray, Place
from sciml_bench.emit.julia.scalar_printer import JuliaPrinter
from sciml_bench.emit.symbolic.statements import straight_line
from sciml_bench.emit.targets import TARGETS
from sciml_bench.spec.language.operators import (
    ARRAY_OPERATORS,
    At,
    Difference,
    IndexedSum,
    Laplacian,
    MatrixProduct,
    Node,
    Shift,
)
from sciml_bench.spec.language.shapes import Shape
from sciml_bench.spec.quantities import Grid

Places = tuple[Place, ...]
Names = dict[Symbol, str]

# The variable of the sums inside a loop.
_SUMMED = "k"


@dataclass(frozen=True)
class Inner:
    """A sum that a loop makes for each of its elements: ``body`` over ``size`` values, without the element's own."""

    size: int
    without_own: bool
    body: Node


@dataclass
class Body:
    """The computation of one loop for one element, collected while its expressions are split.

    ``arrays`` gives the place of each array, ``inlined`` holds the definitions that are evaluated in place, ``names``
    the Julia names of scalars.
    """

    shape: Shape
    arrays: Mapping[Symbol, FlatArray]
    inlined: Mapping[Symbol, Node]
    grids: tuple[Grid, ...]
    names: Names
    indices: dict[str, str] = field(default_factory=dict[str, str])
    elements: dict[Symbol, str] = field(default_factory=dict[Symbol, str])
    sums: dict[Symbol, Inner] = field(default_factory=dict[Symbol, Inner])
    texts: Names = field(default_factory=Names)
    summed_elements: dict[Symbol, str] = field(default_factory=dict[Symbol, str])

    def lines(self, targets: Sequence[tuple[str, Node]], indent: str) -> list[str]:
        """The statements that compute ``target = expression`` for each of the targets."""
        own = tuple(Place(axis, size) for axis, size in enumerate(self.shape))
        outputs = [self.element(expr, own) for _, expr in targets]
        inner = self._sum_lines()
        lines = [f"{name} = {code}" for name, code in self.indices.items()]
        lines += [f"{symbol.name} = {code}" for symbol, code in self.elements.items()]
        lines += [*inner, *self._statements(outputs, [target for target, _ in targets])]
        return [indent + line for line in lines]

    def value(self, expr: Node) -> str:
        """The code of one element of an elementwise expression, in one piece."""
        element = self.element(expr, tuple(Place(axis, size) for axis, size in enumerate(self.shape)))
        self.texts |= self.elements
        printer = self._printer()
        return printer.code(element) if isinstance(element, sympy.Expr) else printer.condition(element)

    def element(self, expr: Node, places: Places) -> Node:
        """One element of an expression, in terms of scalars.

        A nested array operator, except for neighbours, must already be a separate array.
        """
        match expr:
            case Symbol():
                return self._symbol(expr, places)
            case Laplacian():
                return self._laplacian(expr, places)
            case Difference():
                axis, edge = int(expr.args[1]), expr.args[2]
                ahead, behind = (self._neighbour(expr.args[0], places, axis, k, edge) for k in (1, -1))
                return (ahead - behind) / (2 * self.grids[axis].step)
            case Shift():
                return self._neighbour(expr.args[0], places, int(expr.args[2]), int(expr.args[1]), expr.args[3])
            case IndexedSum():
                return self._indexed_sum(expr, places)
            case MatrixProduct():
                return self._matrix_product(expr, places)
            case _:
                return expr.func(*(self.element(part, places) for part in expr.args)) if expr.args else expr

    def _symbol(self, expr: Symbol, places: Places) -> Node:
        if expr in self.inlined:
            return self.element(self.inlined[expr], places)
        if expr not in self.arrays:
            return expr
        array = self.arrays[expr]
        code = array.element(tuple(place.name for place in places))
        relevant = places if array.axis is None else (places[array.axis],)
        if any(place.guarded for place in relevant):
            # Read only if it exists, so not in a separate statement.
            return self._text(code)
        for place in relevant:
            if place.offset:
                self.indices[place.name] = place.code
        return self._local(self._name(expr), "".join(place.label for place in relevant), code, self.elements)

    def _name(self, array: Symbol) -> str:
        # The module's own arrays are in capitals; their elements are not.
        return self.names.get(array) or array.name.lower()

    def _text(self, code: str) -> Symbol:
        symbol = Symbol(f"_text_{code}", real=True)
        self.texts[symbol] = code
        return symbol

    def _local(self, name: str, suffix: str, code: str, kept: dict[Symbol, str]) -> Symbol:
        """A variable with this value, called ``name`` and a suffix: another one if that has another value."""
        declared = set(self.names.values()) if suffix else set[str]()
        unique, number = name + suffix, 2
        while unique in declared or kept.get(Symbol(unique, real=True), code) != code:
            unique, number = f"{name}{suffix}_{number}", number + 1
        symbol = Symbol(unique, real=True)
        kept[symbol] = code
        self.texts[symbol] = unique
        return symbol

    def _laplacian(self, expr: Node, places: Places) -> Node:
        operand, *edges = expr.args
        total: Node = sympy.S.Zero
        for axis, (edge, grid) in enumerate(zip(edges, self.grids, strict=True)):
            ahead, behind = (self._neighbour(operand, places, axis, k, edge) for k in (1, -1))
            total += (ahead - 2 * self.element(operand, places) + behind) / grid.step**2
        return total

    def _neighbour(self, operand: Node, places: Places, axis: int, k: int, edge: Node) -> Node:
        if not k:
            return self.element(operand, places)
        place = Place(axis, self.shape[axis], k, edge)
        moved = (*places[:axis], place, *places[axis + 1 :])
        value = self.element(operand, moved)
        if not place.guarded:
            return value
        inside, outside = self._code(value), self._edge(self.element(edge, places))
        name = self._name(operand) if isinstance(operand, Symbol) else "value"
        return self._local(name, place.label, f"{place.inside} ? {inside} : {outside}", self.elements)

    def _edge(self, value: Node) -> str:
        """The value beyond an end, of the type of those inside: with dual numbers a plain one would be of another."""
        if value == 0:
            return "zero(eltype(dy))"
        return f"convert(eltype(dy), {self._code(value)})" if value.is_number else self._code(value)

    def _indexed_sum(self, expr: Node, places: Places) -> Node:
        body, j, excluded, size = expr.args
        elements: dict[Node, Node] = {}
        # A set: the order of its elements changes from process to process.
        for atom in sorted(body.atoms(At), key=sympy.default_sort_key):
            array, index = atom.args
            elements[atom] = self._summed(array) if index == j else self.element(array, places)
        inner = self.element(body.xreplace(elements), places)
        return self._inner(Inner(int(size), excluded != j, inner))

    def _matrix_product(self, expr: Node, places: Places) -> Node:
        matrix, vector = expr.args
        row = self.arrays[matrix]
        entry = self._local("entry", "", f"{row.array}[{places[0].name}, {_SUMMED}]", self.summed_elements)
        return self._inner(Inner(row.shape[1], False, entry * self._summed(vector)))

    def _summed(self, array: Node) -> Node:
        """The element of an array at the variable of the inner sum."""
        if not isinstance(array, Symbol):
            return array.func(*(self._summed(part) for part in array.args)) if array.args else array
        if array in self.inlined:
            return self._summed(self.inlined[array])
        if array not in self.arrays:
            return array
        code = self.arrays[array].element((_SUMMED,))
        return self._local(self._name(array), f"_{_SUMMED}", code, self.summed_elements)

    def _inner(self, inner: Inner) -> Symbol:
        for summed, known in self.sums.items():
            if known == inner:
                return summed
        number = len(self.sums) + 1
        summed = Symbol(f"sum_{number}", real=True)
        self.sums[summed] = inner
        return summed

    def _sum_lines(self) -> list[str]:
        """The loops of the inner sums; sums over the same values share one, and their common terms."""
        lines: list[str] = []
        loops: dict[tuple[int, bool], list[Symbol]] = {}
        for summed, inner in self.sums.items():
            loops.setdefault((inner.size, inner.without_own), []).append(summed)
        for (size, without_own), symbols in loops.items():
            lines += [f"{symbol.name} = zero(eltype(dy))" for symbol in symbols]
            lines.append(f"for {_SUMMED} in 1:{size}")
            if without_own:
                lines.append(f"    {_SUMMED} == i && continue")
            lines += [f"    {symbol.name} = {code}" for symbol, code in self.summed_elements.items()]
            bodies = [self.sums[symbol].body for symbol in symbols]
            lines += ["    " + line for line in self._statements(bodies, [s.name for s in symbols], "+=")]
            lines.append("end")
        return lines

    def _statements(self, outputs: Sequence[Node], targets: Sequence[str], how: str = "=") -> list[str]:
        program = straight_line([], list(outputs), avoid=self.names.values())
        lines = [f"{statement.symbol.name} = {self._code(statement.expr)}" for statement in program.statements]
        return lines + [f"{t} {how} {self._code(o)}" for t, o in zip(targets, program.outputs, strict=True)]

    def _code(self, expr: Node) -> str:
        return self._printer().code(expr)

    def _printer(self) -> JuliaPrinter:
        return JuliaPrinter(TARGETS["julia"], self.names | self.texts, {})


def is_elementwise(expr: Node) -> bool:
    """Return whether each element of an expression depends on the same elements of its operands alone."""
    return not expr.has(*ARRAY_OPERATORS)

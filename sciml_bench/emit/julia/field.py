"""``rhs!`` of a problem with vectors or fields: reductions, arrays in between, and one loop for each shape."""

from __future__ import annotations

from dataclasses import dataclass, field

import sympy
from sympy import Symbol

from sciml_bench.emit.context import Context, element_symbol
from sciml_bench.emit.julia.arrays import AXES, FlatArray
from sciml_bench.emit.julia.body import Body, is_elementwise
from sciml_bench.emit.julia.constants import constant_names
from sciml_bench.emit.julia.scalar_printer import JuliaPrinter
from sciml_bench.spec.language.operators import (
    At,
    Difference,
    Dot,
    IndexedSum,
    Item,
    Laplacian,
    MatrixProduct,
    Node,
    Shift,
    Total,
    TridiagonalSolve,
)
from sciml_bench.spec.language.shapes import Shape, shape_of
from sciml_bench.spec.model import symbol

# Operators that look at other elements of their operands than the loop's own.
_ELSEWHERE = (Laplacian, Difference, Shift, IndexedSum, MatrixProduct, TridiagonalSolve, Item, Total, Dot)


def field_function(context: Context) -> str:
    """The source of ``rhs!(dy, y, p, t)``, which writes the right-hand side into ``dy``."""
    return _Field(context).source()


@dataclass
class _Field:
    """One emission: the places of arrays, the expressions evaluated in place, and the lines so far."""

    context: Context
    arrays: dict[Symbol, FlatArray] = field(default_factory=dict[Symbol, FlatArray])
    inlined: dict[Symbol, Node] = field(default_factory=dict[Symbol, Node])
    body: list[str] = field(default_factory=list[str])
    texts: dict[Symbol, str] = field(default_factory=dict[Symbol, str])
    shapes: dict[Symbol, Shape] = field(default_factory=dict[Symbol, Shape])
    lifted: dict[Node, Symbol] = field(default_factory=dict[Node, Symbol])

    def source(self) -> str:
        """The whole function."""
        self.shapes = dict(self.context.problem.shapes)
        head = self._unpack()
        definitions = {symbol(d.name): self.context.resolve(d.expr) for d in self.context.problem.definitions}
        equations = [self.context.resolve(expr) for expr in self.context.problem.equations.values()]
        # Resolving has found the one-time computations of the module.
        self._place_constants()
        in_arrays = self._needed_as_arrays(definitions, equations)
        for name, expr in definitions.items():
            self._define(name, expr, name in in_arrays)
        self._equations(equations)
        inner = [*head, *self.body, "return nothing"]
        return "\n".join(["function rhs!(dy, y, p, t)", *("    " + line for line in inner), "end", ""])

    def _unpack(self) -> list[str]:
        """Scalars get names; arrays stay in place, and their places are noted."""
        problem, names = self.context.problem, self.context.names
        lines: list[str] = []
        for array, quantities in (("p", problem.parameters), ("y", problem.states)):
            start = 0
            for quantity in quantities:
                name = symbol(quantity.name)
                if quantity.shape == ():
                    lines.append(f"{names[name]} = {array}[{start + 1}]")
                elif array == "p" and quantity.name in self.context.itemised:
                    items = [element_symbol(quantity.name, i).name for i in range(quantity.shape[0])]
                    lines += [f"{item} = p[{start + i}]" for i, item in enumerate(items, start=1)]
                else:
                    self.arrays[name] = FlatArray(array, start, quantity.shape)
                start += _size(quantity.shape)
        return lines

    def _place_constants(self) -> None:
        """The module's constants: vectors, matrices, coordinates and values computed from them once."""
        problem, names = self.context.problem, constant_names(self.context)
        shapes = {symbol(constant.name): constant.shape for constant in problem.constants}
        shapes |= {symbol(name): matrix.shape for name, matrix in problem.matrices.items()}
        shapes |= dict.fromkeys(self.context.statics.values(), problem.grid_shape)
        self.shapes |= shapes
        self.arrays |= {name: FlatArray(names[name], 0, shape) for name, shape in shapes.items()}
        for axis, grid in enumerate(problem.grids):
            name = symbol(grid.name)
            self.arrays[name] = FlatArray(names[name], 0, problem.grid_shape, axis)

    def _needed_as_arrays(self, definitions: dict[Symbol, Node], equations: list[Node]) -> set[Symbol]:
        """The definitions that are needed at another element than the loop's own, and that are not cheap."""
        cheap: set[Symbol] = set()
        for name, expr in definitions.items():
            if is_elementwise(expr) and expr.free_symbols & definitions.keys() <= cheap:
                cheap.add(name)
        needed: set[Symbol] = set()
        for expr in (*definitions.values(), *equations):
            for node in expr.atoms(*_ELSEWHERE):
                inside = {name for name in node.free_symbols & definitions.keys() if self._shape(name)}
                needed |= inside if isinstance(node, Item) else inside - cheap
        return needed

    def _define(self, name: Symbol, expr: Node, in_array: bool) -> None:
        value = self._lift(expr)
        if not self._shape(name):
            self.body.append(f"{self.context.names[name]} = {self._code(value)}")
        elif in_array:
            self._fill(name, value)
        else:
            self.inlined[name] = value

    def _equations(self, equations: list[Node]) -> None:
        """One loop for neighbouring states of the same shape; scalars have a line each."""
        start = 0
        loops: list[tuple[Shape, list[tuple[str, Node]]]] = []
        for state, expr in zip(self.context.problem.states, equations, strict=True):
            value = self._lift(expr)
            target = FlatArray("dy", start, state.shape)
            if not state.shape:
                self.body.append(f"dy[{start + 1}] = {self._code(value)}")
            else:
                code = target.element(AXES[: len(state.shape)])
                if not loops or loops[-1][0] != state.shape:
                    loops.append((state.shape, []))
                loops[-1][1].append((code, value))
            start += state.size
        for shape, targets in loops:
            self._loop(shape, targets)

    def _loop(self, shape: Shape, targets: list[tuple[str, Node]]) -> None:
        body = Body(shape, self.arrays, self.inlined, self.context.problem.grids, self._names())
        indices = ", ".join(f"{axis} in 1:{n}" for axis, n in zip(AXES, shape, strict=False))
        self.body += [f"@inbounds for {indices}", *body.lines(targets, "    "), "end"]

    def _fill(self, name: Symbol, value: Node) -> None:
        """A new array with the value of an expression."""
        shape = self._shape(name)
        self._new(name, shape)
        self._loop(shape, [(self.arrays[name].element(AXES[: len(shape)]), value)])

    def _new(self, name: Symbol, shape: Shape) -> None:
        # Its elements have the plain name in the loops that read them.
        variable = f"{self._names()[name]}_values"
        self.arrays[name] = FlatArray(variable, 0, shape)
        self.shapes[name] = shape
        self.body.append(f"{variable} = similar(dy, {_size(shape)})")

    def _lift(self, expr: Node) -> Node:
        """The expression with everything computed beforehand that a loop over its elements cannot compute itself."""
        if expr in self.lifted:
            return self.lifted[expr]
        match expr:
            case Item():
                array, *indices = expr.args
                return self._text(self.arrays[array].fixed(tuple(int(index) for index in indices)))
            case Total():
                return self._total(expr, self._lift(expr.args[0]))
            case Dot():
                return self._total(expr, self._lift(expr.args[0]) * self._lift(expr.args[1]))
            case IndexedSum() if not self._shape(expr):
                body = expr.args[0]
                return self._total(expr, self._lift(body.xreplace({at: at.args[0] for at in body.atoms(At)})))
            case TridiagonalSolve():
                return self._solve(expr)
            case Laplacian() | Difference() | Shift() | MatrixProduct():
                at = 1 if isinstance(expr, MatrixProduct) else 0
                operand = self._lift(expr.args[at])
                if not is_elementwise(operand):
                    operand = self._array(operand)
                return expr.func(*expr.args[:at], operand, *(self._lift(part) for part in expr.args[at + 1 :]))
            case _:
                return expr.func(*(self._lift(part) for part in expr.args)) if expr.args else expr

    def _total(self, expr: Node, value: Node) -> Symbol:
        """The sum of all elements, by a separate loop."""
        total = self._fresh("total")
        self.lifted[expr] = total
        self.body.append(f"{total.name} = zero(eltype(dy))")
        shape = self._shape(value)
        body = Body(shape, self.arrays, self.inlined, self.context.problem.grids, self._names())
        indices = ", ".join(f"{axis} in 1:{n}" for axis, n in zip(AXES, shape, strict=False))
        lines = body.lines([("term", value)], "    ")
        self.body += [f"@inbounds for {indices}", *lines, f"    {total.name} += term", "end"]
        return total

    def _array(self, value: Node) -> Symbol:
        array = self._fresh("operand")
        self.shapes[array] = self._shape(value)
        self._fill(array, value)
        return array

    def _solve(self, expr: Node) -> Symbol:
        """The solution of a tridiagonal system, in the array of its right-hand side."""
        shape = self._shape(expr)
        names = [self._fresh(name) for name in ("lower", "diagonal", "upper", "solution")]
        self.lifted[expr] = names[-1]
        values = [self._lift(part) for part in expr.args]
        targets: list[tuple[str, Node]] = []
        for name, value in zip(names, values, strict=True):
            self._new(name, shape)
            targets.append((self.arrays[name].element(AXES[:1]), value))
        self._loop(shape, targets)
        lower, diagonal, upper, solution = (self.arrays[name].array for name in names)
        self.body.append(f"solve_tridiagonal!({solution}, {lower}, {diagonal}, {upper})")
        return names[-1]

    def _fresh(self, name: str) -> Symbol:
        taken = set(self.context.names.values()) | {known.name for known in self.shapes} | set(self.texts.values())
        unique, number = name, 2
        while unique in taken:
            unique, number = f"{name}_{number}", number + 1
        fresh = Symbol(unique, real=True)
        self.texts[fresh] = unique
        return fresh

    def _text(self, code: str) -> Symbol:
        fixed = Symbol(f"_text_{code}", real=True)
        self.texts[fixed] = code
        return fixed

    def _names(self) -> dict[Symbol, str]:
        return self.context.names | self.texts

    def _code(self, expr: Node) -> str:
        return JuliaPrinter(self.context.target, self._names(), {}).code(expr)

    def _shape(self, expr: Node) -> Shape:
        return shape_of(expr, self.shapes)


def _size(shape: Shape) -> int:
    return int(sympy.prod(shape)) if shape else 1

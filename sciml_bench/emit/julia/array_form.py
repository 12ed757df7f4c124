"""``rhs(y, p, t)`` of problems with networks: array operations that give a new vector, as Zygote wants them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import sympy
from sympy import Symbol

from sciml_bench.emit.context import Context, size_of
from sciml_bench.emit.julia.constants import constant_names, vector
from sciml_bench.emit.julia.printer import JuliaPrinter
from sciml_bench.emit.statements import straight_line
from sciml_bench.errors import UsageError
from sciml_bench.problem.model import Problem, symbol, to_double
from sciml_bench.problem.operators import (
    ARRAY_OPERATORS,
    MIRRORED,
    OF_NETWORKS,
    PERIODIC,
    At,
    Difference,
    IndexedSum,
    Item,
    Laplacian,
    NetworkOutput,
    Node,
    Shift,
    TridiagonalSolve,
)
from sciml_bench.problem.shapes import Shape, shape_of

_REFUSED = (TridiagonalSolve, IndexedSum, At)


def array_function(context: Context) -> tuple[str, list[str]]:
    """The source of ``rhs(y, p, t)``, with ``p`` a ``ComponentVector``, and the constants that it reads.

    Raises:
        UsageError: beside its networks the problem has an operator that has no array operation in Julia.
    """
    refused = [node for expr in context.all_expressions() for node in expr.atoms(*_REFUSED)]
    if refused:
        told = "indexed sums" if isinstance(refused[0], At | IndexedSum) else "solves of tridiagonal systems"
        raise UsageError(f"'{context.problem.name}' has networks and {told}, which are not emitted to Julia together")
    form = _ArrayForm(context)
    source = form.source()
    lines = [f"const {name} = {code}" for code, name in form.places.items()]
    comment = ["# Where the elements that lie some places further along an axis are found."] if lines else []
    return source, [*array_constants(context), *comment, *lines]


def array_constants(context: Context) -> list[str]:
    """The module's constants: as in :mod:`constants`, but coordinates have the shape of the fields."""
    problem, names = context.problem, constant_names(context)
    lines = [f"const {names[symbol(c.name)]} = {vector([to_double(v) for v in c.values])}" for c in problem.constants]
    for name, matrix in problem.matrices.items():
        rows = "; ".join(" ".join(repr(to_double(v)) for v in matrix.row(i)) for i in range(matrix.rows))
        lines.append(f"const {names[symbol(name)]} = [{rows}]")
    used = {s.name for expr in context.all_expressions() for s in expr.free_symbols}
    if any(grid.name in used for grid in problem.grids):
        axes = [f"range({to_double(g.first)!r}, {to_double(g.last)!r}, {g.points})" for g in problem.grids]
        for grid, variable in zip(problem.grids, ("a", "b"), strict=False):
            # The last index of a field runs fastest, as the first one of an array of Julia does.
            loops = ", ".join(f"{v} in {axis}" for v, axis in reversed(list(zip(("a", "b"), axes, strict=False))))
            lines.append(f"const {names[symbol(grid.name)]} = [{variable} for {loops}]")
    shapes = _constant_shapes(context)
    for expression, static in context.statics.items():
        code = _ArrayPrinter(context, context.names | names, shapes).elementwise(expression)
        lines.append(f"const {names[static]} = {code}")
    return lines


def _constant_shapes(context: Context) -> dict[Symbol, Shape]:
    problem = context.problem
    shapes = {symbol(constant.name): constant.shape for constant in problem.constants}
    shapes |= {symbol(name): matrix.shape for name, matrix in problem.matrices.items()}
    shapes |= {symbol(grid.name): problem.grid_shape for grid in problem.grids}
    return shapes | dict.fromkeys(context.statics.values(), problem.grid_shape)


@dataclass
class _ArrayForm:
    """One emission: the statements so far, each an operator applied to arrays or an elementwise expression."""

    context: Context
    shapes: dict[Symbol, Shape] = field(default_factory=dict[Symbol, Shape])
    lifted: dict[Node, Symbol] = field(default_factory=dict[Node, Symbol])
    named: list[tuple[Symbol, Node]] = field(default_factory=list[tuple[Symbol, Node]])
    places: dict[str, str] = field(default_factory=dict[str, str])

    def source(self) -> str:
        """The whole function."""
        problem = self.context.problem
        definitions = [(symbol(d.name), self.context.resolve(d.expr)) for d in problem.definitions]
        equations = [self.context.resolve(expr) for expr in problem.equations.values()]
        self.shapes = dict(problem.shapes) | _constant_shapes(self.context)
        for name, expr in definitions:
            self.named.append((name, self._lift(expr)))
        lifted = [self._lift(expr) for expr in equations]
        program = straight_line(self.named, lifted, avoid=self._taken()).needed()
        printer = _ArrayPrinter(self.context, self.context.names | constant_names(self.context), self.shapes)
        printer.places = self.places
        body: list[str] = []
        for statement in program.statements:
            self.shapes[statement.symbol] = shape_of(statement.expr, self.shapes)
            body.append(f"{printer.code(statement.symbol)} = {printer.value(statement.expr)}")
        body.append(f"return {self._packed(list(program.outputs), printer)}")
        lines = [*_unpacked(problem, self.context, "\n".join(body)), *body]
        return "\n".join(["function rhs(y, p, t)", *(f"    {line}" for line in lines), "end", ""])

    def _lift(self, expr: Node) -> Node:
        """The expression with operators on arrays taken out as statements, so that the rest is elementwise."""
        if expr in self.lifted:
            return self.lifted[expr]
        if not expr.args:
            return expr
        expanded = _neighbours(expr, self.context.problem)
        if expanded is not expr:
            return self._lift(expanded)
        lifted = expr.func(*(self._lift(part) for part in expr.args))
        if isinstance(expr, Item) or not isinstance(expr, ARRAY_OPERATORS):
            return lifted
        name = self._fresh(_name_of(expr, self.context))
        self.lifted[expr] = name
        self.shapes[name] = shape_of(lifted, self.shapes)
        self.named.append((name, lifted))
        return name

    def _fresh(self, base: str) -> Symbol:
        taken, number = self._taken(), 1
        while f"{base}_{number}" in taken:
            number += 1
        return Symbol(f"{base}_{number}", real=True)

    def _taken(self) -> set[str]:
        return set(self.context.names.values()) | {known.name for known in self.shapes}

    def _packed(self, outputs: list[Node], printer: _ArrayPrinter) -> str:
        """The derivatives of all states as one vector."""
        states = self.context.problem.states
        if all(state.shape == () for state in states):
            codes = [printer.value(output) for output in outputs]
            joined = ", ".join(codes)
            return f"[{joined}]" if len(joined) <= 90 else "[\n        " + ",\n        ".join(codes) + ",\n    ]"
        parts = [printer.flat(output, state.shape) for output, state in zip(outputs, states, strict=True)]
        return parts[0] if len(parts) == 1 else f"[{'; '.join(parts)}]"


def _name_of(expr: Node, context: Context) -> str:
    if isinstance(expr, OF_NETWORKS):
        return f"{context.names[expr.args[0]]}{'' if isinstance(expr, NetworkOutput) else '_slope'}"
    return {"Shift": "shifted", "MatrixProduct": "product"}.get(type(expr).__name__, "total")


def _neighbours(expr: Node, problem: Problem) -> Node:
    """Differences over a grid in terms of shifted fields; everything else as it is."""
    match expr:
        case Laplacian():
            u, *edges = expr.args
            total: Node = sympy.S.Zero
            for axis, (edge, grid) in enumerate(zip(edges, problem.grids, strict=True)):
                ahead, behind = _shifts(u, axis, edge)
                total += (ahead - 2 * u + behind) / grid.step**2
            return total
        case Difference():
            u, axis, edge = expr.args
            step = problem.grids[int(axis)].step
            ahead, behind = _shifts(u, axis, edge)
            return (ahead - behind) / (2 * step)
        case Shift() if expr.args[1] == 0:
            return expr.args[0]
        case _:
            return expr


def _shifts(u: Node, axis: Node, edge: Node) -> tuple[Node, Node]:
    return Shift(u, 1, axis, edge), Shift(u, -1, axis, edge)


def _unpacked(problem: Problem, context: Context, body: str) -> list[str]:
    """Lines that give the parts of the flat state and of the parameters that the body reads their names."""
    used = set(re.findall(r"[^\W\d]\w*", body))
    lines: list[str] = []
    for parameter in problem.parameters:
        name = context.names[symbol(parameter.name)]
        if parameter.name not in context.itemised and name in used:
            lines.append(f"{name} = p.{parameter.name}")
        elif parameter.name in context.itemised:
            items = [f"{parameter.name}_{i}" for i in range(parameter.shape[0])]
            lines += [f"{item} = p.{parameter.name}[{i}]" for i, item in enumerate(items, start=1) if item in used]
    start = 1
    for state in problem.states:
        name = context.names[symbol(state.name)]
        if name in used:
            lines.append(f"{name} = {_part(state.shape, start, len(problem.states) == 1)}")
        start += state.size
    return lines


def _part(shape: Shape, start: int, whole: bool) -> str:
    if not shape:
        return f"y[{start}]"
    part = "y" if whole else f"y[{start}:{start + size_of(shape) - 1}]"
    return part if len(shape) == 1 else f"reshape({part}, {shape[1]}, {shape[0]})"


class _ArrayPrinter(JuliaPrinter):
    """Elementwise expressions by ``@.``, operators as calls."""

    def __init__(self, context: Context, names: dict[Symbol, str], shapes: dict[Symbol, Shape]):
        super().__init__(context.target, names, shapes)
        self.context = context
        self.places: dict[str, str] = {}
        self._starts: dict[Symbol, int] = {}
        start = 1
        for state in context.problem.states:
            if state.shape == ():
                self._starts[symbol(state.name)] = start
            start += state.size

    def value(self, expr: Node) -> str:
        """The code of a statement's right-hand side."""
        return self.elementwise(expr) if self._is_compound(expr) and not self._is_linear(expr) else self.code(expr)

    def elementwise(self, expr: Node) -> str:
        """The same of an expression that is evaluated for each element."""
        return f"@. {self.code(expr) if isinstance(expr, sympy.Expr) else self.condition(expr)}"

    def operand(self, expression: Node) -> str:
        """The code of an argument."""
        code = self.code(expression)
        return f"@.({code})" if self._is_compound(expression) and not self._is_linear(expression) else code

    def factor(self, expression: Node) -> str:
        """The code of an array that an operator or an index follows or precedes."""
        code = self.operand(expression)
        return f"({code})" if self._is_compound(expression) and self._is_linear(expression) else code

    def flat(self, expr: Node, shape: Shape) -> str:
        """The code of a part of the flat result."""
        if self.shape(expr) != shape:
            return f"fill({self.code(expr)}, {size_of(shape)})"
        if len(shape) == 2:
            return f"vec({self.operand(expr)})"
        return self.operand(expr)

    def _is_linear(self, expr: Node) -> bool:
        """Whether an array is a sum of arrays times scalars: vectors of Julia have these operators without dots.

        A tape of ReverseDiff has an operation for each; of an expression with dots, arrays and tracked scalars it
        makes one that takes a thousand times as long.
        """
        if not self.shape(expr):
            return False
        if isinstance(expr, (Symbol, *ARRAY_OPERATORS)):
            return True
        arrays = [part for part in expr.args if self.shape(part)]
        if isinstance(expr, sympy.Add):
            return len(arrays) == len(expr.args) and all(self._is_linear(part) for part in arrays)
        return isinstance(expr, sympy.Mul) and len(arrays) == 1 and self._is_linear(arrays[0])

    def _is_compound(self, expr: Node) -> bool:
        return bool(self.shape(expr)) and not isinstance(expr, (Symbol, *ARRAY_OPERATORS))

    def _print_Where(self, expr: Any) -> str:
        if not self.shape(expr):
            return super()._print_Where(expr)
        condition, a, b = expr.args
        return f"ifelse({self.condition(condition)}, {self.code(a)}, {self.code(b)})"

    def _print_Item(self, expr: Any) -> str:
        array, *indices = expr.args
        return f"{self.code(array)}[{', '.join(str(int(index) + 1) for index in reversed(indices))}]"

    def _print_Total(self, expr: Any) -> str:
        return f"sum({self.operand(expr.args[0])})"

    def _print_Dot(self, expr: Any) -> str:
        return f"sum({self.factor(expr.args[0])} .* {self.factor(expr.args[1])})"

    def _print_MatrixProduct(self, expr: Any) -> str:
        return f"{self.code(expr.args[0])}*{self.factor(expr.args[1])}"

    def _print_NetworkOutput(self, expr: Any) -> str:
        network, *arguments = expr.args
        name = self.code(network)
        if self.context.problem.shapes[network]:
            return f"{name}({self._inputs(arguments)}, p.{network.name})"
        shape = self.shape(expr)
        rows = [self._row(argument, shape) for argument in arguments]
        inputs = rows[0] if len(rows) == 1 else f"[{'; '.join(rows)}]"
        size = ", ".join(str(n) for n in reversed(shape))
        values = f"{name}({inputs}, p.{network.name})"
        return f"vec({values})" if len(shape) == 1 else f"reshape({values}, {size})"

    def _print_NetworkGradient(self, expr: Any) -> str:
        network, *arguments = expr.args
        return f"gradient_{self.code(network)}({self._inputs(arguments)}, p.{network.name})"

    def _print_NetworkDivergence(self, expr: Any) -> str:
        network, *arguments = expr.args
        return f"divergence_{self.code(network)}({self._inputs(arguments)}, p.{network.name})"

    def _row(self, argument: Node, shape: Shape) -> str:
        """An input of a pointwise network, a column for each element."""
        count = size_of(shape)
        if self.shape(argument):
            return f"reshape({self.operand(argument)}, 1, {count})"
        return f"fill({self.code(argument)}, 1, {count})"

    def _inputs(self, arguments: list[Node]) -> str:
        """The inputs of a network as one vector; states that lie side by side are a part of the flat state."""
        parts: list[tuple[str, bool]] = []
        rest = list(arguments)
        while rest:
            count = self._neighbouring(rest)
            if count > 1:
                start = self._starts[rest[0]]
                whole = count == self.context.problem.n_states
                parts.append(("y" if whole else f"y[{start}:{start + count - 1}]", True))
                rest = rest[count:]
            else:
                parts.append((self.operand(rest[0]), bool(self.shape(rest[0]))))
                rest = rest[1:]
        if len(parts) == 1 and parts[0][1]:
            return parts[0][0]
        separator = "; " if any(is_vector for _, is_vector in parts) else ", "
        return f"[{separator.join(code for code, _ in parts)}]"

    def _neighbouring(self, arguments: list[Node]) -> int:
        """How many of the first arguments are scalar states one after the other."""
        count = 0
        for count, argument in enumerate(arguments):
            if argument not in self._starts or self._starts[argument] != self._starts[arguments[0]] + count:
                return count
        return count + 1

    def _print_Shift(self, expr: Any) -> str:
        """Elements further along an axis, by their places: that is one operation also on the tape of ReverseDiff."""
        moved, places, axis, edge = expr.args
        code, shape, k = self.factor(moved), self.shape(moved), int(places)
        dimension, n, size = len(shape) - int(axis), shape[int(axis)], abs(int(places))
        kept = f"{1 + size}:{n}" if k > 0 else f"1:{n - size}"
        beyond = ""
        if edge == PERIODIC:
            beyond = f"1:{size}" if k > 0 else f"{n + 1 - size}:{n}"
        elif edge == MIRRORED:
            beyond = f"fill({n if k > 0 else 1}, {size})"
        if beyond:
            parts = f"[{kept}; {beyond}]" if k > 0 else f"[{beyond}; {kept}]"
            kept = self.places.setdefault(parts, f"PLACES_{len(self.places) + 1}")
        before = ":, " if dimension == 2 else ""
        after = ", :" if len(shape) == 2 and dimension == 1 else ""
        part = f"{code}[{before}{kept}{after}]"
        return part if beyond else self._beyond(part, edge, shape, dimension, k)

    def _beyond(self, kept: str, edge: Node, shape: Shape, dimension: int, k: int) -> str:
        """What is left of a shifted field, with a value where nothing comes from beyond the end."""
        value, size = self.code(edge), abs(k)
        other = "" if len(shape) == 1 else f", {shape[0]}" if dimension == 1 else f"{shape[1]}, "
        filled = f"fill({value}, {other}{size})" if dimension == 2 else f"fill({value}, {size}{other})"
        join = "hcat" if dimension == 2 else "vcat"
        return f"{join}({kept}, {filled})" if k > 0 else f"{join}({filled}, {kept})"

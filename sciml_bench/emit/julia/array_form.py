"""``rhs(y, p, t)`` of problems with networks: array operations that give a new vector, as Zygote wants them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import sympy
from sympy import Symbol

from sciml_bench.emit.context import Context, element_symbol, size_of
from sciml_bench.emit.julia.array_printer import ArrayPrinter
from sciml_bench.emit.julia.constants import constant_names, vector
from sciml_bench.emit.julia.controls import slope_arguments
from sciml_bench.emit.symbolic.statements import straight_line
from sciml_bench.errors import UsageError
from sciml_bench.spec.language.operators import (
    ARRAY_OPERATORS,
    OF_NETWORKS,
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
from sciml_bench.spec.language.shapes import Shape, shape_of
from sciml_bench.spec.model import Problem, symbol, to_double
from sciml_bench.spec.quantities import Definition

_REFUSED = (TridiagonalSolve, IndexedSum, At)
_NAMES = {"Shift": "shifted", "MatrixProduct": "product", "MatrixOf": "product", "ControlSlope": "slope"}


def array_function(context: Context) -> tuple[str, list[str]]:
    """The source of ``rhs(y, p, t)``, with ``p`` a ``ComponentVector``, and the constants that it reads.

    Raises:
        UsageError: beside its networks the problem has an operator that has no array operation in Julia.
    """
    refused = [node for expr in context.all_expressions() for node in expr.atoms(*_REFUSED)]
    if refused:
        told = "indexed sums" if isinstance(refused[0], At | IndexedSum) else "solves of tridiagonal systems"
        raise UsageError(f"'{context.problem.name}' has networks and {told}, which are not emitted to Julia together")
    form = ArrayForm(context)
    source = _right_hand_side(context, form)
    lines = [f"const {name} = {code}" for code, name in form.places.items()]
    comment = ["# Where the elements that lie some places further along an axis are found."] if lines else []
    return source, [*array_constants(context), *comment, *lines]


def array_constants(context: Context) -> list[str]:
    """The module's constants: as in :mod:`.constants`, but coordinates have the shape of the fields."""
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
        code = ArrayPrinter(context, context.names | names, shapes).elementwise(expression)
        lines.append(f"const {names[static]} = {code}")
    return lines


def _constant_shapes(context: Context) -> dict[Symbol, Shape]:
    problem = context.problem
    shapes = {symbol(constant.name): constant.shape for constant in problem.constants}
    shapes |= {symbol(name): matrix.shape for name, matrix in problem.matrices.items()}
    shapes |= {symbol(grid.name): problem.grid_shape for grid in problem.grids}
    return shapes | dict.fromkeys(context.statics.values(), problem.grid_shape)


def _right_hand_side(context: Context, form: ArrayForm) -> str:
    problem = context.problem
    body, printer, outputs = form.statements(problem.definitions, list(problem.equations.values()))
    body.append(f"return {form.packed(outputs, printer)}")
    text = "\n".join(body)
    lines = [*parameter_lines(context, text), *state_lines(context, text), *body]
    head = f"function rhs({', '.join(['y', 'p', 't', *slope_arguments(context)])})"
    return "\n".join([head, *(f"    {line}" for line in lines), "end", ""])


@dataclass
class ArrayForm:
    """One function: its statements so far, each an operator applied to arrays or an elementwise expression."""

    context: Context
    shapes: dict[Symbol, Shape] = field(default_factory=dict[Symbol, Shape])
    lifted: dict[Node, Symbol] = field(default_factory=dict[Node, Symbol])
    named: list[tuple[Symbol, Node]] = field(default_factory=list[tuple[Symbol, Node]])
    places: dict[str, str] = field(default_factory=dict[str, str])

    def statements(
        self, definitions: Sequence[Definition], expressions: Sequence[Node]
    ) -> tuple[list[str], ArrayPrinter, list[Node]]:
        """Lines that compute what the expressions need, a printer that knows their symbols, and the expressions in
        terms of these."""
        self.shapes = dict(self.context.problem.shapes) | _constant_shapes(self.context)
        for definition in definitions:
            self._define(symbol(definition.name), self.context.resolve(definition.expr))
        lifted = [self._lift(self.context.resolve(expr)) for expr in expressions]
        program = straight_line(self.named, lifted, avoid=self._taken()).needed()
        printer = ArrayPrinter(self.context, self.context.names | constant_names(self.context), self.shapes)
        printer.places = self.places
        body: list[str] = []
        for statement in program.statements:
            self.shapes[statement.symbol] = shape_of(statement.expr, self.shapes)
            body.append(f"{printer.code(statement.symbol)} = {printer.value(statement.expr)}")
        return body, printer, list(program.outputs)

    def _define(self, name: Symbol, expr: Node) -> None:
        """A definition that is an operator's value gives that its name."""
        if isinstance(expr, ARRAY_OPERATORS) and not isinstance(expr, Item) and expr not in self.lifted:
            expanded = _neighbours(expr, self.context.problem)
            if expanded is expr:
                self.named.append((name, expr.func(*(self._lift(part) for part in expr.args))))
                self.lifted[expr] = name
                return
        self.named.append((name, self._lift(expr)))

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

    def packed(self, outputs: list[Node], printer: ArrayPrinter) -> str:
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
    return _NAMES.get(type(expr).__name__, "total")


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


def parameter_lines(context: Context, body: str) -> list[str]:
    """Lines that assign the parameters to their names, for the names that a body reads."""
    used, lines = _words(body), list[str]()
    for parameter in context.problem.parameters:
        name = context.names[symbol(parameter.name)]
        if parameter.name not in context.itemised and name in used:
            lines.append(f"{name} = p.{parameter.name}")
        elif parameter.name in context.itemised:
            items = [element_symbol(parameter.name, i).name for i in range(parameter.shape[0])]
            lines += [f"{item} = p.{parameter.name}[{i}]" for i, item in enumerate(items, start=1) if item in used]
    return lines


def state_lines(context: Context, body: str) -> list[str]:
    """Lines that assign the parts of the flat state to their names, for the names that a body reads."""
    used, lines, start = _words(body), list[str](), 1
    states = context.problem.states
    for state in states:
        name = context.names[symbol(state.name)]
        if name in used:
            lines.append(f"{name} = {_part(state.shape, start, len(states) == 1)}")
        start += state.size
    return lines


def _words(body: str) -> set[str]:
    return set(re.findall(r"[^\W\d]\w*", body))


def _part(shape: Shape, start: int, whole: bool) -> str:
    if not shape:
        return f"y[{start}]"
    part = "y" if whole else f"y[{start}:{start + size_of(shape) - 1}]"
    return part if len(shape) == 1 else f"reshape({part}, {shape[1]}, {shape[0]})"

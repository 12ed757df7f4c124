"""Shared parts of the functions of one emitted module: names, shapes, constants, unpacking of flat arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import sympy
from sympy import Symbol
from sympy.core.parameters import distribute

from sciml_bench.emit.operators import AS_MATRIX, AS_TENSOR, SPREAD
from sciml_bench.emit.printer import Printer
from sciml_bench.emit.symbolic.statements import PairTable
from sciml_bench.emit.targets import TARGETS, Target
from sciml_bench.spec.language.operators import ARRAY_OPERATORS, Item, Node
from sciml_bench.spec.language.rebuilding import rebuilt, replaced
from sciml_bench.spec.language.shapes import Shape
from sciml_bench.spec.model import Problem, symbol, to_double
from sciml_bench.spec.quantities import Parameter

_RESERVED = {
    "t", "y", "p", "ys", "dy", "np", "jnp", "torch", "tf", "math", "sparse", "abs", "rhs", "loss", "jacobian",
    "parameter_jacobian", "linearised", "f", "j", "f_p", "loss_gradient", "explicit_terms", "implicit_terms",
    "laplacian", "solve_tridiagonal", "N_STATES", "N_PARAMETERS", "LOSS_SCALE", "LOSS_TARGET", "as_matrix",
    "spread", "J", "nn", "eqx", "jax", "gradient_of", "divergence", "events", "event_slopes", "EVENTS", "residual",
}  # fmt: skip

_RESERVED_AROUND = {
    "GIVEN", "ONES", "RHS_NETWORKS", "initial_state", "observed", "seen", "scores", "penalty", "Recurrent", "arguments",
    "filled", "networks", "Callable",
    "controls", "diffrax", "drift", "diffusion", "brownian_motions",
}  # fmt: skip


@dataclass
class Context:
    """The state of one emission. Module constants are collected while functions are printed."""

    problem: Problem
    target: Target
    names: dict[Symbol, str]
    shapes: dict[Symbol, Shape]
    itemised: dict[str, Parameter]
    statics: dict[Node, Symbol] = field(default_factory=dict)
    tables: dict[str, PairTable] = field(default_factory=dict)
    matrices: dict[str, str] = field(default_factory=dict)
    constant_names: dict[str, str] = field(default_factory=dict)
    own_names: set[str] = field(default_factory=set)
    extra_imports: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, problem: Problem, target: Target) -> Context:
        """The context of a problem for a target."""
        itemised = {parameter.name: parameter for parameter in problem.parameters if _only_items(problem, parameter)}
        context = cls(problem, target, {}, dict(problem.shapes), itemised)
        context.names = _names(problem, target)
        return context

    @property
    def loss_row(self) -> list[str]:
        """The name of the row that the observed values read, if they read any."""
        loss = self.problem.loss
        return [self.names[loss.row]] if loss.reads else []

    def printer(self) -> Printer:
        """A printer with its own table of shapes, for the statements of one function."""
        problem = self.problem
        same = {symbol("t")} | {symbol(q.name) for q in (*problem.parameters, *problem.constants)}
        same |= {element_symbol(name, i) for name, vector in self.itemised.items() for i in range(vector.shape[0])}
        return Printer(self.target, self.names, dict(self.shapes), same)

    def resolve(self, expression: Node) -> Node:
        """The expression with constant elements put in and what never changes moved to the module."""
        with distribute(False):
            return self._hoist(self._elements(expression))

    def all_expressions(self) -> list[Node]:
        """Every expression of the problem: of its right-hand side, and of computations around the solve."""
        return _expressions(self.problem)

    def _elements(self, expression: Node) -> Node:
        vectors = {symbol(constant.name): constant for constant in self.problem.constants}
        elements: dict[Node, Node] = {}
        for item in expression.atoms(Item):
            array, *indices = item.args
            if array in vectors:
                elements[item] = vectors[array].values[int(indices[0])]
            elif isinstance(array, Symbol) and array.name in self.itemised:
                elements[item] = element_symbol(array.name, int(indices[0]))
        return replaced(expression, elements) if elements else expression

    def _hoist(self, expression: Node) -> Node:
        """Replace maximal parts that hold only coordinates and constants by arrays computed once."""
        static = {symbol(grid.name) for grid in self.problem.grids} | {symbol(c.name) for c in self.problem.constants}
        free = expression.free_symbols & {symbol(grid.name) for grid in self.problem.grids}
        if not free:
            return expression
        operators = expression.has(*ARRAY_OPERATORS)
        if expression.free_symbols <= static and not operators:
            return expression if isinstance(expression, Symbol) else self._static(expression)
        arguments = list(expression.args)
        if isinstance(expression, sympy.Add | sympy.Mul | sympy.And | sympy.Or):
            fixed = [
                a for a in arguments if a.free_symbols and a.free_symbols <= static and not a.has(*ARRAY_OPERATORS)
            ]
            if len(fixed) > 1:
                arguments = [a for a in arguments if a not in fixed] + [expression.func(*fixed)]
        return rebuilt(expression, [self._hoist(argument) for argument in arguments])

    def _static(self, expression: Node) -> Symbol:
        if expression not in self.statics:
            static = Symbol(f"STATIC__{len(self.statics)}", real=True)
            self.statics[expression] = static
            self.shapes[static] = self.problem.grid_shape
        return self.statics[expression]

    def declare_tables(self, tables: tuple[PairTable, ...]) -> None:
        """Make the module define these tables of pairs."""
        self.tables.update({table.symbol.name: table for table in tables})

    def constant_lines(self) -> list[str]:
        """Module constants: vectors, matrices, coordinates, what depends on them alone, and tables of pairs."""
        wrap = self.target.array.format
        lines = [
            f"{self.names[symbol(constant.name)]} = {wrap(_array(constant.values))}"
            for constant in self.problem.constants
        ]
        for name, matrix in self.problem.matrices.items():
            rows = ", ".join(
                "[" + ", ".join(repr(to_double(v)) for v in matrix.row(i)) + "]" for i in range(matrix.rows)
            )
            lines.append(f"{self.names[symbol(name)]} = {wrap(f'np.array([{rows}])')}")
        lines += self._coordinate_lines()
        for table in self.tables.values():
            n = table.size
            lines.append(f"# Row i of this table lists the other indices, {n - 1} of {n}.")
            lines.append(
                f"{table.symbol.name} = {wrap(f'np.array([[j for j in range({n}) if j != i] for i in range({n})])')}"
            )
        return [*([""] if lines else []), *lines]

    def _coordinate_lines(self) -> list[str]:
        used = {s.name for e in self.all_expressions() for s in e.free_symbols}
        if not any(grid.name in used for grid in self.problem.grids):
            return []
        axes = [
            f"np.linspace({to_double(grid.first)!r}, {to_double(grid.last)!r}, {grid.points})"
            for grid in self.problem.grids
        ]
        names = [self.names[symbol(grid.name)] for grid in self.problem.grids]
        if len(axes) == 1:
            lines = [f"{names[0]} = {axes[0]}"]
        else:
            lines = [f'{", ".join(names)} = np.meshgrid({", ".join(axes)}, indexing="ij")']
        printer = Printer(TARGETS["numpy"], self.names, self.shapes)
        for expression, static in self.statics.items():
            if isinstance(expression, sympy.Expr):
                code = printer.code(expression)
            else:
                code = printer._condition(expression)
            lines.append(f"{static.name} = {self.target.array.format(code)}")
        if self.target.array != "{}":
            lines += [f"{name} = {self.target.array.format(name)}" for name in names]
        return lines

    def free_name(self, name: str) -> str:
        """The name, or the first like it that the module has not; it is taken from then on."""
        while name in self._taken():
            name += "_"
        self.own_names.add(name)
        return name

    def matrix(self, name: str, definition: str) -> str:
        """The module's name for a constant of :attr:`matrices`; no other name of the module is the same."""
        if name not in self.constant_names:
            self.constant_names[name] = self.free_name(name)
            self.matrices[self.constant_names[name]] = f"{self.constant_names[name]} = {definition}"
        return self.constant_names[name]

    def _taken(self) -> set[str]:
        elements = {s.name for s in parameter_symbols(self.problem)}
        return {*self.names.values(), *elements, *_RESERVED, *self.target.reserved, *self.own_names}

    def matrix_lines(self) -> list[str]:
        """Definitions of the operators' matrices, which follow the operators themselves."""
        is_sparse = any("sparse" in line for line in self.extra_imports)
        as_matrix = AS_TENSOR if self.target.tensors else AS_MATRIX[is_sparse]
        texts = [as_matrix, "\n".join([*self.matrices.values(), ""])] if self.matrices else []
        if self.target.floats and self.tables:
            texts.append(SPREAD)
        return texts

    def unpack_parameters(self, used: set[Symbol]) -> list[str]:
        """Lines that give the flat parameters their names."""
        parameters = self.problem.parameters
        if not parameters:
            return []
        if all(parameter.shape == () or parameter.name in self.itemised for parameter in parameters):
            names = [self.names.get(item, item.name) for item in parameter_symbols(self.problem)]
            return [_unpacked(names, "{}" if self.target.floats else self.target.unpack, "p")]
        return self._slices([(q.name, q.shape) for q in parameters], "p", used)

    def unpack_state(self, used: set[Symbol]) -> list[str]:
        """Lines that give the flat state its names."""
        states = self.problem.states
        if all(state.shape == () for state in states):
            if not any(symbol(state.name) in used for state in states):
                return []
            names = [self.names[symbol(state.name)] for state in states]
            if self.target.batched and len(names) == 1:
                return [f"    {names[0]} = y[..., 0]"]
            return [_unpacked(names, self.target.unpack, "y")]
        # A state called y would hide the flat array from the slices after it, so names keep clear of y.
        return self._slices([(state.name, state.shape) for state in states], "y", used)

    def _slices(self, quantities: list[tuple[str, Shape]], array: str, used: set[Symbol]) -> list[str]:
        lines: list[str] = []
        start = 0
        for name, shape in quantities:
            size = size_of(shape)
            whole = len(quantities) == 1 and shape
            axes = "..., " if self.target.batched and array == "y" else ""
            part = array if whole else f"{array}[{axes}{start}:{start + size}]" if shape else f"{array}[{axes}{start}]"
            if len(shape) == 2:
                part = self.target.reshape.format(part, shape)
            elif shape and array == "p" and self.target.floats:
                part = f"np.asarray({part})"
            if symbol(name) in used:
                lines.append(f"    {self.names[symbol(name)]} = {part}")
            elif name in self.itemised and array == "p":
                items = [element_symbol(name, i) for i in range(size)]
                lines += [f"    {item.name} = p[{start + i}]" for i, item in enumerate(items) if item in used]
            start += size
        return lines

    def pack_state(self, outputs: Mapping[str, Node], printer: Printer) -> list[str]:
        """Lines that put the derivatives of the states together and return them."""
        states = self.problem.states
        if all(state.shape == () for state in states):
            rows = [printer.component(outputs[state.name]) for state in states]
            if self.target.floats and not self.problem.networks:
                # Python's own floats: solvers make an array of them faster than it is made here and looked at there.
                items = joined(rows)
                return [f"    return ({items}{',' * (len(rows) == 1 and not items[-1].isspace())})"]
            return [f"    return {self.target.stack.format(joined(rows))}"]
        if self.target.floats:
            return self._pack_in_place(outputs, printer)
        parts: list[str] = []
        for state in states:
            expr = outputs[state.name]
            if printer.shape(expr) == state.shape and len(state.shape) == 1:
                parts.append(printer.code(expr))
            elif printer.shape(expr) == state.shape and state.shape:
                parts.append(self.target.reshape.format(f"({printer.code(expr)})", "(-1,)"))
            else:
                parts.append(self.target.fill.format(f"({printer.operand(expr)})", f"({state.size},)"))
        whole = parts[0] if len(parts) == 1 else self.target.concatenate.format(joined(parts))
        return [f"    return {whole}"]

    def _pack_in_place(self, outputs: Mapping[str, Node], printer: Printer) -> list[str]:
        lines = ["    dy = np.empty(N_STATES)"]
        start = 0
        for state in self.problem.states:
            expr = outputs[state.name]
            place = f"dy[{start}:{start + state.size}]" if state.shape else f"dy[{start}]"
            code = printer.code(expr)
            lines.append(f"    {place} = {f'({code}).ravel()' if len(printer.shape(expr)) == 2 else code}")
            start += state.size
        return [*lines, "    return dy"]


def element_symbol(name: str, index: int) -> Symbol:
    """The scalar for one element of a vector that is read only by element.

    Names of problem files never have two underscores in a row.
    """
    return Symbol(f"{name}__{index}", real=True)


def parameter_symbols(problem: Problem) -> list[Symbol]:
    """A symbol for each number of the flat parameters, in their order; vectors are read by element."""
    return [
        item
        for parameter in problem.parameters
        for item in (
            [symbol(parameter.name)]
            if parameter.shape == ()
            else [element_symbol(parameter.name, i) for i in range(parameter.shape[0])]
        )
    ]


def size_of(shape: Shape) -> int:
    """Number of elements."""
    size = 1
    for n in shape:
        size *= n
    return size


def _expressions(problem: Problem) -> list[Node]:
    inside = [definition.expr for definition in problem.definitions] + list(problem.equations.values())
    for event in problem.events:
        inside += event.expressions
    return [*inside, *problem.latent_expressions]


def _only_items(problem: Problem, parameter: Parameter) -> bool:
    if parameter.shape == ():
        return False
    expressions = _expressions(problem)
    vector = symbol(parameter.name)
    whole = sympy.Dummy()
    for expression in expressions:
        items = {item: whole for item in expression.atoms(Item) if item.args[0] == vector}
        if vector in expression.xreplace(items).free_symbols:
            return False
    return True


def _names(problem: Problem, target: Target) -> dict[Symbol, str]:
    declared = [q.name for q in (*problem.states, *problem.parameters, *problem.constants, *problem.definitions)]
    declared += [grid.name for grid in problem.grids] + list(problem.matrices)
    declared += [network.name for network in problem.networks]
    declared += [quantity.name for quantity in (*problem.given, *problem.encoding, *problem.controls)]
    declared += [problem.loss.row.name] if problem.loss.reads else []
    reserved = _RESERVED | target.reserved | (_RESERVED_AROUND if problem.latent else frozenset())
    if problem.networks:
        # Such modules have no Jacobian, whose function has a local variable f; networks are called that.
        reserved = reserved - {"f"}
    taken = set(declared) | reserved
    names: dict[Symbol, str] = {}
    for name in declared:
        python = name
        if name in reserved:
            while python in taken:
                python += "_"
            taken.add(python)
        names[symbol(name)] = python
    return names


def _array(values: tuple[Node, ...]) -> str:
    return f"np.array([{', '.join(repr(to_double(value)) for value in values)}])"


def _unpacked(names: list[str], how: str, array: str) -> str:
    return f"    {', '.join(names)}{',' * (len(names) == 1)} = {how.format(array)}"


def joined(rows: list[str]) -> str:
    """Items of a list, in separate lines if they are long."""
    text = ", ".join(rows)
    if len(text) <= 90:
        return text
    return "\n        " + ",\n        ".join(rows) + ",\n    "

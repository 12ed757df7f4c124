"""Right-hand sides of small fields with all that is linear as one matrix, for libraries that run each operation alone.

There an operation costs microseconds whatever its size, and a stencil is five of them. Instead, the terms that are
linear in the fields (stencils and multiples) become the product of one matrix with the flat state, made of the
parameters once a solve; the other terms stay as written. A matrix of n² numbers costs more than the stencils from some
size on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import sympy
from sympy import Symbol

from sciml_bench.emit.arrays.prepared_functions import Item, function, given, prepared
from sciml_bench.emit.context import Context, parameter_symbols
from sciml_bench.emit.operators import matrix_source
from sciml_bench.emit.symbolic.statements import Program, straight_line
from sciml_bench.spec.language.operators import (
    ARRAY_OPERATORS,
    MIRRORED,
    PERIODIC,
    Difference,
    Laplacian,
    MatrixProduct,
    Node,
    Shift,
)
from sciml_bench.spec.model import Problem, symbol, to_double

LARGEST = 192
"""Most states: a gradient through a larger matrix costs more than one through the stencils of two fields."""

_STENCILS = (Laplacian, Difference, Shift)
_PLACED = '''\
def placed(blocks, places, shape):
    """The array of this shape that has these blocks in these places and is zero elsewhere; blocks in one place add."""
    whole = torch.zeros(shape, dtype=torch.float64)
    for block, place in zip(blocks, places, strict=True):
        whole[place] += block
    return whole
'''


def has_field_matrix(problem: Problem) -> bool:
    """Return whether a module of this problem may be written so."""
    around = problem.networks or problem.latent or problem.controls
    return bool(problem.grids) and not around and problem.batch.size == 1 and problem.n_states <= LARGEST


def field_right_hand_side(context: Context) -> str | None:
    """``prepared`` and ``rhs``; ``None`` where no stencil is linear in the fields, so that nothing would be won."""
    found = _Split(context)
    for row, expr in enumerate(_inlined(context)):
        found.take(row, expr)
    return found.text() if found.stencils else None


def _inlined(context: Context) -> list[Node]:
    """The right-hand sides without definitions."""
    simple: dict[Symbol, Node] = {}
    for definition in context.problem.definitions:
        simple[symbol(definition.name)] = context.resolve(definition.expr).xreplace(simple)
    return [context.resolve(expr).xreplace(simple) for expr in context.problem.equations.values()]


@dataclass
class _Parts:
    """Arrays by the factor that each is multiplied by, as lists of (code, place)."""

    by_factor: dict[Node, list[tuple[str, str]]] = field(default_factory=dict)

    def add(self, factor: Node, code: str, place: str) -> None:
        """Add a block, times a factor of numbers and parameters: one part for each product of parameters."""
        for term in sympy.Add.make_args(sympy.expand(factor)):
            number, rest = term.as_coeff_Mul()
            scaled = code if number == 1 else f"{to_double(number)!r}*{code}"
            self.by_factor.setdefault(rest, []).append((scaled, place))

    def item(self, name: str, constant: str, shape: str) -> tuple[dict[str, str], Item | None]:
        """Definitions of the constants for these parts, and what ``prepared`` makes of them."""
        parts = {factor: _placed(blocks, shape) for factor, blocks in self.by_factor.items()}
        fixed = parts.pop(sympy.S.One, None)
        constants = {} if fixed is None else {constant: fixed}
        if not parts:
            return constants, None if fixed is None else Item(name, constant)
        several = f"{constant}_BY_PARAMETER"
        constants[several] = "torch.stack([\n" + "".join(f"    {code},\n" for code in parts.values()) + "])"
        code = f"torch.tensordot(torch.stack([{{}}]), {several}, 1)"
        return constants, Item(name, code if fixed is None else f"{constant} + {code}", list(parts))


def _placed(blocks: list[tuple[str, str]], shape: str) -> str:
    codes, places = zip(*blocks, strict=True)
    return f"placed([{', '.join(codes)}], [{', '.join(places)}], {shape})"


class _Split:
    """Splits equations into linear terms in the fields, constant terms, and the rest."""

    def __init__(self, context: Context):
        self.context = context
        self.problem = context.problem
        self.stencils = 0
        self._matrix, self._offsets = _Parts(), _Parts()
        self._rest: list[Node] = []
        self._fields = {symbol(state.name): i for i, state in enumerate(self.problem.states) if state.shape}
        constants = {symbol(constant.name) for constant in self.problem.constants if constant.shape == ()}
        self._numbers = {*constants, *self._parameters()} - {symbol(q.name) for q in self.problem.parameters if q.shape}
        starts = [0]
        for state in self.problem.states:
            starts.append(starts[-1] + state.size)
        self._spans = [f"slice({a}, {b})" for a, b in pairwise(starts)]

    def take(self, row: int, expr: Node) -> None:
        """Split the right-hand side of one state."""
        rest = [term for term in sympy.Add.make_args(expr) if not self._taken(row, term, sympy.S.One)]
        self._rest.append(sympy.Add(*rest))

    def _taken(self, row: int, term: Node, factor: Node) -> bool:
        """Return whether a term times a factor is linear or constant, and so part of the matrix or of the offsets."""
        numbers = [a for a in sympy.Mul.make_args(term) if self._is_number(a)]
        others = [a for a in sympy.Mul.make_args(term) if not self._is_number(a)]
        factor = sympy.Mul(factor, *numbers)
        if not others:
            size = self.problem.states[row].size
            self._offsets.add(factor, f"torch.ones({size}, dtype=torch.float64)", self._spans[row])
            return True
        if len(others) > 1:
            return False
        [other] = others
        if isinstance(other, sympy.Add):
            # All of its terms or none: a product that is half taken would be written twice.
            return self._is_linear(row, other) and all(self._taken(row, inner, factor) for inner in other.args)
        if not self._is_linear(row, other):
            return False
        self._add(row, other, factor)
        return True

    def _is_linear(self, row: int, term: Node) -> bool:
        others = [a for a in sympy.Mul.make_args(term) if not self._is_number(a)]
        if not others:
            return True
        if len(others) > 1:
            return False
        [other] = others
        if isinstance(other, sympy.Add):
            return all(self._is_linear(row, inner) for inner in other.args)
        if other in self._fields:
            return self._has_shape(row, other)
        if isinstance(other, MatrixProduct):
            return other.args[1] in self._fields and self._has_shape(row, other)
        if not (isinstance(other, _STENCILS) and other.args[0] in self._fields and self._has_shape(row, other)):
            return False
        return all(edge in (PERIODIC, MIRRORED) or self._is_number(edge) for edge in other.args[1:])

    def _is_number(self, expr: Node) -> bool:
        return expr.free_symbols <= self._numbers and not expr.has(*ARRAY_OPERATORS)

    def _has_shape(self, row: int, term: Node) -> bool:
        of = term if term in self._fields else term.args[1] if isinstance(term, MatrixProduct) else term.args[0]
        return self.problem.states[self._fields[of]].shape == self.problem.states[row].shape

    def _add(self, row: int, term: Node, factor: Node) -> None:
        if term in self._fields:
            column = self._fields[term]
            code = f"torch.eye({self.problem.states[column].size}, dtype=torch.float64)"
        elif isinstance(term, MatrixProduct):
            column, code = self._fields[term.args[1]], self.context.names[term.args[0]]
        else:
            column = self._fields[term.args[0]]
            self.stencils += 1
            matrix, columns = matrix_source(term, self.problem.states[column].shape, "torch")
            code = self.context.matrix(*matrix)
            for name, definition, value in columns:
                if value != 0:
                    self._offsets.add(factor * value, self.context.matrix(name, definition), self._spans[row])
        self._matrix.add(factor, code, f"({self._spans[row]}, {self._spans[column]})")

    def text(self) -> str:
        """The two functions; the constants that they need become the module's."""
        context, n = self.context, self.problem.n_states
        context.matrices["placed"] = f"\n\n{_PLACED}\n"
        items: list[Item] = []
        for parts, name, constant, shape in (
            (self._matrix, "matrix", context.free_name("LINEAR"), f"({n}, {n})"),
            (self._offsets, "offsets", context.free_name("OFFSETS"), f"({n},)"),
        ):
            constants, item = parts.item(context.free_name(name), constant, shape)
            context.matrices |= {name: f"{name} = {definition}" for name, definition in constants.items()}
            items += [] if item is None else [item]
        names = [item.name for item in items]
        product = f"torch.mv({names[0]}, y)" if len(items) == 1 else f"torch.addmv({names[1]}, {names[0]}, y)"
        rest = dict(zip(self.problem.equations, self._rest, strict=True))
        taken = {*context.names.values(), *context.own_names, "given"}
        program = straight_line([], list(rest.values()), taken)
        context.declare_tables(program.pair_tables)
        used = program.symbols
        if used & set(self._parameters()):
            items.append(Item("p", "p"))
        lines = given([item.name for item in items])
        if any(expr != 0 for expr in rest.values()):
            lines += self._with_rest(program, product)
        else:
            lines.append(f"    return {product}")
        functions = [prepared(context, items, taken), function("rhs(t, y, given)", lines)]
        return "\n\n".join(functions)

    def _with_rest(self, program: Program, product: str) -> list[str]:
        """Lines that compute the nonlinear terms and add them to the product."""
        context, used = self.context, program.symbols
        lines = [*context.unpack_parameters(used)] if used & set(self._parameters()) else []
        lines += context.unpack_state(used)
        printer = context.printer()
        for statement in program.statements:
            printer.shapes[statement.symbol] = printer.shape(statement.expr)
            lines.append(f"    {printer.code(statement.symbol)} = {printer.code(statement.expr)}")
        packed = context.pack_state(dict(zip(self.problem.equations, program.outputs, strict=True)), printer)
        rest = "\n".join(packed).removeprefix("    return ")
        return [*lines, f"    return {product} + {rest}"]

    def _parameters(self) -> list[Symbol]:
        return [*parameter_symbols(self.problem), *(symbol(q.name) for q in self.problem.parameters)]

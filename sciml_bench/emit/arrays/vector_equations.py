"""Right-hand sides of scalar problems as operations on vectors, for equations that differ only in their entries.

A row of points, or of coupled oscillators, is a hundred equations of one form: a few operations on vectors compute
them at once, however many they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Symbol

from sciml_bench.emit.arrays.prepared_functions import as_tuple, function, given
from sciml_bench.emit.context import Context, joined, parameter_symbols
from sciml_bench.emit.printer import SAFE_SCALARS, Printer
from sciml_bench.emit.symbolic.signatures import Entry, Signatures
from sciml_bench.emit.symbolic.statements import Program, Statement, straight_line
from sciml_bench.emit.symbolic.vectors import Irregular, Vectors, View, as_nodes
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import symbol

FEWEST_DEFINITIONS = 8
"""Definitions of one form that become a vector; fewer are put into the equations that use them."""

STATES, PARAMETERS = Symbol("y__", real=True), Symbol("p__", real=True)
VECTOR = "vector__"


@dataclass(frozen=True)
class Rows:
    """Equations that one expression computes, by their indices."""

    indices: tuple[int, ...]
    expr: Node

    @property
    def place(self) -> str:
        """The indices as Python writes them between brackets, or nothing if they are no range."""
        return str(self.indices[0]) if len(self.indices) == 1 else _range(np.array(self.indices))


@dataclass
class VectorEquations:
    """The equations of one right-hand side, as vectors if possible."""

    vectors: Vectors
    rows: tuple[Rows, ...]
    program: Program

    @classmethod
    def of(cls, context: Context, equations: Mapping[str, Node], rule: Rule) -> VectorEquations:
        """The equations of a scalar problem, with its definitions."""
        try:
            return cls._of(context, equations, rule, exact=False)
        except Irregular:
            return cls._of(context, equations, rule, exact=True)

    @classmethod
    def _of(cls, context: Context, equations: Mapping[str, Node], rule: Rule, *, exact: bool) -> VectorEquations:
        problem = context.problem
        states, parameters = [symbol(state.name) for state in problem.states], parameter_symbols(problem)
        entries = {name: Entry(STATES, i) for i, name in enumerate(states)}
        entries |= {name: Entry(PARAMETERS, i) for i, name in enumerate(parameters)}
        signatures = Signatures(entries, {STATES: len(states), PARAMETERS: len(parameters)}, exact)
        vectors = Vectors(signatures, frozenset(parameters), rule.long_sum)
        needed = [(symbol(each.name), context.resolve(each.expr)) for each in problem.definitions]
        named = _definitions(vectors, needed)
        exprs = [context.resolve(expr) for expr in equations.values()]
        groups: dict[int, list[int]] = {}
        for row, expr in enumerate(exprs):
            groups.setdefault(signatures.of(expr), []).append(row)
        rows: list[Rows] = []
        for indices in groups.values():
            few = 2 if vectors.has_long_sum(exprs[indices[0]]) else rule.fewest_rows
            if len(indices) < few:
                rows += [Rows((row,), vectors.number(exprs[row])) for row in indices]
            else:
                rows.append(Rows(tuple(indices), vectors.of(as_nodes([exprs[i] for i in indices]), np.array(indices))))
        rows.sort(key=lambda each: each.indices)
        program = straight_line(named, [each.expr for each in rows]).needed()
        for statement in program.statements:
            vectors.shapes[statement.symbol] = vectors.shape(statement.expr)
        return cls(vectors, tuple(rows), program)


def _definitions(vectors: Vectors, named: Sequence[tuple[Symbol, Node]]) -> list[tuple[Symbol, Node]]:
    """Definitions of one form as vectors, level by level; the others are numbers, and vary as expressions."""
    signatures, found = vectors.signatures, list[tuple[Symbol, Node]]()
    level_of = dict[Symbol, int]()
    levels = list[dict[Symbol, Node]]()
    for name, expr in named:
        level_of[name] = 1 + max((level_of[other] for other in expr.free_symbols if other in level_of), default=-1)
        if level_of[name] == len(levels):
            levels.append({})
        levels[level_of[name]][name] = expr
    for level in levels:
        groups: dict[int, list[Symbol]] = {}
        for name, expr in level.items():
            groups.setdefault(signatures.of(expr), []).append(name)
        for names in groups.values():
            # Their order in the file is the order of use, often the reverse of the entries'.
            names.sort(key=lambda name: signatures.key(level[name], 0))
            expr = _as_vector(vectors, [level[name] for name in names])
            if expr is None:
                for name in names:
                    found.append((name, vectors.number(level[name])))
                    signatures.define(name, level[name])
                continue
            vector = Symbol(f"{VECTOR}{len(found)}", real=True)
            found.append((vector, expr))
            vectors.shapes[vector] = (len(names),)
            signatures.add_vector(vector, names)
    return found


def _as_vector(vectors: Vectors, exprs: Sequence[Node]) -> Node | None:
    """Expressions of one signature as a vector, if they are enough of them and differ."""
    if len(exprs) < FEWEST_DEFINITIONS:
        return None
    expr = vectors.of(as_nodes(exprs), np.array([_place(each, vectors.signatures) for each in exprs]))
    return expr if vectors.shape(expr) else None


def _place(expr: Node, signatures: Signatures) -> int:
    """The first state in an expression: its other entries are counted from there."""
    entries = (signatures.entries[name] for name in expr.free_symbols if name in signatures.entries)
    return min((entry.place for entry in entries if entry.vector == STATES), default=0)


def vector_right_hand_side(context: Context, name: str, equations: Mapping[str, Node]) -> str | None:
    """The function of this name, with the arrays that it needs; ``None`` if numbers take less."""
    rule = RULES[context.target.name]
    numbers = cost_of_numbers(context, equations, rule)
    if numbers < rule.fewest:
        return None
    found = VectorEquations.of(context, equations, rule)
    if rule.cost(found) > numbers * rule.share:
        return None
    return _Writer(context, found).function(name)


def vector_functions(context: Context) -> str:
    """``prepared`` and ``rhs``, with the arrays that they need."""
    return _Writer(context, VectorEquations.of(context, context.problem.equations, RULES["torch"])).prepared_functions()


@dataclass(frozen=True)
class Rule:
    """The conditions of using vectors. Fewer equations of one form than ``fewest_rows`` are written number by number.

    Costs are in operations of numbers: an array's ``operation`` and each ``entry`` of it, a ``slice``, each
    ``parameter`` that becomes an entry of an array, and a ``function`` of a number by the library. There must be
    ``fewest`` operations of numbers, and vectors must take less than this ``share`` of them.
    """

    operation: float = 1.0
    entry: float = 0.0
    fewest: int = 0
    share: float = 1.0
    slice: float = 1.0
    parameter: float = 0.0
    function: float = 1.0
    fewest_rows: int = 4
    long_sum: int = 8

    def cost(self, equations: VectorEquations) -> float:
        """The cost of one call."""
        expressions = [statement.expr for statement in equations.program.statements]
        expressions += equations.program.outputs
        total = float(self.operation * len(equations.rows)) if len(equations.rows) > 1 else 0.0
        if any(PARAMETERS in expr.free_symbols for expr in expressions):
            total += self.parameter * equations.vectors.signatures.sizes[PARAMETERS]
        for expr in expressions:
            for node in sympy.preorder_traversal(expr):
                if isinstance(node, View) and _range(equations.vectors.choices[int(node.args[1])]):
                    total += self.slice
                elif node.args and not node.is_number:
                    size = math.prod(equations.vectors.shape(node))
                    many = max(1, len(node.args) - 1) if isinstance(node, sympy.Add | sympy.Mul) else 1
                    total += many * (self.operation + self.entry * size if size > 1 else 1.0)
        return total


# An operation of Python's floats takes about 25 ns. JAX fuses operations of numbers as well as operations of
# arrays, but compiles each. In PyTorch each costs the same; there the code is compared, by ``operation_costs``.
RULES = {
    "numpy": Rule(28.0, 0.06, fewest=100, slice=6.0, parameter=1.0, function=35.0),
    "jax": Rule(fewest=200, share=0.25),
    "torch": Rule(fewest_rows=3, long_sum=3),
}


def cost_of_numbers(context: Context, equations: Mapping[str, Node], rule: Rule) -> float:
    """The cost of equations number by number, each common part once."""
    found, waiting = set[Node](), list(equations.values())
    inside = {symbol(definition.name): definition.expr for definition in context.problem.definitions}
    total = 0.0
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        found.add(node)
        if node in inside:
            waiting.append(inside[node])
        elif node.args and not node.is_number:
            waiting += node.args
            by_library = isinstance(node, sympy.Pow) and not node.exp.is_Integer
            by_library |= isinstance(node, sympy.Function) and type(node).__name__.lower() not in SAFE_SCALARS
            total += rule.function if by_library else max(1, len(node.args) - 1)
    return total


class _Writer:
    def __init__(self, context: Context, equations: VectorEquations):
        self.context, self.target, self.equations = context, context.target, equations
        self.constants: list[str] = []
        self._choices: dict[int, str] = {}
        vectors = equations.vectors
        printer = context.printer()
        names = {**context.names, STATES: "y", PARAMETERS: "p"}
        for name, array in vectors.constants.items():
            names[name] = self._constant("NUMBERS", self.target.array, array)
        for statement in equations.program.statements:
            if statement.symbol.name.startswith(VECTOR):
                names[statement.symbol] = context.free_name("v")
        self.printer = VectorPrinter(printer.target, names, printer.shapes)
        self.printer.writer = self

    def function(self, name: str) -> str:
        """A function of t, y and p."""
        program = self.equations.program
        used = _symbols(program)
        lines = [*self._parameters(used), *self._time(used)]
        lines += [f"    {self.printer.code(s.symbol)} = {self.printer.code(s.expr)}" for s in program.statements]
        lines += self._result()
        return self._module([function(f"{name}(t, y, p)", lines)])

    def prepared_functions(self) -> str:
        """``prepared(p)`` and ``rhs(t, y, given)``."""
        program, printer = self.equations.program, self.printer
        fixed = {*parameter_symbols(self.context.problem), PARAMETERS, *self.equations.vectors.constants}
        before, here = list[Statement](), list[Statement]()
        for statement in program.statements:
            if statement.expr.free_symbols <= fixed:
                fixed.add(statement.symbol)
                before.append(statement)
            else:
                here.append(statement)
        used = {s for e in (*(s.expr for s in here), *program.outputs) for s in e.free_symbols}
        names = [s for s in (PARAMETERS, *parameter_symbols(self.context.problem), *(s.symbol for s in before))
                 if s in used]  # fmt: skip
        codes = [printer.code(name) for name in names]
        body = [*self._parameters(_symbols(program)), *map(self._assigned, before), f"    return {as_tuple(codes)}"]
        lines = [*given(codes), *self._time(used), *map(self._assigned, here), *self._result()]
        return self._module([function("prepared(p)", body), function("rhs(t, y, given)", lines)])

    def _assigned(self, statement: Statement) -> str:
        return f"    {self.printer.code(statement.symbol)} = {self.printer.code(statement.expr)}"

    def _module(self, functions: Sequence[str]) -> str:
        constants = "\n".join([*self.constants, ""]) if self.constants else ""
        return "\n\n".join([*([constants] if constants else []), *functions])

    def _parameters(self, used: set[Symbol]) -> list[str]:
        names = enumerate(parameter_symbols(self.context.problem))
        lines = [f"    {self.printer.code(name)} = p[{i}]" for i, name in names if name in used]
        return [*lines, *(["    p = np.asarray(p)"] if PARAMETERS in used and self.target.floats else [])]

    def _time(self, used: set[Symbol]) -> list[str]:
        return ["    t = t.to(y.dtype)"] if symbol("t") in used and self.target.tensors else []

    def _result(self) -> list[str]:
        rows = [replace(each, expr=expr) for each, expr in
                zip(self.equations.rows, self.equations.program.outputs, strict=True)]  # fmt: skip
        n, vectors = self.context.problem.n_states, self.equations.vectors
        if len(rows) == 1 and vectors.shape(rows[0].expr) and not isinstance(rows[0].expr, Symbol | View):
            return [f"    return {self.printer.code(rows[0].expr)}"]
        if self.target.floats:
            places = [each.place or self._index(np.array(each.indices)) for each in rows]
            lines = [f"    dy[{place}] = {self.printer.code(each.expr)}"
                     for place, each in zip(places, rows, strict=True)]  # fmt: skip
            return ["    dy = np.empty(N_STATES)", *lines, "    return dy"]
        parts, numbers = list[str](), list[str]()
        for each in rows:
            if len(each.indices) == 1:
                numbers.append(self.printer.operand(each.expr))
                continue
            parts += self._stacked(numbers)
            numbers = []
            if vectors.shape(each.expr):
                parts.append(self.printer.code(each.expr))
            else:
                parts.append(self.target.fill.format(f"({self.printer.operand(each.expr)})", f"({len(each.indices)},)"))
        parts += self._stacked(numbers)
        whole = parts[0] if len(parts) == 1 else self.target.concatenate.format(joined(parts))
        order = np.argsort([index for each in rows for index in each.indices])
        if not np.array_equal(order, np.arange(n)):
            return [f"    dy = {whole}", f"    return {self.target.gather.format('dy', self._index(order))}"]
        return [f"    return {whole}"]

    def _stacked(self, numbers: Sequence[str]) -> list[str]:
        return [self.target.stack.format(", ".join(numbers))] if numbers else []

    def view(self, name: Symbol, number: int) -> str:
        """Code of some entries of a vector."""
        vector, indices = self.printer.code(name), self.equations.vectors.choices[number]
        if indices.ndim == 0:
            return f"{vector}[{int(indices)}]"
        flat = indices.ravel()
        if place := _range(flat):
            part = f"{vector}[{place}]"
            return part if indices.ndim == 1 else self.target.reshape.format(part, indices.shape)
        size = self.equations.vectors.signatures.sizes[name]
        if self.target.roll and np.array_equal(indices, (np.arange(size) + flat[0]) % size):
            return self.target.roll.format(vector, int(-flat[0]) if 2 * flat[0] <= size else int(size - flat[0]))
        return self.target.gather.format(vector, self._index(indices, number))

    def _index(self, indices: NDArray[np.intp], number: int | None = None) -> str:
        if number is not None and number in self._choices:
            return self._choices[number]
        name = self._constant("PICKED", self.target.array, indices)
        if number is not None:
            self._choices[number] = name
        return name

    def _constant(self, base: str, array: str, values: NDArray[Any]) -> str:
        name = self.context.free_name(f"{base}_{len(self.constants)}")
        self.constants.append(f"{name} = {array.format(f'np.array({values.tolist()})')}")
        return name


class VectorPrinter(Printer):
    """Prints expressions of vectors."""

    writer: _Writer

    def shape(self, expression: Node) -> tuple[int, ...]:
        """The shape, by which arrays are printed differently from numbers."""
        return self.writer.equations.vectors.shape(expression)

    def _is_product(self, expr: Node) -> bool:
        """Return whether a power is printed as a product: NumPy has a fast way of squares only."""
        is_cube = self.target.floats and expr.is_Pow and expr.base.is_Symbol and expr.exp == 3
        return is_cube or super()._is_product(expr)

    def _print_Total(self, expr: Any) -> str:
        (inside,) = expr.args
        factors = sympy.Mul.make_args(inside)
        if inside.is_Pow and inside.exp == 2:
            factors = (inside.base, inside.base)
        arrays = [factor for factor in factors if self.shape(factor)]
        # A compiler fuses the sum with the product; elsewhere the product with a vector is one operation of two.
        if len(arrays) < 2 or self.target.mapped:
            return super()._print_Total(expr)
        first, *others = arrays
        numbers = [factor for factor in factors if not self.shape(factor)]
        return f"({self._print(sympy.Mul(*numbers, first))} @ {self._atom(sympy.Mul(*others))})"

    def _print_View(self, expr: Any) -> str:
        vector, number = expr.args
        return self.writer.view(vector, int(number))


def _range(indices: NDArray[np.intp]) -> str:
    """Indices as Python writes a range between brackets, or nothing if they are none."""
    indices = indices.ravel()
    if len(indices) < 2:
        return ""
    first, last, step = int(indices[0]), int(indices[-1]), int(indices[1] - indices[0])
    if step < 1 or not np.array_equal(indices, np.arange(first, last + 1, step)):
        return ""
    return f"{first}:{last + 1}" + (f":{step}" if step > 1 else "")


def _symbols(program: Program) -> set[Symbol]:
    return {s for e in (*(item.expr for item in program.statements), *program.outputs) for s in e.free_symbols}

"""Right-hand sides of scalar problems as operations on vectors, for equations that differ only in their entries.

A row of points, or of coupled oscillators, is a hundred equations of one form: a few operations on vectors compute
them at once, however many they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Symbol

from sciml_bench.emit.arrays import vector_costs
from sciml_bench.emit.arrays.prepared_functions import as_tuple, function, given
from sciml_bench.emit.arrays.vector_equations import PARAMETERS, STATES, VECTOR, VectorEquations, as_range
from sciml_bench.emit.context import Context, joined, parameter_symbols
from sciml_bench.emit.printer import Printer
from sciml_bench.emit.symbolic.statements import Statement
from sciml_bench.emit.symbolic.vectors import View
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import symbol


def vector_right_hand_side(context: Context, name: str, equations: Mapping[str, Node]) -> str | None:
    """The function of this name, with the arrays that it needs; ``None`` if numbers take less."""
    rule = vector_costs.RULES[context.target.name]
    numbers = vector_costs.cost_of_numbers(context, equations, rule)
    if numbers < rule.fewest:
        return None
    found = rule.equations(context, equations)
    if rule.cost(found) > numbers * rule.share:
        return None
    return _Writer(context, found).function(name)


def vector_functions(context: Context) -> str:
    """``prepared`` and ``rhs``, with the arrays that they need."""
    found = vector_costs.RULES["torch"].equations(context, context.problem.equations)
    return _Writer(context, found).prepared_functions()


class _Writer:
    def __init__(self, context: Context, equations: VectorEquations):
        self.context, self.target, self.equations = context, context.target, equations
        self.constants: list[str] = []
        self._indices: dict[tuple[tuple[int, ...], bytes], str] = {}
        vectors = equations.vectors
        printer = context.printer()
        names = {**context.names, STATES: "y", PARAMETERS: "p"}
        for name, array in vectors.constants.items():
            names[name] = self._constant("NUMBERS", array)
        for statement in equations.program.statements:
            if statement.symbol.name.startswith(VECTOR):
                names[statement.symbol] = context.free_name("v")
        self.printer = VectorPrinter(printer.target, names, printer.shapes)
        self.printer.writer = self

    def function(self, name: str) -> str:
        """A function of t, y and p."""
        program = self.equations.program
        used = program.symbols
        lines = [*self._parameters(used), *self._time(used)]
        lines += [*map(self._assigned, program.statements), *self._result()]
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
        body = [*self._parameters(program.symbols), *map(self._assigned, before), f"    return {as_tuple(codes)}"]
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
        if place := as_range(flat):
            part = f"{vector}[{place}]"
            return part if indices.ndim == 1 else self.target.reshape.format(part, indices.shape)
        size = self.equations.vectors.signatures.sizes[name]
        if self.target.roll and np.array_equal(indices, (np.arange(size) + flat[0]) % size):
            return self.target.roll.format(vector, int(-flat[0]) if 2 * flat[0] <= size else int(size - flat[0]))
        return self.target.gather.format(vector, self._index(indices))

    def _index(self, indices: NDArray[np.intp]) -> str:
        key = (indices.shape, indices.tobytes())
        if key not in self._indices:
            self._indices[key] = self._constant("PICKED", indices)
        return self._indices[key]

    def _constant(self, base: str, values: NDArray[Any]) -> str:
        name = self.context.free_name(f"{base}_{len(self.constants)}")
        self.constants.append(f"{name} = {self.target.array.format(f'np.array({values.tolist()})')}")
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

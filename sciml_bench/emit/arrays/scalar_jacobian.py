"""Analytic Jacobians of problems whose states are all scalars, entry by entry, and their sensitivity equations.

Code for Python computes with Python's own floats, and makes a NumPy array once, of the entries that are not always
zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy

from sciml_bench.emit.context import Context
from sciml_bench.emit.symbolic.statements import needed, straight_line
from sciml_bench.emit.symbolic.variation import Named, Tangent, Variation
from sciml_bench.spec.language.operators import Node

#: Up to so many equations, states and sensitivities together, the sensitivity equations are written number by number;
#: beyond, as products of matrices. Of 10 equations numbers take 1.8 µs and matrices 10, of 20 about 3 and 8, of 50
#: twice as long as matrices.
UNROLLED_UP_TO = 32
# Matrices of at most this many entries are written row by row, which NumPy reads as fast as anything.
_SMALL_MATRIX = 16
# No quantity has a name that starts like this.
_PLACES = "_PLACES_"

Entries = Mapping[tuple[int, int], Node]


def scalar_jacobian_source(context: Context, gradients: bool = True) -> str:
    """``jacobian(t, y, p)``, and with ``gradients`` NumPy's further functions for sensitivities.

    See :mod:`sciml_bench.emit.source`.
    """
    variation = Variation(context)
    if context.target.differentiates:
        return _for_tensorflow(context, variation)
    return "\n\n".join(_Writer(context, variation).functions(gradients))


class _Writer:
    """Writes NumPy's functions."""

    def __init__(self, context: Context, variation: Variation):
        self.context, self.variation = context, variation
        self.n, self.m = len(variation.states), variation.n_theta
        self._places: list[str] = []

    def functions(self, gradients: bool) -> list[str]:
        """All of them, or the Jacobian alone."""
        found = self._functions() if gradients else [self._matrix("jacobian", self.variation.jacobian, self.n)]
        # The places of matrix entries are known beforehand: converting lists of places costs as much as all the rest.
        return ["\n".join([entries_of_jacobian(self.variation), *self._places]) + "\n", *found]

    def _functions(self) -> list[str]:
        variation, n = self.variation, self.n
        found = [
            self._matrix("jacobian", variation.jacobian, n),
            self._matrix("parameter_jacobian", variation.by_parameters, len(variation.parameters)),
        ]
        if n * (1 + self.m) > UNROLLED_UP_TO:
            return [*found, self._linearised(), *([self._second_derivatives()] if variation.has_second else [])]
        return [*found, self._augmented(), *([self._augmented_jacobian()] if variation.has_second else [])]

    def _matrix(self, name: str, entries: Entries, columns: int) -> str:
        """The function that returns a matrix of these entries, with a row for each equation."""
        head = f"{name}(t, y, p)"
        if not columns:
            return _function(head, ["    return np.empty((N_STATES, 0))"])
        lines, values = self._body(self.variation.statements, list(entries.values()))
        made = self._made("out", list(entries), values, (self.n, columns))
        return _function(head, [*lines, *made, "    return out"])

    def _augmented(self) -> str:
        """The right-hand side and then its sensitivities, one after the other, number by number."""
        variation, n = self.variation, self.n
        _, outputs = variation.steps
        forcing, columns = variation.by_theta, self._columns()
        read = variation.tangent.read
        lines, values = self._body(variation.tangent_statements, [*outputs, *forcing.values(), *read], columns)
        of_theta = dict(zip(forcing, values[n:], strict=False))
        # Some are known under another name.
        known = dict(zip(read, values[n + len(forcing) :], strict=True))
        printer = self.context.printer()
        rows = [", ".join(printer.operand(value) for value in values[:n])]
        for j, column in enumerate(columns):
            lines += [f"    {target} = {printer.code(expr.xreplace(known))}" for target, expr in column.named]
            ends = (expr.xreplace(known) + of_theta.get((i, j), 0) for i, expr in enumerate(column.outputs))
            rows.append(", ".join(printer.operand(end) for end in ends))
        return _function("augmented(t, y, p)", [*lines, "    return (", *(f"        {row}," for row in rows), "    )"])

    def _augmented_jacobian(self) -> str:
        """The derivatives of ``augmented``: the Jacobian in every diagonal block, and below the first what couples the
        sensitivities with the state."""
        variation, n, size = self.variation, self.n, self.n * (1 + self.m)
        columns = self._columns()
        entries: dict[tuple[int, int], Node] = {}
        for j in range(1 + self.m):
            entries |= {(n * j + i, n * j + k): entry for (i, k), entry in variation.jacobian.items()}
        for j, column in enumerate(columns):
            coupling = variation.coupling(j, column.direction)
            entries |= {(n * (1 + j) + i, k): entry for (i, k), entry in coupling.items()}
        lines, values = self._body(variation.statements, list(entries.values()), columns)
        made = self._made("out", list(entries), values, (size, size))
        return _function("augmented_jacobian(t, y, p)", [*lines, *made, "    return out"])

    def _linearised(self) -> str:
        """The right-hand side with both Jacobians, transposed, as sensitivities are: a row for each variable."""
        variation, n = self.variation, self.n
        by_state, by_theta = variation.jacobian, variation.by_theta
        lines, values = self._body(variation.statements, [*variation.equations, *by_state.values(), *by_theta.values()])
        printer = self.context.printer()
        lines.append(f"    f = {', '.join(printer.operand(value) for value in values[:n])},")
        rest = values[n:]
        for name, entries, rows in (("j", by_state, n), ("f_p", by_theta, len(variation.theta))):
            part, rest = rest[: len(entries)], rest[len(entries) :]
            if rows:
                lines += self._made(name, [(k, i) for i, k in entries], part, (rows, n))
        return _function("linearised(t, y, p)", [*lines, f"    return f, j, {'f_p' if variation.theta else 'None'}"])

    def _second_derivatives(self) -> str:
        """The entries of the Jacobian that are not always zero, and the derivatives of each."""
        variation = self.variation
        entries, by_state, by_theta = variation.jacobian, variation.curvature, variation.mixed
        lines, values = self._body(variation.statements, [*entries.values(), *by_state.values(), *by_theta.values()])
        printer = self.context.printer()
        codes = [printer.operand(value) for value in values[: len(entries)]]
        lines.append(f"    j = np.array([{', '.join(codes)}])")
        rest = values[len(entries) :]
        for name, found, width in (("by_state", by_state, self.n), ("by_theta", by_theta, len(variation.theta))):
            part, rest = rest[: len(found)], rest[len(found) :]
            if width:
                lines += self._made(name, list(found), part, (len(entries), width))
        returned = "j, by_state, by_theta" if variation.theta else "j, by_state, None"
        return _function("second_derivatives(t, y, p)", [*lines, f"    return {returned}"])

    def _columns(self) -> list[Tangent]:
        """The tangent along each sensitivity, under separate names."""
        taken = set(self.variation.taken)
        return [self.variation.tangent.along(str(j), taken) for j in range(self.m)]

    def _body(
        self, named: Sequence[Named], outputs: Sequence[Node], columns: Sequence[Tangent] = ()
    ) -> tuple[list[str], list[Node]]:
        """The lines that compute what the outputs share, and the outputs; ``columns`` are read after the state."""
        taken = {*self.variation.taken, *(s.name for c in columns for s in (*c.direction, *(t for t, _ in c.named)))}
        program = straight_line(needed(named, outputs), outputs, avoid=taken).needed().without_aliases()
        used = program.symbols
        printer = self.context.printer()
        state = self._read_all(columns) if columns else self.context.unpack_state(used)
        lines = [*self.context.unpack_parameters(used), *state]
        lines += [f"    {printer.code(item.symbol)} = {printer.code(item.expr)}" for item in program.statements]
        return lines, list(program.outputs)

    def _read_all(self, columns: Sequence[Tangent]) -> list[str]:
        names = [self.context.names[state] for state in self.variation.states]
        names += [s.name for column in columns for s in column.direction]
        return [f"    {', '.join(names)} = y.tolist()"]

    def _made(
        self, name: str, places: Sequence[tuple[int, int]], values: Sequence[Node], shape: tuple[int, int]
    ) -> list[str]:
        """Lines that make a matrix of the entries at these places."""
        printer = self.context.printer()
        rows, columns = shape
        codes = {place: printer.operand(value) for place, value in zip(places, values, strict=True)}
        if rows * columns <= _SMALL_MATRIX:
            texts = (", ".join(codes.get((i, k), "0.0") for k in range(columns)) for i in range(rows))
            return [f"    {name} = np.array([", *(f"        [{text}]," for text in texts), "    ])"]
        lines = [f"    {name} = np.zeros(({rows}, {columns}))"]
        if codes:
            constant = f"{_PLACES}{len(self._places)}"
            self._places.append(f"{constant} = np.array({[i * columns + k for i, k in codes]})")
            lines.append(f"    {name}.put({constant}, ({', '.join(codes.values())},))")
        return lines


def entries_of_jacobian(variation: Variation) -> str:
    """A constant of the module with the row and the column of each entry of the Jacobian that is not always zero."""
    return f"ENTRIES = {tuple(variation.jacobian)!r}"


def _function(head: str, lines: Sequence[str]) -> str:
    return "\n".join([f"def {head}:", *lines]) + "\n"


def _for_tensorflow(context: Context, variation: Variation) -> str:
    """``jacobian`` alone, stacked of scalars."""
    n = len(variation.states)
    entries = [variation.jacobian.get((i, k), sympy.S.Zero) for i in range(n) for k in range(n)]
    program = straight_line(variation.statements, entries, avoid=variation.taken).needed()
    used = program.symbols
    lines = [*context.unpack_parameters(used), *context.unpack_state(used)]
    printer = context.printer()
    lines += [f"    {printer.code(item.symbol)} = {printer.code(item.expr)}" for item in program.statements]
    codes = [printer.operand(entry) for entry in program.outputs]
    rows = (", ".join(codes[start : start + n]) for start in range(0, len(codes), n))
    lines += ["    entries = tf.stack([", *(f"        {row}," for row in rows), "    ])"]
    return _function("jacobian(t, y, p)", [*lines, f"    return tf.reshape(entries, ({n}, {n}))"])

"""Functions of scalar problems that Numba compiles: every value a number, every array written in place.

Solvers in C call ``derivative(t, y, dy, p)`` through a function pointer. No function returns an array: handing one to
Python costs twice as much as the whole of a small function. Functions with sensitivities take as many of them as their
arrays hold, the first one for theta's component ``first``; so a few can be solved for at a time. Division by zero
gives infinity, as in NumPy and in the solvers, not an exception.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sympy import Symbol

from sciml_bench.emit.arrays.scalar_jacobian import entries_of_jacobian
from sciml_bench.emit.context import Context
from sciml_bench.emit.numba.fields import field_functions
from sciml_bench.emit.symbolic.statements import needed, straight_line
from sciml_bench.emit.symbolic.variation import Named, Tangent, Variation
from sciml_bench.errors import UsageError
from sciml_bench.spec.language.locality import why_not_local
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import Problem

_COMPILED = '@njit(error_model="numpy")'


def refuse_arrays(problem: Problem, target: str) -> None:
    """Refuse a problem that is not written in numbers alone, or, for Numba, point by point.

    Raises:
        UsageError: it has networks, something is computed around the solve, or it has vectors or fields, for Numba such
            whose points are not computed of near ones alone.
    """
    # With numbers alone, Python calls the computations around the solve of code for Numba.
    only_around = target == "numba" and problem.all_scalar
    around = bool(problem.networks) or bool(problem.controls) or (problem.latent and not only_around)
    if problem.all_scalar and not around:
        return
    if target != "numba" or around:
        raise UsageError(
            f"'{problem.name}' is not emitted for {target}, whose code is written number by number: it has vectors, "
            "fields, networks or paths"
        )
    if reason := why_not_local(problem):
        raise UsageError(
            f"'{problem.name}' is not emitted for numba, whose code is written number by number and point by point: "
            f"{reason}"
        )


def numba_functions(context: Context) -> list[str]:
    """``derivative``, ``jacobian``, ``augmented`` and ``augmented_jacobian``, see
    :mod:`sciml_bench.emit.source`; for vectors and
    fields the functions of :mod:`.fields`.
    """
    if not context.problem.all_scalar:
        return field_functions(context)
    variation = Variation(context)
    writer = _Writer(context, variation)
    functions = [writer.derivative(), writer.jacobian(), writer.augmented()]
    if variation.has_second:
        functions.append(writer.augmented_jacobian())
    return ["\n".join([entries_of_jacobian(variation), *writer.tables, ""]), *functions]


class _Writer:
    """Writes functions of the flat arrays y and p; only what a function uses is read from them.

    What goes into scattered places is put into a list ``values`` and then distributed by a table of places: a statement
    for each place takes Numba several times as long to compile, 20 seconds for 50 states and 100 parameters.
    """

    def __init__(self, context: Context, variation: Variation):
        self.context, self.variation = context, variation
        self.n = len(variation.states)
        self.tables: list[str] = []

    def derivative(self) -> str:
        """The right-hand side, written into ``dy``."""
        lines, values = self._body(*self.variation.steps)
        return _function("derivative(t, y, dy, p)", [*lines, *self._assigned("dy", enumerate(values))])

    def jacobian(self) -> str:
        """The Jacobian, written into ``out`` row by row, without entries that are always zero."""
        entries = self.variation.jacobian
        lines, values = self._body(self.variation.statements, list(entries.values()))
        places = (i * self.n + k for i, k in entries)
        return _function("jacobian(t, y, out, p)", [*lines, *self._assigned("out", zip(places, values, strict=True))])

    def augmented(self) -> str:
        """The right-hand side and then its sensitivities, written into ``out``."""
        variation, n = self.variation, self.n
        _, outputs = variation.steps
        tangent, forcing = variation.tangent, variation.by_theta
        read = variation.tangent.read
        lines, values = self._body(variation.tangent_statements, [*outputs, *forcing.values(), *read])
        known = dict(zip(read, values[n + len(forcing) :], strict=True))
        printer = self.context.printer()
        lines += self._assigned("out", enumerate(values[:n]))
        lines += ["    for j in range(N_STATES, out.size, N_STATES):", *self._read_along(tangent)]
        lines += [f"        {target} = {printer.code(expr.xreplace(known))}" for target, expr in tangent.named]
        for i, expr in enumerate(tangent.outputs):
            lines.append(f"        out[{_after_j(i)}] = {printer.operand(expr.xreplace(known))}")
        if forcing:
            lines += self._listed(values[n : n + len(forcing)])
            lines += [
                "    last = first + out.size//N_STATES - 1",
                f"    for k in range({len(forcing)}):",
                f"        i, j = {self._table('FORCED', forcing)}[k]",
                "        if first <= j < last:",
                "            out[N_STATES*(1 + j - first) + i] += values[k]",
            ]
        return _function("augmented(t, y, out, p, first)", lines)

    def augmented_jacobian(self) -> str:
        """Its derivatives, written into the flat ``out``: the Jacobian's at the places ``diagonal[block, entry]``, and
        the coupling of a sensitivity with the state at ``below[sensitivity, entry]``.
        """
        variation = self.variation
        entries, curvature, mixed = variation.jacobian, variation.curvature, variation.mixed
        lines, values = self._body(variation.statements, [*entries.values(), *curvature.values(), *mixed.values()])
        lines += self._listed(values)
        lines += [
            "    for block in range(diagonal.shape[0]):",
            f"        for k in range({len(entries)}):",
            "            out[diagonal[block, k]] = values[k]",
            "    for block in range(below.shape[0]):",
            f"        for k in range({len(entries)}):",
            "            out[below[block, k]] = 0.0",
        ]
        if curvature:
            lines += [
                f"        for k in range({len(curvature)}):",
                f"            entry, state = {self._table('CURVED', curvature)}[k]",
                "            direction = y[N_STATES*(1 + block) + state]",
                f"            out[below[block, entry]] += values[{len(entries)} + k]*direction",
            ]
        if mixed:
            lines += [
                "    last = first + below.shape[0]",
                f"    for k in range({len(mixed)}):",
                f"        entry, j = {self._table('MIXED', mixed)}[k]",
                "        if first <= j < last:",
                f"            out[below[j - first, entry]] += values[{len(entries) + len(curvature)} + k]",
            ]
        return _function("augmented_jacobian(t, y, out, p, first, diagonal, below)", lines)

    def _listed(self, values: Sequence[Node]) -> list[str]:
        return [f"    values = np.empty({len(values)})", *self._assigned("values", enumerate(values))]

    def _table(self, name: str, places: Iterable[tuple[int, int]]) -> str:
        """The name of a table of the module with these places. No quantity has a name that starts like it."""
        self.tables.append(f"_{name} = np.array({[list(place) for place in places]})")
        return f"_{name}"

    def _body(self, named: Sequence[Named], outputs: Sequence[Node]) -> tuple[list[str], list[Node]]:
        """The lines that compute what the outputs share, and the outputs."""
        tangent = self.variation.tangent
        own = (*tangent.direction, *(target for target, _ in tangent.named))
        taken = {*self.variation.taken, *(s.name for s in own)}
        program = straight_line(needed(named, outputs), outputs, avoid=taken).needed().without_aliases()
        used = program.symbols
        printer = self.context.printer()
        lines = [*self._read(self.variation.parameters, "p", used), *self._read(self.variation.states, "y", used)]
        lines += [f"    {printer.code(item.symbol)} = {printer.code(item.expr)}" for item in program.statements]
        return lines, list(program.outputs)

    def _read(self, symbols: Iterable[Symbol], array: str, used: set[Symbol]) -> list[str]:
        names = self.context.names
        return [f"    {names.get(s, s.name)} = {array}[{i}]" for i, s in enumerate(symbols) if s in used]

    def _read_along(self, tangent: Tangent) -> list[str]:
        """The used sensitivities of one column."""
        expressions = (*tangent.outputs, *(expr for _, expr in tangent.named))
        used = {s for expr in expressions for s in expr.free_symbols}
        return [f"        {s} = y[{_after_j(i)}]" for i, s in enumerate(tangent.direction) if s in used]

    def _assigned(self, array: str, values: Iterable[tuple[int, Node]]) -> list[str]:
        printer = self.context.printer()
        return [f"    {array}[{index}] = {printer.operand(value)}" for index, value in values]


def _after_j(i: int) -> str:
    return f"j + {i}" if i else "j"


def _function(head: str, lines: Sequence[str]) -> str:
    # Equations that no state is part of have a Jacobian without entries.
    return "\n".join([_COMPILED, f"def {head}:", *(lines or ["    pass"])]) + "\n"

"""The invariants of a problem as NumPy source, to see how far a solution drifts from what the exact one keeps."""

from __future__ import annotations

from dataclasses import replace

from sciml_bench.emit.context import Context
from sciml_bench.emit.networks import network_arguments
from sciml_bench.emit.symbolic.statements import straight_line
from sciml_bench.spec.model import Problem, symbol
from sciml_bench.spec.quantities import Definition


def as_definitions(problem: Problem) -> tuple[Problem, tuple[str, ...]]:
    """A problem of the definitions alone, with each invariant as one more, and their names.

    No name of a problem file has two underscores in a row.
    """
    added = tuple(Definition(f"invariant__{i}", (), expr) for i, expr in enumerate(problem.invariants.values()))
    reduced = replace(problem, definitions=(*problem.definitions, *added), equations={}, implicit={})
    return reduced, tuple(definition.name for definition in added)


def invariants_function(context: Context, wanted: tuple[str, ...]) -> str:
    """``invariants(t, y, p)``, after p with what ``rhs`` takes too: their values at one state, (n_invariants,)."""
    named = [(symbol(definition.name), context.resolve(definition.expr)) for definition in context.problem.definitions]
    program = straight_line(named, [symbol(name) for name in wanted]).needed()
    used = program.symbols
    lines = [
        f"def invariants({', '.join(['t', 'y', 'p', *network_arguments(context)])}):",
        *context.unpack_parameters(used),
        *context.unpack_state(used),
    ]
    printer = context.printer()
    for statement in program.statements:
        printer.shapes[statement.symbol] = printer.shape(statement.expr)
        lines.append(f"    {printer.code(statement.symbol)} = {printer.code(statement.expr)}")
    values = ", ".join(printer.component(output) for output in program.outputs)
    return "\n".join([*lines, f"    return np.array([{values}])", ""])

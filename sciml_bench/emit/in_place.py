"""A right-hand side in Python's own numbers that writes into an array, as libraries of other languages call it back."""

from __future__ import annotations

from sciml_bench.emit.context import Context
from sciml_bench.emit.symbolic.statements import straight_line
from sciml_bench.spec.model import symbol


def in_place_function(context: Context) -> str:
    """``f(dy, y, p, t)``: reads each state once, and writes each derivative once, as either may cross a bridge."""
    problem = context.problem
    named = [(symbol(definition.name), context.resolve(definition.expr)) for definition in problem.definitions]
    program = straight_line(named, [context.resolve(expr) for expr in problem.equations.values()]).needed()
    used = program.symbols
    printer = context.printer()
    lines = ["def f(dy, y, p, t):", *context.unpack_parameters(used), *context.unpack_state(used)]
    lines += [f"    {printer.code(item.symbol)} = {printer.code(item.expr)}" for item in program.statements]
    lines += [f"    dy[{i}] = {printer.operand(output)}" for i, output in enumerate(program.outputs)]
    return "\n".join(lines) + "\n"

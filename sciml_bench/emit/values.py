"""Values of expressions of states, time and parameters as source text: events, and algebraic equations."""

from __future__ import annotations

from collections.abc import Sequence

from sciml_bench.emit.context import Context
from sciml_bench.emit.symbolic.statements import straight_line
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import symbol


def values_function(context: Context, name: str, outputs: Sequence[Node]) -> str:
    """``name(t, y, p)``, the values of some expressions of states, time and parameters."""
    lines, codes = values_body(context, [context.resolve(expr) for expr in outputs])
    returned = f"({', '.join(codes)}{',' * (len(codes) == 1)})" if context.target.floats else _stacked(context, codes)
    return "\n".join([f"def {name}(t, y, p):", *lines, f"    return {returned}", ""])


def _stacked(context: Context, codes: Sequence[str]) -> str:
    return context.target.stack.format(", ".join(codes)) if codes else context.target.array.format("()")


def values_body(context: Context, outputs: Sequence[Node]) -> tuple[list[str], list[str]]:
    """The lines that compute what outputs share, and the code of each output."""
    named = [(symbol(item.name), context.resolve(item.expr)) for item in context.problem.definitions]
    program = straight_line(named, outputs).needed()
    used = program.symbols
    printer = context.printer()
    lines = [*context.unpack_parameters(used), *context.unpack_state(used)]
    for statement in program.statements:
        printer.shapes[statement.symbol] = printer.shape(statement.expr)
        lines.append(f"    {printer.code(statement.symbol)} = {printer.code(statement.expr)}")
    return lines, [printer.component(output) for output in program.outputs]

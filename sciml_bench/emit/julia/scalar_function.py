"""Julia functions of a scalar problem: the statements that some expressions need, and their values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sympy import Mul, Symbol

from sciml_bench.emit.context import Context
from sciml_bench.emit.julia.array_form import parameter_lines, state_lines
from sciml_bench.emit.julia.scalar_printer import JuliaPrinter
from sciml_bench.emit.symbolic.statements import Program, Statement, straight_line
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import symbol

_MOST_USES = 2
_LONGEST_LINE = 90


def writing(context: Context, name: str, expressions: Sequence[Node]) -> str:
    """``name(dy, y, p, t)``, which writes the values into an array."""
    lines, codes = _statements(context, expressions)
    lines += [f"    dy[{i}] = {code}" for i, code in enumerate(codes, start=1)]
    return "\n".join([f"function {name}(dy, y, p, t)", *lines, "    return nothing", "end", ""])


def giving(context: Context, name: str, expressions: Sequence[Node], *, static: bool) -> str:
    """``name(y, p, t)``, which gives the values as a vector."""
    lines, codes = _statements(context, expressions)
    joined = ", ".join(codes)
    if len(joined) > _LONGEST_LINE:
        joined = "\n        " + ",\n        ".join(codes) + ",\n    "
    value = f"SVector({joined})" if static else f"[{joined}]"
    return "\n".join([f"function {name}(y, p, t)", *lines, f"    return {value}", "end", ""])


def number(context: Context, name: str, expression: Node) -> str:
    """``name(y, p, t)``, which gives one number."""
    lines, (code,) = _statements(context, [expression])
    return "\n".join([f"function {name}(y, p, t)", *lines, f"    return {code}", "end", ""])


def _statements(context: Context, expressions: Sequence[Node]) -> tuple[list[str], list[str]]:
    """The lines that compute what the expressions share, and the code of each."""
    named = [(symbol(item.name), context.resolve(item.expr)) for item in context.problem.definitions]
    resolved = [context.resolve(expr) for expr in expressions]
    program = _with_plain_products(straight_line(named, resolved, avoid=context.names.values()).needed(), dict(named))
    printer = JuliaPrinter(context.target, context.names, {})
    statements = [f"    {printer.code(st.symbol)} = {printer.code(st.expr)}" for st in program.statements]
    codes = [printer.code(output) for output in program.outputs]
    if context.problem.networks or context.problem.latent:
        # Parameters are a ComponentVector.
        body = "\n".join([*statements, *codes])
        unpacked = [f"    {line}" for line in (*parameter_lines(context, body), *state_lines(context, body))]
        return [*unpacked, *statements], codes
    used = {s for st in program.statements for s in st.expr.free_symbols}
    used |= {s for output in program.outputs for s in output.free_symbols}
    unpacked = [*context.unpack_parameters(used), *context.unpack_state(used)]
    # Of one value: ``x, = y`` in the other languages.
    return [*(re.sub(r"^( *\w+), = (\w+)$", r"\1 = \2[1]", line) for line in unpacked), *statements], codes


def _with_plain_products(program: Program, named: Mapping[Symbol, Node]) -> Program:
    """Products of two symbols back in the one or two places that share them.

    The compiler finds equal ones itself. If one is a factor of two longer products, sharing it saves a multiplication,
    but keeps the two from being computed at once in one vector register.
    """
    expressions = [*(statement.expr for statement in program.statements), *program.outputs]
    replaced: dict[Symbol, Node] = {}
    for statement in program.statements:
        product = isinstance(statement.expr, Mul) and all(isinstance(arg, Symbol) for arg in statement.expr.args)
        if not product or len(statement.expr.args) != 2 or statement.symbol in named:
            continue
        if sum(expression.count(statement.symbol) for expression in expressions) <= _MOST_USES:
            replaced[statement.symbol] = statement.expr
    kept = (st for st in program.statements if st.symbol not in replaced)
    statements = tuple(Statement(st.symbol, st.expr.xreplace(replaced)) for st in kept)
    return replace(program, statements=statements, outputs=tuple(o.xreplace(replaced) for o in program.outputs))

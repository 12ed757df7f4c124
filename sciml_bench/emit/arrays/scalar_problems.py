"""Right-hand sides of scalar problems in few array operations, for libraries that run each operation separately.

There an operation costs about a microsecond, however few numbers it computes, and a hundred rates are one operation
as a vector. Modules have ``prepared(p)``, all that depends on the parameters alone, which a solve computes once, and
``rhs(t, y, given)``, where ``given`` is its value. Written out number by number is what takes fewer operations so.
"""

from __future__ import annotations

import contextlib

from sciml_bench.emit.arrays.array_writer import ArrayWriter
from sciml_bench.emit.arrays.operation_costs import operations
from sciml_bench.emit.arrays.prepared_functions import as_tuple, function, given, printer_of_p
from sciml_bench.emit.arrays.vector_writer import vector_functions
from sciml_bench.emit.context import Context, element_symbol
from sciml_bench.emit.symbolic.forms import NotArrays
from sciml_bench.emit.symbolic.statements import straight_line
from sciml_bench.spec.model import Problem, symbol

WORTH = 1.25
"""Arrays must take this many times fewer operations: differentiating one takes more than differentiating a number."""

MANY_STATES, FEW = 100, 20
"""Finding products of matrices takes seconds for more states; then they are tried if vectors take more operations."""


def has_arrays(problem: Problem) -> bool:
    """Return whether modules of this problem have ``prepared``: its quantities are numbers, computed by formulas."""
    return problem.all_scalar and not problem.networks and not problem.latent and not problem.controls


def right_hand_side(context: Context) -> str:
    """``prepared`` and ``rhs``, with the constants that they need: by arrays or by numbers, whichever costs less."""
    numbers = by_numbers(context)
    arrays = [vector_functions(context)] if not context.target.batched else []
    if not arrays or context.problem.n_states <= MANY_STATES or operations(arrays[0]) > FEW:
        with contextlib.suppress(NotArrays):
            arrays.append(ArrayWriter(context).text())
    cheapest = min(arrays, key=operations, default=numbers)
    return cheapest if operations(cheapest) * WORTH <= operations(numbers) else numbers


def by_numbers(context: Context) -> str:
    """Write the functions number by number."""
    problem = context.problem
    named = [(symbol(definition.name), context.resolve(definition.expr)) for definition in problem.definitions]
    taken = {*context.names.values(), "given"}
    program = straight_line(named, [context.resolve(expr) for expr in problem.equations.values()], taken).needed()
    parameters = [
        item
        for parameter in problem.parameters
        for item in (
            [element_symbol(parameter.name, i) for i in range(parameter.shape[0])]
            if parameter.name in context.itemised
            else [symbol(parameter.name)]
        )
    ]
    fixed, here = set(parameters), list[str]()
    before: list[str] = []
    printer, of_p = context.printer(), printer_of_p(context)
    for statement in program.statements:
        name = printer.code(statement.symbol)
        if statement.expr.free_symbols <= fixed:
            fixed.add(statement.symbol)
            before.append(f"    {name} = {of_p.code(statement.expr)}")
        else:
            here.append(f"    {name} = {printer.code(statement.expr)}")
        printer.same_for_all |= {statement.symbol} if statement.expr.free_symbols <= printer.same_for_all else set()
    outside = [s for s in program.statements if s.symbol not in fixed]
    used = {s for e in (*(item.expr for item in outside), *program.outputs) for s in e.free_symbols}
    wanted = [s for s in (*parameters, *(item.symbol for item in program.statements)) if s in fixed and s in used]
    names = [context.names.get(s, s.name) for s in wanted]
    outputs = dict(zip(problem.equations, program.outputs, strict=True))
    lines = [*given(names), *context.unpack_state(used), *here, *context.pack_state(outputs, printer)]
    head = context.unpack_parameters(program.symbols) if problem.parameters and (names or before) else []
    body = [*head, *before, f"    return {as_tuple(names)}"]
    return "\n\n".join([function("prepared(p)", body), function("rhs(t, y, given)", lines)])

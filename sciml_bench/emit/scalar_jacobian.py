"""Analytic Jacobians of problems whose states are all scalars, entry by entry."""

from __future__ import annotations

from sympy import Symbol

from sciml_bench.emit.context import Context, parameter_symbols
from sciml_bench.emit.derivative import derivative
from sciml_bench.emit.statements import straight_line
from sciml_bench.problem.model import symbol
from sciml_bench.problem.operators import Node


def scalar_jacobian_source(context: Context) -> str:
    """``jacobian(t, y, p)``, and for NumPy ``parameter_jacobian(t, y, p)``, with shared subexpressions."""
    problem = context.problem
    values: dict[Symbol, Node] = {}
    for definition in problem.definitions:
        values[symbol(definition.name)] = context.resolve(definition.expr).xreplace(values)
    equations = [context.resolve(expr).xreplace(values) for expr in problem.equations.values()]
    states = [symbol(state.name) for state in problem.states]
    functions = [_function(context, "jacobian", equations, states)]
    if context.target.name == "numpy":
        parameters = parameter_symbols(problem)
        functions.append(_function(context, "parameter_jacobian", equations, parameters))
        functions.append(_linearised(context, equations, states, parameters))
    return "\n\n".join(functions)


def _function(context: Context, name: str, equations: list[Node], variables: list[Symbol]) -> str:
    head = f"def {name}(t, y, p):"
    if not variables:
        return f"{head}\n    return np.empty((N_STATES, 0))\n"
    entries = [derivative(equation, variable) for equation in equations for variable in variables]
    program = straight_line([], entries)
    used = {s for e in (*program.outputs, *(st.expr for st in program.statements)) for s in e.free_symbols}
    lines = [head, *context.unpack_parameters(used), *context.unpack_state(used)]
    printer = context.printer()
    for statement in program.statements:
        lines.append(f"    {printer.code(statement.symbol)} = {printer.code(statement.expr)}")
    codes = [printer.operand(entry) for entry in program.outputs]
    rows = _rows(codes, len(variables))
    columns = len(variables)
    if context.target.name == "numpy":
        lines += ["    return np.array([", *(f"        [{row}]," for row in rows), "    ])"]
    else:
        stacked = [f"        {row}," for row in rows]
        lines += ["    entries = tf.stack([", *stacked, "    ])"]
        lines.append(f"    return tf.reshape(entries, ({len(equations)}, {columns}))")
    return "\n".join(lines) + "\n"


def _rows(codes: list[str], columns: int) -> list[str]:
    """The entries of each row of a matrix, joined."""
    return [", ".join(codes[start : start + columns]) for start in range(0, len(codes), columns)]


def _linearised(context: Context, equations: list[Node], states: list[Symbol], parameters: list[Symbol]) -> str:
    """One function for all that the sensitivity equations need in every evaluation; its parts share what they can."""
    n, m = len(states), len(parameters)
    entries = [derivative(equation, x) for x in (*states, *parameters) for equation in equations]
    program = straight_line([], [*equations, *entries])
    used = {s for e in (*program.outputs, *(st.expr for st in program.statements)) for s in e.free_symbols}
    printer = context.printer()
    lines = ["def linearised(t, y, p):", *context.unpack_parameters(used), *context.unpack_state(used)]
    for statement in program.statements:
        lines.append(f"    {printer.code(statement.symbol)} = {printer.code(statement.expr)}")
    codes = [printer.operand(entry) for entry in program.outputs]
    lines.append(f"    f = {', '.join(codes[:n])},")
    for name, columns, part in (("j", n, codes[n : n + n * n]), ("f_p", m, codes[n + n * n :])):
        # Transposed, as the sensitivities are: one row for each variable.
        if not columns:
            continue
        lines += [f"    {name} = np.array([", *(f"        [{row}]," for row in _rows(part, n)), "    ])"]
    return "\n".join([*lines, f"    return f, j, {'f_p' if m else 'None'}"]) + "\n"

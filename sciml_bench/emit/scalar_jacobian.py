"""Analytic Jacobians of problems whose states are all scalars, entry by entry."""

from __future__ import annotations

import sympy
from sympy import Symbol

from sciml_bench.emit.context import Context, element_symbol
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
        parameters = [
            item
            for parameter in problem.parameters
            for item in (
                [symbol(parameter.name)]
                if parameter.shape == ()
                else [element_symbol(parameter.name, i) for i in range(parameter.shape[0])]
            )
        ]
        functions.append(_function(context, "parameter_jacobian", equations, parameters))
    return "\n\n".join(functions)


def _function(context: Context, name: str, equations: list[Node], variables: list[Symbol]) -> str:
    head = f"def {name}(t, y, p):"
    if not variables:
        return f"{head}\n    return np.empty((N_STATES, 0))\n"
    entries = [sympy.diff(equation, variable) for equation in equations for variable in variables]
    program = straight_line([], entries)
    used = {s for e in (*program.outputs, *(st.expr for st in program.statements)) for s in e.free_symbols}
    lines = [head, *context.unpack_parameters(used), *context.unpack_state(used)]
    printer = context.printer()
    for statement in program.statements:
        lines.append(f"    {printer.code(statement.symbol)} = {printer.code(statement.expr)}")
    codes = [printer.operand(entry) for entry in program.outputs]
    columns = len(variables)
    rows = [", ".join(codes[start : start + columns]) for start in range(0, len(codes), columns)]
    if context.target.name == "numpy":
        lines += ["    return np.array([", *(f"        [{row}]," for row in rows), "    ])"]
    else:
        stacked = [f"        {row}," for row in rows]
        lines += ["    entries = tf.stack([", *stacked, "    ])"]
        lines.append(f"    return tf.reshape(entries, ({len(equations)}, {columns}))")
    return "\n".join(lines) + "\n"

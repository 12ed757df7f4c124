"""One-time computations of an emitted Julia module: vectors, matrices, coordinates, and what depends on them alone."""

from __future__ import annotations

from sympy import Symbol

from sciml_bench.emit.context import Context
from sciml_bench.emit.julia.arrays import AXES, FlatArray
from sciml_bench.emit.julia.body import Body
from sciml_bench.spec.model import symbol, to_double


def constant_names(context: Context) -> dict[Symbol, str]:
    """The names of the module's constants, which no name of the problem hides."""
    problem = context.problem
    kinds = [("GRID", grid.name) for grid in problem.grids] + [("VECTOR", c.name) for c in problem.constants]
    kinds += [("MATRIX", name) for name in problem.matrices]
    taken = set(context.names.values())
    names: dict[Symbol, str] = {static: static.name for static in context.statics.values()}
    for kind, name in kinds:
        constant = f"{kind}_{name}"
        while constant in taken:
            constant += "_"
        taken.add(constant)
        names[symbol(name)] = constant
    return names


def constant_lines(context: Context) -> list[str]:
    """Their definitions."""
    problem, names = context.problem, constant_names(context)
    lines = [
        f"const {names[symbol(constant.name)]} = {vector([to_double(value) for value in constant.values])}"
        for constant in problem.constants
    ]
    for name, matrix in problem.matrices.items():
        rows = "; ".join(" ".join(repr(to_double(v)) for v in matrix.row(i)) for i in range(matrix.rows))
        lines.append(f"const {names[symbol(name)]} = [{rows}]")
    used = {s.name for expr in context.all_expressions() for s in expr.free_symbols}
    if any(grid.name in used for grid in problem.grids):
        lines += [
            f"const {names[symbol(grid.name)]} = "
            f"collect(range({to_double(grid.first)!r}, {to_double(grid.last)!r}, {grid.points}))"
            for grid in problem.grids
        ]
    return lines + _static_lines(context, names)


def _static_lines(context: Context, names: dict[Symbol, str]) -> list[str]:
    problem = context.problem
    arrays = {symbol(c.name): FlatArray(names[symbol(c.name)], 0, c.shape) for c in problem.constants}
    for axis, grid in enumerate(problem.grids):
        arrays[symbol(grid.name)] = FlatArray(names[symbol(grid.name)], 0, problem.grid_shape, axis)
    loops = ", ".join(f"{axis} in 1:{n}" for axis, n in reversed(list(zip(AXES, problem.grid_shape, strict=False))))
    lines: list[str] = []
    for expression, static in context.statics.items():
        body = Body(problem.grid_shape, arrays, {}, problem.grids, context.names)
        code = body.value(expression)
        values = f"[{code} for {loops}]"
        # The comprehension's first index is the one that runs fastest, which in C order is the last one.
        lines.append(f"const {names[static]} = {f'vec({values})' if len(problem.grid_shape) > 1 else values}")
    return lines


def vector(values: list[float]) -> str:
    """A vector literal."""
    return f"[{', '.join(repr(value) for value in values)}]"

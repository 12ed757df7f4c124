"""The operators of the expression language: what their calls mean, which arguments they take, which shapes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

import sympy
from sympy import Symbol

from sciml_bench.spec.language.expression import Call, ExpressionError, Typed
from sciml_bench.spec.language.lookup import Table
from sciml_bench.spec.language.matrix import Matrices
from sciml_bench.spec.language.operators import (
    MIRRORED,
    PERIODIC,
    At,
    Difference,
    Dot,
    IndexedSum,
    Item,
    Laplacian,
    Node,
    Shift,
    Total,
    TridiagonalSolve,
)
from sciml_bench.spec.language.shapes import broadcast, describe
from sciml_bench.spec.model import symbol
from sciml_bench.spec.quantities import Grid, Parameter

Operators = dict[str, Callable[[Call], Typed]]


def operators(grids: tuple[Grid, ...], matrices: Matrices, vectors: tuple[Parameter, ...] = ()) -> Operators:
    """The operators available to a problem with these grids, matrices and constant vectors."""
    shape = tuple(grid.points for grid in grids)
    return {
        "laplacian": lambda call: _laplacian(call, grids, shape),
        "gradient": lambda call: _gradient(call, grids, shape),
        "shift": lambda call: _shift(call, grids, shape),
        "sum": _sum,
        "dot": _dot,
        "matmul": matrices.product,
        "solve_tridiagonal": _solve_tridiagonal,
        "interp": lambda call: _interp(call, {symbol(vector.name): vector.values for vector in vectors}),
    }


def _arguments(call: Call, least: int, most: int, keywords: tuple[str, ...] = ()) -> None:
    if not least <= len(call.arguments) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise ExpressionError(f"{call.name} takes {wanted} arguments, not {len(call.arguments)}")
    for keyword in call.keywords:
        if keyword not in keywords:
            raise ExpressionError(f"{call.name} has no argument '{keyword}'")


def _edge(grid: Grid) -> Node:
    if grid.boundary == "periodic":
        return PERIODIC
    return MIRRORED if grid.boundary == "neumann" else grid.boundary_value


def _field(call: Call, shape: tuple[int, ...]) -> Typed:
    operand = call.parser.visit(call.arguments[0])
    if not shape or operand.shape != shape:
        raise ExpressionError(f"{call.name} takes a field on the grid, not a {describe(operand.shape)}")
    return operand


def _axis(call: Call, node: ast.expr | None, grids: tuple[Grid, ...]) -> int:
    if node is None:
        if len(grids) > 1:
            raise ExpressionError(f"{call.name} needs its axis: {' or '.join(grid.name for grid in grids)}")
        return 0
    names = [grid.name for grid in grids]
    if not isinstance(node, ast.Name) or node.id not in names:
        raise ExpressionError(f"the axis of {call.name} must be one of {', '.join(names)}")
    call.parser.scope.used.add(node.id)
    return names.index(node.id)


def _laplacian(call: Call, grids: tuple[Grid, ...], shape: tuple[int, ...]) -> Typed:
    _arguments(call, 1, 1)
    operand = _field(call, shape)
    return Typed(Laplacian(operand.expr, *(_edge(grid) for grid in grids)), shape)


def _gradient(call: Call, grids: tuple[Grid, ...], shape: tuple[int, ...]) -> Typed:
    _arguments(call, 1, 2)
    operand = _field(call, shape)
    axis = _axis(call, call.arguments[1] if len(call.arguments) == 2 else None, grids)
    return Typed(Difference(operand.expr, sympy.Integer(axis), _edge(grids[axis])), shape)


def _shift(call: Call, grids: tuple[Grid, ...], shape: tuple[int, ...]) -> Typed:
    _arguments(call, 2, 3, ("axis", "fill"))
    operand = call.parser.visit(call.arguments[0])
    if not operand.shape:
        raise ExpressionError("shift takes a vector or a field, not a scalar")
    on_grid = operand.shape == shape
    if len(operand.shape) == 2 and not on_grid:
        raise ExpressionError(f"shift takes a vector or a field on the grid, not a {describe(operand.shape)}")
    axis = _axis(call, call.keywords.get("axis"), grids) if on_grid else 0
    places = call.parser.constant_integer(call.arguments[1])
    if not 0 < abs(places) < operand.shape[axis]:
        raise ExpressionError(f"shift by {places} places does not fit {operand.shape[axis]} elements")
    fill = call.arguments[2] if len(call.arguments) == 3 else call.keywords.get("fill")
    edge: Node = _edge(grids[axis]) if on_grid else sympy.S.Zero
    if fill is not None:
        value = call.parser.visit(fill)
        if value.shape:
            raise ExpressionError("the value outside the array must be a scalar")
        edge = value.expr
    return Typed(Shift(operand.expr, sympy.Integer(places), sympy.Integer(axis), edge), operand.shape)


def _sum(call: Call) -> Typed:
    _arguments(call, 1, 2)
    if len(call.arguments) == 1:
        operand = call.parser.visit(call.arguments[0])
        if not operand.shape:
            raise ExpressionError("sum takes a vector or a field, not a scalar")
        return Typed(Total(operand.expr))
    index, excluded = _summation_index(call)
    with call.parser.with_index(index):
        body = call.parser.visit(call.arguments[0])
    j = Symbol(index, integer=True)
    if not any(atom.args[1] == j for atom in body.expr.atoms(At)):
        raise ExpressionError(f"nothing depends on the index '{index}' of the sum")
    others = {atom.args[1] for atom in body.expr.atoms(At)} - {j}
    left_out = j if excluded is None else Symbol(excluded, integer=True)
    free = bool(others) or excluded is not None
    return Typed(
        IndexedSum(body.expr, j, left_out, sympy.Integer(body.shape[0])),
        body.shape if free else (),
    )


def _summation_index(call: Call) -> tuple[str, str | None]:
    match call.arguments[1]:
        case ast.Name(id=name):
            return name, None
        case ast.Compare(left=ast.Name(id=name), ops=[ast.NotEq()], comparators=[ast.Name(id=other)]):
            if other not in call.parser.free_indices:
                raise ExpressionError(f"'{other}' is not an index here")
            return name, other
        case _:
            raise ExpressionError("the second argument of sum is an index, as j or j != i")


def _dot(call: Call) -> Typed:
    _arguments(call, 2, 2)
    a, b = (call.parser.visit(argument) for argument in call.arguments)
    if not a.shape or a.shape != b.shape:
        raise ExpressionError(f"dot takes two arrays of one shape, not {describe(a.shape)} and {describe(b.shape)}")
    return Typed(Dot(a.expr, b.expr))


def _solve_tridiagonal(call: Call) -> Typed:
    _arguments(call, 4, 4)
    operands = [call.parser.visit(argument) for argument in call.arguments]
    shape = operands[3].shape
    if len(shape) != 1:
        raise ExpressionError("the right-hand side of solve_tridiagonal must be a vector")
    for operand in operands[:3]:
        if broadcast(operand.shape, shape) != shape:
            raise ExpressionError(
                "the diagonals of solve_tridiagonal must be scalars or as long as its right-hand side"
            )
    return Typed(TridiagonalSolve(*(operand.expr for operand in operands)), shape)


def _interp(call: Call, vectors: Mapping[Node, tuple[Node, ...]]) -> Typed:
    """Straight lines between the points of a table, and its first and last value outside."""
    _arguments(call, 3, 3)
    at = call.parser.visit(call.arguments[0])
    places, values = (_row(call, argument, vectors) for argument in call.arguments[1:])
    if any(not place.is_number for place in places):
        raise ExpressionError("the places of interp are numbers, only its values may be more")
    return Typed(Table(places, values).at(at.expr), at.shape)


def _row(call: Call, node: ast.expr, vectors: Mapping[Node, tuple[Node, ...]]) -> tuple[Node, ...]:
    """A row of numbers: a list, or a vector by its name."""
    if isinstance(node, ast.List | ast.Tuple):
        entries = [call.parser.visit(entry) for entry in node.elts]
        if any(entry.shape for entry in entries):
            raise ExpressionError("the lists of interp hold single numbers")
        return tuple(entry.expr for entry in entries)
    row = call.parser.visit(node)
    if len(row.shape) != 1:
        form = "interp(t, [0, 1], [5, 7])"
        raise ExpressionError(f"interp takes a place, then lists or vectors of places and of values: {form}")
    return vectors.get(row.expr) or tuple(Item(row.expr, sympy.Integer(i)) for i in range(row.shape[0]))

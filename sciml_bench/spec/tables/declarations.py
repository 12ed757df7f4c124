"""Loads what a problem is made of: constants, parameters, grids and states."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from typing import Any

import sympy

from sciml_bench.spec.keys import A_NUMBER, EXPRESSION, NUMBERS, TEXTS, Choice, Key, Table, Whole, number_key
from sciml_bench.spec.language.expression import Typed
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.language.shapes import Shape
from sciml_bench.spec.model import symbol, to_double
from sciml_bench.spec.quantities import Grid, Parameter, State
from sciml_bench.spec.reader import MAX_COMPONENTS, Reader

POINTS = Whole("points", 3, MAX_COMPONENTS, required=True)
BOUNDARY = Choice("boundary", ("periodic", "dirichlet", "neumann"), "boundary", required=True)
GRID = Table(
    POINTS, number_key("first", required=True), number_key("last", required=True), number_key("step"), BOUNDARY,
    Key("boundary_value", EXPRESSION),
)  # fmt: skip
SCALE = Choice("scale", ("linear", "log", "log10"), "scale of a parameter", "linear")
PARAMETER = Table(Key("value", A_NUMBER, required=True), SCALE)
SIZE = Whole("size", 1, MAX_COMPONENTS)
STATE = Table(
    Key("initial", NUMBERS, required=True), SIZE, Key("grid", TEXTS), Key("scale", NUMBERS), Key("atol_scale", NUMBERS)
)


def load_constants(reader: Reader) -> tuple[tuple[Parameter, ...], dict[str, sympy.ImmutableDenseMatrix]]:
    """Declare the constants: scalars by their value, vectors as symbols, matrices for ``matmul`` only."""
    vectors: list[Parameter] = []
    matrices: dict[str, sympy.ImmutableDenseMatrix] = {}
    for name, value in reader.document.table("constants").items():
        if not isinstance(value, list):
            reader.declare(name, "constants", Typed(reader.constant(value, "constants", name)))
        elif value and all(isinstance(row, list) for row in value):
            rows = [reader.constants(row, "constants", name) for row in value]
            if len({len(row) for row in rows}) != 1:
                raise reader.document.error(f"the rows of '{name}' have different lengths.", "constants", name)
            matrices[name] = sympy.ImmutableDenseMatrix(rows)
            reader.declared_in[name] = "constants"
        else:
            values = _vector(reader, value, "constants", name)
            vectors.append(Parameter(name, (len(values),), values))
            reader.declare(name, "constants", None, (len(values),))
    return tuple(vectors), matrices


def load_parameters(reader: Reader) -> tuple[Parameter, ...]:
    """Declare the parameters as symbols and return their exact values."""
    parameters: list[Parameter] = []
    for name, value in reader.document.table("parameters").items():
        if isinstance(value, dict):
            parameters.append(_scaled(reader, name, value))
            continue
        if isinstance(value, list):
            values = _vector(reader, value, "parameters", name)
            shape: Shape = (len(values),)
        else:
            values, shape = (reader.constant(value, "parameters", name),), ()
        parameters.append(Parameter(name, shape, values))
    for parameter in parameters:
        reader.declare(parameter.name, "parameters", None, parameter.shape)
    return tuple(parameters)


def _scaled(reader: Reader, name: str, data: dict[str, Any]) -> Parameter:
    """A number with the scale on which it is estimated."""
    document, table = reader.document, f"parameters.{name}"
    PARAMETER.check(document, data, table)
    if "value" not in data:
        raise document.error(f"'{name}' has no value.", "parameters", name, "Add `value = …`.")
    value = reader.constant(data["value"], "parameters", name)
    scale = SCALE.read(document, data, "parameters", at=name)
    if scale != "linear" and not value > 0:
        raise document.error(f"'{name}' must be positive to have a logarithm.", "parameters", name)
    return Parameter(name, (), (value,), scale)


def _vector(reader: Reader, value: list[Any], table: str, key: str) -> tuple[Node, ...]:
    if not 1 <= len(value) <= MAX_COMPONENTS:
        raise reader.document.error(f"'{key}' must have 1 to {MAX_COMPONENTS} elements.", table, key)
    return reader.constants(value, table, key)


def load_grids(reader: Reader) -> tuple[Grid, ...]:
    """Declare the axes' coordinates as symbols and return the grids; all fields live on all axes."""
    grids: list[Grid] = []
    for name, data in reader.document.table("grids").items():
        table = f"grids.{name}"
        if not isinstance(data, dict):
            raise reader.document.error(f"'{name}' must be a table.", "grids", name, f"Write it as [{table}].")
        GRID.check(reader.document, data, table)
        grids.append(_grid(reader, name, data, table))
    if len(grids) > 2:
        raise reader.document.error("more than two axes are not supported.", "grids")
    for grid in grids:
        # A coordinate broadcasts against the whole field, so expressions see it with the field's shape.
        reader.declare(grid.name, f"grids.{grid.name}", None, tuple(other.points for other in grids))
    return tuple(grids)


def _grid(reader: Reader, name: str, data: dict[str, Any], table: str) -> Grid:
    points = POINTS.read(reader.document, data, table)
    for key in ("first", "last"):
        if key not in data:
            raise reader.document.error(f"[{table}] is missing '{key}'.", table)
    first, last = (reader.constant(data[key], table, key) for key in ("first", "last"))
    if not last > first:
        raise reader.document.error("'last' must be larger than 'first'.", table, "last")
    step = reader.constant(data["step"], table, "step") if "step" in data else (last - first) / (points - 1)
    if not step > 0:
        raise reader.document.error("'step' must be positive.", table, "step")
    boundary = BOUNDARY.read(reader.document, data, table)
    value = Typed(sympy.S.Zero)
    if "boundary_value" in data:
        if boundary != "dirichlet":
            cure = "Fluxes at a boundary are missing: neumann has none; add one to the outermost point as a source."
            raise reader.document.error(
                "'boundary_value' belongs to a dirichlet boundary.", table, "boundary_value", cure
            )
        value = reader.expression(data["boundary_value"], table, "boundary_value")
        if value.shape:
            raise reader.document.error("'boundary_value' must be a scalar.", table, "boundary_value")
    return Grid(name, points, first, last, step, boundary, value.expr)


def load_states(reader: Reader, grids: tuple[Grid, ...]) -> tuple[State, ...]:
    """Declare the states as symbols and return them with exact initial values."""
    states = [_state(reader, name, value, grids) for name, value in reader.document.table("states", True).items()]
    if not states:
        raise reader.document.error("[states] is empty.", "states", cure="A problem needs at least one state.")
    if sum(state.size for state in states) > MAX_COMPONENTS:
        raise reader.document.error(f"the state has more than {MAX_COMPONENTS} components.", "states")
    for state in states:
        reader.declare(state.name, "states", None, state.shape)
    return tuple(states)


def _state(reader: Reader, name: str, value: Any, grids: tuple[Grid, ...]) -> State:
    data = value if isinstance(value, dict) else {"initial": value}
    STATE.check(reader.document, data, f"states.{name}")
    if "initial" not in data:
        raise reader.document.error(f"'{name}' has no initial value.", "states", name, "Add `initial = …`.")
    start = None if "grid" in data or "size" in data else _start(reader, name, data["initial"])
    if start is not None:
        shape, initial = start.shape, (sympy.S.Zero,) * (start.shape[0] if start.shape else 1)
    else:
        shape, initial = _initial(reader, name, data, grids)
    scale = scale_of(reader, name, data, "scale", len(initial), None)
    return State(
        name=name,
        shape=shape,
        grids=tuple(grid.name for grid in grids) if "grid" in data else (),
        initial=initial,
        scale=scale,
        atol_scale=scale_of(reader, name, data, "atol_scale", len(initial), scale),
        start=None if start is None else start.expr,
        start_text="" if start is None else data["initial"],
    )


def _start(reader: Reader, name: str, initial: Any) -> Typed | None:
    """An initial value that depends on theta or data of the trajectory; ``None`` for numbers and other values."""
    if not isinstance(initial, str):
        return None
    typed = reader.expression(initial, "states", name, reader.outer_scope())
    vectors = {symbol(key) for key, table in reader.declared_in.items() if table == "constants"}
    if not typed.expr.free_symbols - vectors:
        return None
    if len(typed.shape) > 1:
        raise reader.document.error(f"the initial value of '{name}' must be a number or a vector.", "states", name)
    return typed


def _initial(
    reader: Reader, name: str, data: dict[str, Any], grids: tuple[Grid, ...]
) -> tuple[Shape, tuple[Node, ...]]:
    initial = data["initial"]
    if "grid" in data:
        if list(data["grid"]) != [grid.name for grid in grids] or not grids:
            axes = ", ".join(grid.name for grid in grids) or "none"
            raise reader.document.error(
                f"the grid of '{name}' must list every axis in order (declared: {axes}).", "states", name
            )
        return tuple(grid.points for grid in grids), _field(reader, name, initial, grids)
    if isinstance(initial, list):
        values = _vector(reader, initial, "states", name)
        if "size" in data and data["size"] != len(values):
            raise reader.document.error(
                f"'{name}' has {len(values)} initial values, but its size is {data['size']}.", "states", name
            )
        return (len(values),), values
    if "size" in data:
        size = SIZE.read(reader.document, data, "states")
        return (size,), _sequence(reader, name, initial, size)
    return (), (reader.constant(initial, "states", name),)


def _sequence(reader: Reader, name: str, initial: Any, size: int) -> tuple[Node, ...]:
    index = symbol("i")
    typed = reader.expression(initial, "states", name, reader.constants_scope(i=Typed(index)))
    _check_count(reader, name, typed.expr, size)
    return tuple(_real(reader, typed.expr.xreplace({index: sympy.Integer(i)}), name) for i in range(size))


MAX_COMPUTED = 100_000
"""Initial values that are computed of a formula, about a millisecond each."""


def _check_count(reader: Reader, name: str, formula: Node, count: int) -> None:
    if formula.free_symbols and count > MAX_COMPUTED:
        raise reader.document.error(
            f"'{name}' has more than {MAX_COMPUTED} initial values that follow from a formula.", "states", name
        )


def _field(reader: Reader, name: str, initial: Any, grids: tuple[Grid, ...]) -> tuple[Node, ...]:
    points = tuple(grid.points for grid in grids)
    if isinstance(initial, list):
        given = _vector(reader, initial, "states", name)
        if len(given) != sympy.prod(points):
            raise reader.document.error(f"'{name}' needs {sympy.prod(points)} initial values.", "states", name)
        return given
    if math.prod(points) > MAX_COMPONENTS:
        raise reader.document.error(f"'{name}' has more than {MAX_COMPONENTS} components.", "states", name)
    coordinates = {grid.name: Typed(symbol(grid.name)) for grid in grids}
    expr = reader.expression(initial, "states", name, reader.constants_scope(**coordinates)).expr
    _check_count(reader, name, expr, math.prod(points))
    for grid in grids:
        reader.scope.used.discard(grid.name)

    @cache
    def value(*place: Node) -> Node:
        return _real(reader, expr.xreplace(dict(zip(axes, place, strict=True))), name)

    axes = [symbol(grid.name) for grid in grids]
    # A formula that does not read an axis has one value all along it.
    read = [
        [grid.coordinate(i * (axis in expr.free_symbols)) for i in range(grid.points)]
        for axis, grid in zip(axes, grids, strict=True)
    ]
    return tuple(value(*place) for place in product(*read))


def _real(reader: Reader, value: Node, name: str) -> Node:
    if value.is_Rational:
        return value
    approximate = complex(value.evalf(15)) if value.is_number else complex("nan")
    if approximate != approximate or abs(approximate.imag) > 0 or abs(approximate) == float("inf"):
        raise reader.document.error(
            f"the initial value of '{name}' is {value}, not a finite real number.", "states", name
        )
    return value


def scale_of(
    reader: Reader,
    name: str,
    data: dict[str, Any],
    key: str,
    size: int,
    default: tuple[float, ...] | None,
    table: str = "states",
) -> tuple[float, ...]:
    """Positive sizes of a state's components, under ``key``: one for each, or one for all."""
    if key not in data:
        return default if default is not None else (1.0,) * size
    given = data[key] if isinstance(data[key], list) else [data[key]]
    values = tuple(to_double(value) for value in reader.constants(given, f"{table}.{name}", key))
    if len(values) not in (1, size) or not all(value > 0 for value in values):
        raise reader.document.error(
            f"'{key}' of '{name}' must be positive: one number, or {size}.", f"{table}.{name}", key
        )
    return values if len(values) == size else values * size

"""Loads the conditions of an experiment: quantities that have a value in each, which is one trajectory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sympy

from sciml_bench.spec.batch import MAX_BATCH
from sciml_bench.spec.given import Given
from sciml_bench.spec.keys import CSV, Key, Table
from sciml_bench.spec.language.expression import ExpressionError, Typed, parse
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import symbol, to_double
from sciml_bench.spec.quantities import State
from sciml_bench.spec.reader import Reader
from sciml_bench.spec.table import Line, read_cells, table_name

CONDITIONS = Table(Key("file", CSV, required=True))
_TABLE, _KEY, _COLUMN = "conditions", "file", "condition"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Quantity:
    """A quantity by the name of its column, with its value before the solve."""

    name: str
    value: Node


@dataclass(frozen=True)
class Conditions:
    """The names of the conditions, in order, and of the columns, with the quantities that differ between conditions.

    ``given`` are the data of these.
    """

    names: tuple[str, ...] = ("",)
    columns: tuple[str, ...] = ()
    quantities: tuple[Quantity, ...] = ()
    given: tuple[Given, ...] = ()


NO_CONDITIONS = Conditions()


def load_conditions(reader: Reader) -> Conditions:
    """The conditions in the file that ``[conditions]`` names: a line for each, a column for each quantity.

    A cell is a number or a formula of parameters. Quantities are declared like constants; if they differ, initial
    values take them from the data of the trajectory, and equations as states that stay as they are.
    """
    document = reader.document
    if _TABLE not in document.data:
        return NO_CONDITIONS
    data = document.table(_TABLE)
    CONDITIONS.check(document, data, _TABLE)
    if "data" in document.data:
        cure = "Make the columns of the data quantities of the conditions."
        raise document.error("a problem has [conditions] or [data], not both.", _TABLE, "", cure)
    name = table_name(reader, document.string(data, _KEY, _TABLE), _TABLE, _KEY)
    header, lines = read_cells(reader, name, _TABLE, _KEY)
    if header[0] != _COLUMN or len(set(header)) < len(header):
        cure = "As in `condition,dose,temperature`; each name is there once."
        raise document.error(f"the first column of {name} must be '{_COLUMN}'.", _TABLE, _KEY, cure)
    names = _names(reader, name, header, lines)
    quantities, given = list[Quantity](), list[Given]()
    for place, column in enumerate(header[1:], start=1):
        values = [_value(reader, line, column, line.cells[place]) for line in lines]
        quantity, data_of = _quantity(column, values)
        same = not data_of
        reader.declare(column, _TABLE, Typed(quantity.value) if same else None)
        for item in data_of:
            reader.claim(item.name, _TABLE)
        if not same:
            reader.outer[column] = Typed(quantity.value)
            quantities.append(quantity)
        given += data_of
    return Conditions(names, tuple(header[1:]), tuple(quantities), tuple(given))


def _names(reader: Reader, file: str, header: list[str], lines: Sequence[Line]) -> tuple[str, ...]:
    if not lines or len(lines) > MAX_BATCH:
        cure = f"It has a line for each condition, at most {MAX_BATCH}, after the line that names the columns."
        raise reader.document.error(f"{file} has {len(lines)} conditions.", _TABLE, _KEY, cure)
    seen = set[str]()
    for line in lines:
        if len(line.cells) != len(header):
            raise line.error(f"{len(line.cells)} values for {len(header)} columns.")
        if not line.cells[0] or line.cells[0] in seen:
            raise line.error(f"the condition '{line.cells[0]}' must have a name that no line before has.")
        seen.add(line.cells[0])
    return tuple(line.cells[0] for line in lines)


def _value(reader: Reader, line: Line, column: str, text: str) -> Node:
    if not text or _NUMBER.fullmatch(text):
        return sympy.Rational(repr(line.number(column, text)))
    try:
        typed = parse(text, reader.outer_scope())
    except ExpressionError as error:
        raise line.error(f"in '{column}': {error}.") from None
    if typed.shape:
        raise line.error(f"'{column}' is a vector, but must be a number.")
    return typed.expr


def _quantity(name: str, values: list[Node]) -> tuple[Quantity, list[Given]]:
    """A quantity of the trajectories: its number, and each formula times whether the condition has it."""
    if len(set(values)) == 1:
        return Quantity(name, values[0]), []
    formulas = [value for value in dict.fromkeys(values) if not value.is_number]
    numbers = [to_double(value) if value.is_number else 0.0 for value in values]
    base = name.rstrip("_")
    columns = [(f"{base}_given", numbers)] if any(numbers) or not formulas else []
    columns += [(f"{base}_is_{k}", [float(value == formula) for value in values])
                for k, formula in enumerate(formulas, start=1)]  # fmt: skip
    factors = [sympy.S.One] * (len(columns) - len(formulas)) + formulas
    terms = [symbol(column) * factor for (column, _), factor in zip(columns, factors, strict=True)]
    given = [Given(column, (), tuple((number,) for number in row)) for column, row in columns]
    return Quantity(name, sympy.Add(*terms)), given


def constant_states(conditions: Conditions, expressions: Iterable[Node]) -> tuple[State, ...]:
    """A state for each quantity that the expressions read: their equations take no data of the trajectory."""
    read = {name for expr in expressions for name in expr.free_symbols}
    states: list[State] = []
    for quantity in conditions.quantities:
        if symbol(quantity.name) in read:
            sizes = [abs(number) for given in conditions.given for (number,) in given.rows
                     if given.name == f"{quantity.name.rstrip('_')}_given"]  # fmt: skip
            scale = max([*sizes, 0.0]) or 1.0
            text = f"{quantity.name} of the condition"
            states.append(State(quantity.name, (), (), (sympy.S.Zero,), (scale,), (scale,), quantity.value, text))
    return tuple(states)

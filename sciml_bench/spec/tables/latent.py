"""Loads the computations before and after the solve: data of each trajectory, and their encoding."""

from __future__ import annotations

import re
from dataclasses import replace

from sciml_bench.spec.given import Given
from sciml_bench.spec.keys import CSV, TEXTS, Key, Table
from sciml_bench.spec.language.expression import Typed
from sciml_bench.spec.language.operators import Dot, Item, NetworkOutput, Node, Operator, Total, Where
from sciml_bench.spec.language.shapes import Shape, shape_of
from sciml_bench.spec.model import Problem, labels, symbol
from sciml_bench.spec.quantities import Definition
from sciml_bench.spec.reader import Reader
from sciml_bench.spec.table import read_table, table_name

DATA = Table(Key("file", CSV, required=True), Key("columns", TEXTS))
MAX_COLUMNS = 10_000
_LABEL = re.compile(r"([A-Za-z][A-Za-z0-9_]*)(?:\[(\d+)(?:,(\d+))?\])?")
#: What may be computed before and after the solve of many trajectories at once, besides elementwise functions.
_OF_TRAJECTORIES = (NetworkOutput, Total, Dot, Item, Where)


def load_given(reader: Reader) -> tuple[Given, ...]:
    """The columns of the data file as named quantities of each trajectory, a row for each; none without ``[data]``.

    A name has one column (a number), columns ``x[0]``, ``x[1]``, … (a vector) or ``x[0,0]``, ``x[0,1]``, … (a series:
    times, then channels). They are declared for initial values and losses; series for recurrent networks only.
    """
    document, data = reader.document, reader.document.table("data")
    if "data" not in document.data:
        return ()
    DATA.check(document, data, "data")
    name = table_name(reader, document.string(data, "file", "data"), "data", "file")
    header, rows = read_table(reader, name, "data", "file")
    if not rows:
        cure = "It has a row for each trajectory, after the line that names the columns."
        raise document.error(f"{name} has no rows.", "data", "file", cure)
    shapes = _shapes(reader, name, header)
    _check_columns(reader, name, shapes)
    found: list[Given] = []
    start = 0
    for quantity, shape in shapes.items():
        end = start + len(labels(quantity, shape))
        found.append(Given(quantity, shape, tuple(row[start:end] for row in rows)))
        start = end
        reader.claim(quantity, "data")
        if len(shape) == 2:
            reader.series[quantity] = shape
        else:
            reader.outer[quantity] = Typed(symbol(quantity), shape)
    return tuple(found)


def _shapes(reader: Reader, file: str, header: list[str]) -> dict[str, Shape]:
    """The quantities of a header in order, with their shapes; each must have all its columns, in C order."""
    document = reader.document
    last: dict[str, Shape] = {}
    for column in header[: MAX_COLUMNS + 1]:
        match = _LABEL.fullmatch(column.replace(" ", ""))
        if match is None:
            cure = "Columns are named like label, x[0] or x[0,1]."
            raise document.error(f"{file}: '{column[:40]}' cannot be a column.", "data", "file", cure)
        last[match[1]] = tuple(int(index) + 1 for index in match.groups()[1:] if index is not None)
    wanted = [label for name, shape in last.items() for label in _limited(name, shape)]
    written = [column.replace(" ", "") for column in header]
    if written != wanted:
        place = next((i for i, pair in enumerate(zip(written, wanted, strict=False)) if pair[0] != pair[1]), -1)
        shown = (
            f"column {place + 1} is '{header[place]}', wanted: '{wanted[place]}'" if place >= 0 else "one is missing"
        )
        cure = "The columns of a vector count from 0 and are adjacent; a series is stored with its channels first."
        raise document.error(f"{file}: {shown}.", "data", "file", cure)
    return last


def _limited(name: str, shape: Shape) -> list[str]:
    size = 1
    for n in shape:
        size *= n
    return labels(name, shape) if size <= MAX_COLUMNS else [name]


def _check_columns(reader: Reader, file: str, shapes: dict[str, Shape]) -> None:
    """Quantities listed in the problem file must be the ones of the data file."""
    listed = reader.document.table("data").get("columns", list(shapes))
    if listed != list(shapes):
        cure = f"{file} has {', '.join(shapes)}, in this order."
        raise reader.document.error("'columns' must list the quantities of the data file.", "data", "columns", cure)


def load_encoding(reader: Reader) -> tuple[Definition, ...]:
    """Quantities that are computed from theta and the data before the solve, each declared for the following ones."""
    found: list[Definition] = []
    for name, text in reader.document.table("encoding").items():
        typed = reader.expression(text, "encoding", name, reader.outer_scope())
        reader.claim(name, "encoding")
        found.append(Definition(name, typed.shape, typed.expr, str(text)))
        reader.outer[name] = Typed(symbol(name), typed.shape)
    return tuple(found)


def checked(reader: Reader, problem: Problem) -> Problem:
    """The problem with the data of its trajectories only, when all that stands around its solve can be computed.

    Raises:
        ProblemError: there are grids, or no parameters, or it cannot be written for many trajectories at once.
    """
    document = reader.document
    declared = [given.name for given in problem.given if reader.declared_in.get(given.name) == "data"]
    reader.refuse_unused("data", [name for name in declared if name != problem.loss.given])
    reader.refuse_unused("encoding", [definition.name for definition in problem.encoding])
    if not problem.latent:
        return problem
    table = next(name for name in ("data", "encoding", "states", "loss") if name in document.data)
    if problem.grids:
        cure = "Write the fields as vectors, or leave out the computations before and after the solve."
        message = "problems on grids have no data of trajectories, computed initial values or observed losses."
        raise document.error(message, "grids", "", cure)
    if problem.wrt != "parameters":
        raise document.error("there is nothing to differentiate by.", table, "", "Declare parameters or networks.")
    if problem.batch.size > 1:
        _refuse_mixed(reader, problem)
    return replace(problem, given=tuple(replace(g, rows=g.rows[: problem.batch.size]) for g in problem.given))


def _refuse_mixed(reader: Reader, problem: Problem) -> None:
    """Refuse, of a batch, what mixes numbers of each trajectory with vectors, or does not depend on the trajectory."""
    shapes = problem.shapes
    same = {symbol(quantity.name) for quantity in (*problem.parameters, *problem.constants)}
    places = [("encoding", definition.name, definition.expr) for definition in problem.encoding]
    places += [(f"states.{state.name}", "initial", state.start) for state in problem.states if state.start is not None]
    places += [
        ("loss", key, expr) for key, expr in (("of", problem.loss.of), ("penalty", problem.loss.penalty)) if expr
    ]
    for table, key, expr in places:
        reason = _mixed(expr, shapes, same)
        if reason:
            cure = "Compute the vector as a whole, with a network for instance, or leave one trajectory."
            raise reader.document.error(f"in '{key}', of a batch: {reason}.", table, key, cure)


def _mixed(expr: Node, shapes: dict[Node, Shape], same: set[Node]) -> str:
    """Return why an expression cannot be computed for many trajectories at once; empty if it can."""
    if isinstance(expr, Operator) and not isinstance(expr, _OF_TRAJECTORIES):
        return f"{type(expr).__name__} is for single trajectories"
    arguments = expr.args[1:] if isinstance(expr, NetworkOutput) else expr.args
    varying = [a for a in arguments if a.free_symbols - same]
    if isinstance(expr, NetworkOutput) and not varying:
        return f"the network {expr.args[0]} gets the same inputs in every trajectory"
    if not isinstance(expr, NetworkOutput | Item | Total | Dot):
        ranks = {len(shape_of(argument, shapes)) for argument in varying}
        if len(ranks) > 1:
            return f"'{expr}' mixes numbers of each trajectory with vectors"
    operands = arguments[:1] if isinstance(expr, Item) else arguments
    return next((reason for argument in operands if (reason := _mixed(argument, shapes, same))), "")

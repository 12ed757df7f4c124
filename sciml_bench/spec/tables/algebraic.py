"""Loads algebraic equations: each variable that they determine becomes a state, with the derivative that they imply.

0 = g(t, y, z, p) beside y' = f(t, y, z, p) is of index 1 where the matrix g_z is regular. Its derivative along a
solution then gives z' = -g_z⁻¹ (g_t + g_y f), so that (y, z) solves a differential equation whose solutions keep g.
Started where g = 0, it has the solution of the given problem, and its gradient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Symbol

from sciml_bench.spec.keys import EXPRESSION, NUMBERS, Key, Table, number_key
from sciml_bench.spec.language.operators import Floor, Item, Node, Where
from sciml_bench.spec.model import symbol, to_double, written_out
from sciml_bench.spec.quantities import Definition, Parameter, State
from sciml_bench.spec.reader import Reader
from sciml_bench.spec.tables.consistent import NotConsistent, consistent_values
from sciml_bench.spec.tables.declarations import scale_of
from sciml_bench.spec.tables.elimination import NotFinite, Singular, solved

ALGEBRAIC = Table(
    Key("equation", EXPRESSION, required=True), number_key("near"), Key("scale", NUMBERS), Key("atol_scale", NUMBERS)
)
MAX_ALGEBRAIC = 50
_OTHER_TABLES = ("grids", "networks", "data", "encoding", "conditions", "control", "events", "implicit", "batch",
                 "training")  # fmt: skip


@dataclass(frozen=True)
class Algebraic:
    """The additions of algebraic equations to a problem: their expressions, and states with all that these need."""

    residuals: Mapping[str, Node]
    states: tuple[State, ...]
    definitions: tuple[Definition, ...]
    equations: Mapping[str, Node]
    encoding: tuple[Definition, ...]
    texts: Mapping[str, str]


NONE = Algebraic({}, (), (), {}, (), {})


def declare_algebraic(reader: Reader) -> dict[str, dict[str, Any]]:
    """Declare the variables, so that equations and definitions can read them, and return their tables.

    Raises:
        ProblemError: a table is wrong, or the problem has others that do not go with algebraic equations.
    """
    document = reader.document
    tables = document.table("algebraic")
    for name, data in tables.items():
        table = f"algebraic.{name}"
        for other in _OTHER_TABLES:
            if other in document.data:
                cure = f"Leave out [{other}]."
                raise document.error(f"algebraic equations and [{other}] cannot be in one problem.", table, cure=cure)
        if not isinstance(data, dict) or "equation" not in data:
            cure = f'As in [{table}] with equation = "x + {name} - 1", which is zero at all times.'
            raise document.error(f"'{name}' needs an equation.", table, cure=cure)
        ALGEBRAIC.check(document, data, table)
        if len(tables) > MAX_ALGEBRAIC:
            message = f"there are {len(tables)} algebraic equations; at most {MAX_ALGEBRAIC} are taken."
            raise document.error(message, table)
        reader.declare(name, table, None)
    return tables


def load_algebraic(
    reader: Reader,
    tables: Mapping[str, dict[str, Any]],
    states: Sequence[State],
    parameters: Sequence[Parameter],
    definitions: Sequence[Definition],
    equations: Mapping[str, Node],
    t0: Node,
) -> Algebraic:
    """The states that the algebraic equations determine, with consistent initial values.

    Raises:
        ProblemError: an equation is not smooth; they do not determine the variables; or no consistent values are found.
    """
    if not tables:
        return NONE
    _refuse_unsuited(reader, next(iter(tables)), (*states, *definitions), parameters)
    residuals = _residuals(reader, tables)
    plain = _smooth(reader, residuals, definitions)
    numbers = _numbers(reader, residuals, plain, parameters)
    names = [symbol(name) for name in tables]
    try:
        start = consistent_values(plain, names, _nears(reader, tables), states, numbers, t0)
        added, rates = _rates(plain, names, equations, start.point, definitions)
    except NotConsistent as error:
        cure = "Write `near = …`, a value near the one wanted, for each of them, and see that there is one."
        raise reader.document.error(f"{error}.", f"algebraic.{names[0].name}", "near", cure) from None
    except NotFinite as error:
        name = names[error.row].name
        cure = "Look for a division by zero, for log or sqrt of a negative number, and for numbers beyond 1e308."
        message = f"the equation of '{name}', or a derivative in it, has no finite real value at t0."
        raise reader.document.error(message, f"algebraic.{name}", "equation", cure) from None
    except Singular as error:
        name = names[error.column].name
        cure = "An equation must say what its variable is: differentiate a constraint that does not read it."
        raise reader.document.error(
            f"the algebraic equations do not determine '{name}': their Jacobian by {', '.join(map(str, names))} is"
            " singular at t0, so that the problem is not of index 1.", f"algebraic.{name}", "equation", cure,
        ) from None  # fmt: skip
    reader.scope.used.update(item.name for item in (*start.encoding, *added))
    return Algebraic(
        residuals=residuals,
        states=tuple(
            _state(reader, name, data, start.point[symbol(name)], start.computed.get(name))
            for name, data in tables.items()
        ),
        definitions=tuple(added),
        equations=dict(zip(tables, rates, strict=True)),
        encoding=start.encoding,
        texts={name: str(data["equation"]) for name, data in tables.items()},
    )


def refuse_residuals(reader: Reader, residuals: Mapping[str, Node], invariants: Mapping[str, Node]) -> None:
    """Refuse names that the residuals have as invariants.

    Raises:
        ProblemError: the file has such a name.
    """
    for name in residuals:
        taken = f"{name}_residual"
        if taken in invariants or taken in reader.declared_in:
            table = "invariants" if taken in invariants else reader.declared_in[taken]
            cure = "Choose another name."
            raise reader.document.error(
                f"'{taken}' is the name of what the algebraic equation of '{name}' leaves.", table, taken, cure
            )


def _refuse_unsuited(
    reader: Reader, name: str, quantities: Sequence[State | Definition], parameters: Sequence[Parameter]
) -> None:
    table = f"algebraic.{name}"
    if any(item.shape for item in quantities):
        cure = "Write every component as a separate state or definition."
        message = "algebraic equations need states and definitions that are single numbers."
        raise reader.document.error(message, table, cure=cure)
    if not parameters:
        cure = "Declare what the gradient is by in [parameters]: not every initial value is free."
        raise reader.document.error("algebraic equations need parameters.", table, cure=cure)


def _smooth(reader: Reader, residuals: Mapping[str, Node], definitions: Sequence[Definition]) -> list[Node]:
    """The expressions in terms of states, parameters and time alone; branches are refused."""
    known = written_out(definitions)
    found: list[Node] = []
    for name, residual in residuals.items():
        plain = residual.xreplace(known)
        if plain.has(Where, Floor, sympy.sign, sympy.Abs):
            cure = "Its variable would jump, or have a kink, where the equation branches."
            raise reader.document.error(
                f"the equation of '{name}' is not smooth.", f"algebraic.{name}", "equation", cure
            )
        found.append(plain)
    return found


def _numbers(
    reader: Reader, residuals: Mapping[str, Node], plain: Sequence[Node], parameters: Sequence[Parameter]
) -> dict[Node, Node]:
    """The numbers of parameters and constants, of vectors each element; vectors are read by element alone."""
    found: dict[Node, Node] = {}
    for item in parameters:
        name = symbol(item.name)
        keys = [name] if not item.shape else [Item(name, sympy.Integer(i)) for i in range(len(item.values))]
        found |= dict(zip(keys, item.values, strict=True))
    vectors = {symbol(item.name) for item in parameters if item.shape}
    for name, expr in zip(residuals, plain, strict=True):
        if expr.xreplace(found).free_symbols & vectors:
            cure = 'Take elements, as in "k[0]".'
            message = f"the equation of '{name}' reads a vector as a whole."
            raise reader.document.error(message, f"algebraic.{name}", "equation", cure)
    return found


def _rates(
    residuals: Sequence[Node],
    names: Sequence[Symbol],
    equations: Mapping[str, Node],
    point: Mapping[Node, Node],
    definitions: Sequence[Definition],
) -> tuple[list[Definition], list[Node]]:
    """The derivatives of the variables along a solution, and the definitions that they read."""
    point = dict(point)
    for item in definitions:
        point[symbol(item.name)] = item.expr.xreplace(point)
    right: list[Node] = []
    for residual in residuals:
        terms = (sympy.diff(residual, symbol(name)) * rhs for name, rhs in equations.items())
        right.append(-sympy.Add(sympy.diff(residual, symbol("t")), *terms))
    matrix = sympy.Matrix([[sympy.diff(residual, name) for name in names] for residual in residuals])
    return solved(matrix, right, point, "rate")


def _residuals(reader: Reader, tables: Mapping[str, dict[str, Any]]) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for name, data in tables.items():
        table = f"algebraic.{name}"
        found[name] = reader.fits(reader.expression(data["equation"], table, "equation"), (), table, "equation")
    return found


def _nears(reader: Reader, tables: Mapping[str, dict[str, Any]]) -> list[Node]:
    return [reader.constant(data.get("near", 0), f"algebraic.{name}", "near") for name, data in tables.items()]


def _state(reader: Reader, name: str, data: dict[str, Any], initial: Node, start: Node | None) -> State:
    scale = scale_of(reader, name, data, "scale", 1, None, "algebraic")
    return State(
        name=name, shape=(), grids=(), initial=(initial,), scale=scale,
        atol_scale=scale_of(reader, name, data, "atol_scale", 1, scale, "algebraic"), start=start,
        start_text="" if start is None else f"{to_double(initial):.12g}, from 0 = {data['equation']}",
    )  # fmt: skip

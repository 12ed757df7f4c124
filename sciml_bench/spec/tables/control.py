"""Paths through data of a trajectory, whose derivatives drive its equation: neural controlled differential equations.

P. Kidger, J. Morrill, J. Foster and T. Lyons, Neural controlled differential equations for irregular time series,
NeurIPS (2020); the cubic path is from J. Morrill et al., Neural CDEs for online prediction, arXiv 2106.11028. A path
may be a seeded Brownian motion instead, see :mod:`.brownian`.
"""

from __future__ import annotations

import ast
import itertools
from dataclasses import dataclass
from typing import Any

import sympy

from sciml_bench.spec.keys import A_NUMBER, SHA256, TEXT, Choice, Key, Table
from sciml_bench.spec.language.expression import Call, ExpressionError, Typed
from sciml_bench.spec.language.operators import ControlSlope, MatrixOf, Node
from sciml_bench.spec.language.shapes import describe
from sciml_bench.spec.model import symbol, to_double
from sciml_bench.spec.reader import Reader
from sciml_bench.spec.tables.brownian import BROWNIAN, Brownian, load_brownian

INTERPOLATIONS = ("hermite", "linear")
INTERPOLATION = Choice("interpolation", INTERPOLATIONS, "interpolation", "hermite")
# Its data are a series, not a file; a Brownian motion is drawn and has none.
CONTROL = Table(
    Key("data", TEXT), Key("times", {"type": "array", "items": A_NUMBER}), INTERPOLATION,
    Key("brownian", BROWNIAN.schema), Key("sha256", SHA256),
)  # fmt: skip


@dataclass(frozen=True)
class Control:
    """A path through the series ``data``, whose rows lie at the ``times``, which span the problem's.

    ``linear`` joins them by straight lines; ``hermite`` by cubics, whose derivative at each of the times is the slope
    of the line before it (at the first, of the line after it), so that the derivative is continuous. The series of a
    ``brownian`` motion is drawn, not read from a file.
    """

    name: str
    data: str
    times: tuple[Node, ...]
    interpolation: str
    channels: int
    brownian: Brownian | None = None

    def slope(self, interval: int, values: tuple[Node, ...], t: Node) -> Node:
        """The derivative of one channel on an interval between two times; ``values`` are its data."""

        def line(i: int) -> Node:
            return (values[i + 1] - values[i]) / (self.times[i + 1] - self.times[i])

        here, before = line(interval), line(max(interval - 1, 0))
        if self.interpolation == "linear":
            return here
        h = self.times[interval + 1] - self.times[interval]
        share = (t - self.times[interval]) / h
        return before + (here - before) * (4 * share - 3 * share**2)


def load_controls(reader: Reader, t0: Node, t1: Node) -> tuple[Control, ...]:
    """Declare the paths, for ``ddt(X)`` and ``apply(f(z), ddt(X))`` in equations."""
    found: list[Control] = []
    for name, data in reader.document.table("control").items():
        table = f"control.{name}"
        if not isinstance(data, dict):
            raise reader.document.error(f"'{name}' must be a table.", "control", name, f"Write it as [{table}].")
        CONTROL.check(reader.document, data, table)
        make = _motion if "brownian" in data else _control
        found.append(make(reader, name, data, table, t0, t1))
        reader.claim(name, table)
    if found:
        by_name = {control.name: control for control in found}
        reader.scope.operators["ddt"] = lambda call: _slope(call, by_name)
        reader.scope.operators["apply"] = _apply
    return tuple(found)


def _control(reader: Reader, name: str, data: dict[str, Any], table: str, t0: Node, t1: Node) -> Control:
    document = reader.document
    if "sha256" in data:
        raise document.error("a path through data has no 'sha256'.", table, "sha256", "Remove it.")
    series = document.string(data, "data", table)
    if series not in reader.series:
        known = ", ".join(reader.series) or "nothing is declared"
        cure = f"Series among [data], with columns x[0,0], x[0,1], …: {known}."
        raise document.error(f"'{series}' is not a series among [data].", table, "data", cure)
    n_times, channels = reader.series[series]
    given = data.get("times")
    if not isinstance(given, list):
        raise document.error("'times' must be a list.", table, "times", f"Give the {n_times} times of '{series}'.")
    times = reader.constants(given, table, "times")
    increasing = all(a < b for a, b in itertools.pairwise(times))
    if len(times) != n_times or not increasing or times[0] != t0 or times[-1] != t1:
        cure = f"Give {n_times} times, the first {t0} and the last {t1}."
        raise document.error(
            "'times' must increase from t0 to t1, one for each time of the series.", table, "times", cure
        )
    interpolation = INTERPOLATION.read(document, data, table)
    reader.scope.used.add(series)
    return Control(name, series, times, interpolation, channels)


def _motion(reader: Reader, name: str, data: dict[str, Any], table: str, t0: Node, t1: Node) -> Control:
    motion = load_brownian(reader, data, table, to_double(t1 - t0))
    times = tuple(t0 + (t1 - t0) * sympy.Rational(k, motion.steps) for k in range(motion.steps + 1))
    series = f"{name}_values"
    reader.claim(series, table)
    reader.scope.used.add(series)
    return Control(name, series, times, "linear", motion.channels, motion)


def _slope(call: Call, controls: dict[str, Control]) -> Typed:
    first = call.arguments[0] if len(call.arguments) == 1 and not call.keywords else None
    if not isinstance(first, ast.Name) or first.id not in controls:
        raise ExpressionError(f"ddt takes a path of [control] ({', '.join(controls)})")
    call.parser.scope.used.add(first.id)
    return Typed(ControlSlope(symbol(first.id)), (controls[first.id].channels,))


def _apply(call: Call) -> Typed:
    if len(call.arguments) != 2 or call.keywords:
        raise ExpressionError("apply takes the entries of a matrix, row by row, and a vector")
    matrix, vector = (call.parser.visit(argument) for argument in call.arguments)
    if len(matrix.shape) != 1 or len(vector.shape) != 1 or matrix.shape[0] % vector.shape[0]:
        raise ExpressionError(
            f"apply takes the entries of a matrix, row by row, and a vector as long as a row,"
            f" not {describe(matrix.shape)} and {describe(vector.shape)}"
        )
    return Typed(MatrixOf(matrix.expr, vector.expr), (matrix.shape[0] // vector.shape[0],))

"""Loads measurements: in a block of an observable, in a file for each, or in one long file for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from sciml_bench.spec.keys import CSV, Key, Table
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.reader import Reader
from sciml_bench.spec.table import Line, read_cells, read_table, table_name

MEASUREMENTS = Table(Key("file", CSV, required=True))
_TABLE, _BLOCK = "measurements", "observables"
_COLUMNS = (["t", "value"], ["t", "value", "sigma"])
_REQUIRED = ("time", "observable", "value")
_OPTIONAL = ("sigma", "condition")


@dataclass(frozen=True)
class Measurement:
    """A value at a time, with its standard deviation unless a formula gives it, in a condition by its place."""

    time: Node
    value: Node
    sigma: Node | None
    condition: int = 0


def of_block(reader: Reader, block: dict[str, Any], formula: Node | None) -> tuple[Measurement, ...]:
    """The measurements of a block, or of its file; without sigmas if a formula gives these."""
    text = block["of"]
    if "data" in block:
        times, values, sigmas = _from_file(reader, block)
    else:
        times, values = (_numbers(reader, block.get(key, []), key) for key in ("times", "values"))
        sigmas = ()
    if formula is not None:
        noise: Sequence[Node | None] = [None] * len(times)
    else:
        noise = sigmas or _numbers(reader, block.get("sigma", 1), "sigma")
        noise = [*noise] * (len(times) if len(noise) == 1 else 1)
    if not len(times) == len(values) == len(noise) or not times:
        counts = f"{len(times)} times, {len(values)} values and {len(noise)} sigmas"
        raise reader.document.error(
            f"'{text}' has {counts}.", _BLOCK, "times", "Each time has a value; sigma may be one number."
        )
    return tuple(map(Measurement, times, values, noise))


def _from_file(reader: Reader, block: dict[str, Any]) -> tuple[tuple[Node, ...], tuple[Node, ...], tuple[Node, ...]]:
    """Times, values, and sigmas if the file has them."""
    document = reader.document
    if {"times", "values"} & block.keys():
        raise document.error("an observable has data, or times and values, not both.", _BLOCK, "data")
    name = table_name(reader, document.string(block, "data", _BLOCK), _BLOCK, "data")
    header, rows = read_table(reader, name, _BLOCK, "data")
    if header not in _COLUMNS or (len(header) == 3 and "sigma" in block):
        cure = "Give 'sigma' either in the file or in the block." if header in _COLUMNS else ""
        message = f"the columns of {name} are {', '.join(header[:8])}; wanted: t, value, and if you like sigma."
        raise document.error(message, _BLOCK, "data", cure)
    if not rows:
        raise document.error(f"{name} has no rows.", _BLOCK, "data")
    times, values, *further = (tuple(map(_exact, column)) for column in zip(*rows, strict=True))
    return times, values, further[0] if further else ()


def _exact(value: float) -> Node:
    """The decimal as which a double of a table is written."""
    return sympy.Rational(repr(value))


def _numbers(reader: Reader, value: Any, key: str) -> tuple[Node, ...]:
    return reader.constants(value if isinstance(value, list) else [value], _BLOCK, key)


class LongTable:
    """The file that ``[measurements]`` names: a line for each measurement, with the name of its observable.

    Columns are time, observable, value, and if you like sigma and condition, in any order. Lines without a value are
    missing measurements.
    """

    def __init__(self, reader: Reader, conditions: Sequence[str]):
        """Read the file; it must name every condition.

        Raises:
            ProblemError: a line names an unknown condition, or a cell is not a number.
        """
        document, data = reader.document, reader.document.table(_TABLE, True)
        MEASUREMENTS.check(document, data, _TABLE)
        self._reader = reader
        self.name = table_name(reader, document.string(data, "file", _TABLE), _TABLE, "file")
        header, lines = read_cells(reader, self.name, _TABLE, "file")
        wanted = [*_REQUIRED, *(["condition"] if len(conditions) > 1 else [])]
        missing = [column for column in wanted if column not in header]
        unknown = [column for column in header if column not in (*_REQUIRED, *_OPTIONAL)]
        if missing or unknown or len(set(header)) < len(header):
            cure = f"Columns are {', '.join(_REQUIRED)}, and if you like {' and '.join(_OPTIONAL)}."
            message = f"has no column '{missing[0]}'" if missing else f"has the columns {', '.join(header[:8])}"
            raise document.error(f"{self.name} {message}.", _TABLE, "file", cure)
        self._lines: dict[str, list[tuple[Line, Measurement]]] = {}
        for line in lines:
            self._add(line, header, conditions)
        measured = {item.condition for found in self._lines.values() for _, item in found}
        for place, condition in enumerate(conditions):
            if place not in measured:
                raise document.error(
                    f"the condition '{condition}' has no measurement in {self.name}.", _TABLE, "file",
                    "Remove the condition, or add its measurements.",
                )  # fmt: skip

    def _add(self, line: Line, header: list[str], conditions: Sequence[str]) -> None:
        if len(line.cells) != len(header):
            raise line.error(f"{len(line.cells)} values for {len(header)} columns.")
        cells = dict(zip(header, line.cells, strict=True))
        if not cells["value"]:
            return
        condition = cells.get("condition", "") or conditions[0]
        if condition not in conditions or (len(conditions) > 1 and not cells["condition"]):
            raise line.error(f"'{condition}' is not a condition.", f"Conditions: {', '.join(conditions[:10])}.")
        time, value = (_exact(line.number(column, cells[column])) for column in ("time", "value"))
        sigma = _exact(line.number("sigma", cells["sigma"])) if cells.get("sigma") else None
        found = Measurement(time, value, sigma, conditions.index(condition))
        self._lines.setdefault(cells["observable"], []).append((line, found))

    def of(self, block: dict[str, Any], formula: Node | None, t0: Node, t1: Node) -> tuple[Measurement, ...]:
        """The measurements of an observable, in the order of conditions and times.

        Raises:
            ProblemError: there are none, or one has a sigma although the observable has a formula.
        """
        document = self._reader.document
        name = document.string(block, "name", _BLOCK)
        for key in ("times", "values", "data"):
            if key in block:
                raise document.error(
                    f"the measurements of '{name}' are in {self.name}.", _BLOCK, key, f"Remove '{key}'."
                )
        if name not in self._lines:
            raise document.error(f"'{name}' has no measurement in {self.name}.", _BLOCK, "name")
        sigma: Node | None = None
        if formula is None:
            sigma, *more = _numbers(self._reader, block.get("sigma", 1), "sigma")
            if more:
                raise document.error("'sigma' must be one number or formula.", _BLOCK, "sigma")
        found: list[Measurement] = []
        for line, item in self._lines.pop(name):
            if formula is not None and item.sigma is not None:
                raise line.error(f"'{name}' has a formula of its sigma.", "Leave the cell empty.")
            if not t0 <= item.time <= t1:
                raise line.error(f"the time {item.time} is not between t0 and t1.")
            found.append(item if item.sigma is not None else Measurement(item.time, item.value, sigma, item.condition))
        return tuple(sorted(found, key=lambda item: (item.condition, item.time)))

    def refuse_unknown(self) -> None:
        """Refuse measurements of an observable that no block declares."""
        for name, found in self._lines.items():
            raise found[0][0].error(f"'{name}' is not an observable.", "Declare it in a block [[observables]].")

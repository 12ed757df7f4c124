"""The tables of a PEtab problem of either version, and its files: one YAML file names them, all in its folder."""

from __future__ import annotations

import importlib
import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sciml_bench.errors import ProblemError
from sciml_bench.host.extras import install_command

MOST_BYTES = 64 * 2**20
Cells = Mapping[str, str | float]
"""Texts and numbers by column, without empty cells."""


@dataclass(frozen=True)
class Row:
    """A line of a table of a problem."""

    path: Path
    cells: Cells

    def get(self, column: str, default: Any = None) -> Any:
        """A text or a number; the default for an empty cell."""
        return self.cells.get(column, default)

    def text(self, column: str) -> str:
        """A cell that must not be empty, as a text."""
        return str(self._required(column))

    def number(self, column: str) -> float:
        """A cell that must be a number, which may be infinite."""
        value = self._required(column)
        if isinstance(value, str):
            raise ProblemError(f"'{column}' is '{value[:40]}' and no number in {self._named}.", where=self.path)
        return value

    def formula(self, column: str) -> str | float:
        """A cell that must not be empty: the text of a formula, or a number."""
        return self._required(column)

    def numbers(self, column: str) -> list[float]:
        """The entries of a cell, which must be numbers."""
        found = entries(self.get(column))
        if any(isinstance(entry, str) for entry in found):
            raise ProblemError(f"'{column}' is '{self.get(column)}' in {self._named}.", where=self.path)
        return [float(entry) for entry in found]

    def _required(self, column: str) -> str | float:
        if column not in self.cells:
            raise ProblemError(f"'{column}' is empty or missing in {self._named}.", where=self.path)
        return self.cells[column]

    @property
    def _named(self) -> str:
        cells = ", ".join(f"{column} {value}" for column, value in list(self.cells.items())[:3])
        return f"the line of {cells[:80]}" if cells else "a line"


@dataclass(frozen=True)
class Observable:
    """The texts of its formulas, and its distribution as in problem files.

    ``placeholders`` are names in the formulas that each measurement gives a value: ``("noise", 0)`` is the first of the
    noise.
    """

    formula: str | float
    noise: str | float
    distribution: str
    placeholders: Mapping[str, tuple[str, int]]


@dataclass(frozen=True)
class Measurement:
    """A measured value in a condition, with the values of the placeholders: numbers, or names of parameters."""

    observable: str
    condition: str
    time: float
    value: float
    placeholders: Mapping[str, list[str | float]]


@dataclass(frozen=True)
class Parameter:
    """A parameter, on the scale of its estimation, with a function that maps its symbol to minus the logarithm of the
    density of its prior.
    """

    value: float | None
    estimated: bool
    scale: str = "lin"
    prior: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Tables:
    """The model and the tables of a problem.

    ``conditions`` have the values of quantities from ``t0`` on, ``later`` the values that change at later times, and
    ``before`` the values in the equilibrium with which a condition begins.
    """

    path: Path
    model: Path
    parameters: dict[str, Parameter]
    conditions: dict[str, Cells]
    observables: dict[str, Observable]
    measurements: list[Measurement]
    t0: float = 0.0
    later: dict[str, list[tuple[float, Cells]]] = field(default_factory=dict[str, list[tuple[float, Cells]]])
    before: dict[str, Cells] = field(default_factory=dict[str, Cells])

    def after_period(self, duration: float) -> Tables:
        """The tables with a first period of this duration in the place of the equilibria.

        Raises:
            ProblemError: some conditions have no equilibrium.
        """
        if not self.before:
            return self
        names = dict.fromkeys(item.condition for item in self.measurements)
        if plain := [name for name in names if name not in self.before]:
            message = f"some measurements follow an equilibrium, but not the ones of '{plain[0]}'."
            raise ProblemError(message, where=self.path, cure="Such a mixture is not read.")
        later = {name: [(self.t0, self.conditions.get(name, {})), *self.later.get(name, [])] for name in names}
        return replace(self, conditions=self.before, later=later, t0=self.t0 - duration, before={})


def library(name: str) -> Any:
    """Return a module of the PEtab library.

    Raises:
        ProblemError: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ProblemError(f"the petab library is missing; run: {install_command('petab')}") from error


def yaml_of(path: Path) -> dict[str, Any]:
    """The content of the YAML file."""
    yaml = library("yaml")
    text = _content(path)
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ProblemError(f"it is not YAML: {' '.join(str(error).split())[:200]}.", where=path) from error
    if not isinstance(found, dict):
        raise ProblemError("it is not a table of PEtab.", where=path)
    return found


def _content(path: Path) -> str:
    if not path.is_file():
        raise ProblemError("the file is missing.", where=path)
    if path.stat().st_size > MOST_BYTES:
        raise ProblemError(f"it is larger than {MOST_BYTES} bytes.", where=path)
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ProblemError(f"it is not UTF-8 text (byte {error.start}).", where=path) from error


def files(path: Path, content: Mapping[str, Any], key: str) -> list[Path]:
    """The files of a key, which lie in the folder of the YAML file or below it."""
    named = content.get(key)
    found: list[Path] = []
    for name in named if named and isinstance(named, list) else [named]:
        if not isinstance(name, str):
            raise ProblemError(f"'{key}' must name a file.", where=path)
        target = path.parent / name
        # A path's own ``resolve`` raises for a link to itself.
        folder, real = os.path.realpath(path.parent), Path(os.path.realpath(target))
        if "://" in name or not real.is_relative_to(folder):
            raise ProblemError(f"'{key}' names '{name}', which is outside its folder.", where=path)
        _content(target)
        found.append(target)
    return found


def read(path: Path, content: Mapping[str, Any], key: str, reader: Callable[[str], Any]) -> Any:
    """The table of a key, of one file or of several."""
    names = files(path, content, key)
    frames = [check(name, key, lambda name=name: reader(str(name))) for name in names]
    return frames[0] if len(frames) == 1 else library("pandas").concat(frames)


def check(path: Path, what: str, done: Callable[[], Any]) -> Any:
    """Call the library; its exceptions become errors with the file's name, and its warnings are for its authors."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return done()
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        message = " ".join(str(error.args[0] if error.args else error).split())[:300]
        raise ProblemError(f"its {what.removesuffix('_files')} table is wrong: {message}", where=path) from error


def rows(path: Path, frame: Any) -> list[Row]:
    """The lines of a table."""
    return [Row(path, _cells(row)) for row in frame.to_dict("records")]


def by_name(names: Iterable[Any], found: list[Row]) -> dict[str, Row]:
    """The lines of a table by their names.

    Raises:
        ProblemError: two have the same.
    """
    table: dict[str, Row] = {}
    for name, row in zip(map(str, names), found, strict=True):
        if name in table:
            raise ProblemError(f"'{name}' is listed twice.", where=row.path)
        table[name] = row
    return table


def entries(cell: Any) -> list[str | float]:
    """The entries of a cell, which semicolons separate."""
    if cell is None:
        return []
    found = [_cell(entry) for entry in str(cell).split(";")] if isinstance(cell, str) else [cell]
    return [entry for entry in found if entry is not None]


def _cells(row: Mapping[Any, Any]) -> Cells:
    """The cells that are not empty; texts that are numbers become numbers."""
    cells = {str(column): _cell(value) for column, value in row.items()}
    return {column: value for column, value in cells.items() if value is not None}


def _cell(value: Any) -> str | float | None:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value.strip() or None
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return float(value)

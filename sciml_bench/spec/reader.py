"""Shared parts of the loader: a document, the names known so far, and errors that point at a line."""

from __future__ import annotations

import keyword
import re
import tomllib
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from sciml_bench.errors import ProblemError, ProblemWarning
from sciml_bench.record.jsonl import is_special
from sciml_bench.record.text import printable
from sciml_bench.spec import foreign
from sciml_bench.spec.language.expression import ExpressionError, Scope, Typed, number, parse
from sciml_bench.spec.language.operators import Node, Shape, describe
from sciml_bench.spec.model import symbol, to_double

# A problem file as text and data: reads TOML with exact decimals, and knows the line of each key.

MAX_BYTES = 1_000_000


@dataclass(frozen=True)
class Document:
    """A parsed file. ``data`` is what :mod:`tomllib` gives, decimals as :class:`~decimal.Decimal`."""

    path: Path
    text: str
    data: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> Document:
        """Read and parse a file.

        Raises:
            ProblemError: it cannot be read, is too large, or is not TOML.
        """
        try:
            if is_special(path):
                raise ProblemError("it is not a regular file.", where=path)
            if path.stat().st_size > MAX_BYTES:
                raise ProblemError(f"the file is larger than {MAX_BYTES} bytes.", where=path)
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise ProblemError(f"cannot be read: {error.strerror}.", where=path) from None
        except UnicodeDecodeError as error:
            raise ProblemError(f"is not UTF-8 text (byte {error.start}).", where=path) from None
        for place, line in enumerate(text.splitlines(), start=1):
            key = line.partition("=")[0]
            if key.count(".") > MOST_DOTS and _KEY.fullmatch(key):
                # The parser's time grows with their square.
                raise ProblemError(f"a key has more than {MOST_DOTS} dots.", where=path, line=place)
        try:
            return cls(path, text, tomllib.loads(text, parse_float=Decimal))
        except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
            line = re.search(r"at line (\d+)", str(error))
            # Python's message names one of its settings.
            is_long = "for integer string conversion" in str(error)
            said = "a whole number has more digits than Python reads" if is_long else f"is not TOML: {error}"
            raise ProblemError(
                f"{said}.", where=path, line=int(line[1]) if line else None,
                cure="See https://toml.io for the syntax.",
            ) from None  # fmt: skip

    def error(self, message: str, table: str = "", key: str = "", cure: str = "") -> ProblemError:
        """A :class:`ProblemError` that points at the line of a key in a table."""
        return ProblemError(message, where=self.path, line=self.line(table, key), cure=cure)

    def line(self, table: str, key: str = "") -> int | None:
        """The 1-based line of ``key`` in ``[table]``, of the table when the key is not found, or ``None``."""
        parent, _, child = table.rpartition(".")
        places = [(table, key), (parent, child), (table or key, ""), ("", table)]
        for place in places:
            if any(place) and (found := self._search(*place)) is not None:
                return found
        return None

    def _search(self, table: str, key: str) -> int | None:
        header = re.compile(rf"\s*\[\[?\s*{re.escape(table)}\s*\]\]?\s*(#.*)?$")
        entry = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*(=|\.)""")
        inside = table == ""
        for at, line in enumerate(self.text.splitlines(), start=1):
            if re.match(r"\s*\[{1,2}[^=]*$", line):
                inside = bool(header.match(line))
                if inside and not key:
                    return at
            elif inside and key and entry.match(line):
                return at
        return None

    def known_keys(self, data: dict[str, Any], known: tuple[str, ...], table: str) -> None:
        """Refuse keys that mean nothing, with a suggestion."""
        for key in data:
            if key not in known and key.lower() in foreign.KEYS:
                raise self.error(f"{foreign.KEYS[key.lower()]}.", table, key)
            if key not in known:
                close = get_close_matches(key, known, n=1)
                hint = f"Did you mean '{close[0]}'?" if close else f"Known keys: {', '.join(known)}."
                place = f" in [{table}]" if table else ""
                raise self.error(f"unknown key '{key}'{place}.", table, key, hint)

    def table(self, name: str, required: bool = False) -> dict[str, Any]:
        """A table of the file, empty when it is absent and not required."""
        if name not in self.data:
            if required:
                raise ProblemError(f"the table [{name}] is missing.", where=self.path, cure=f"Add a [{name}] table.")
            return {}
        value = self.data[name]
        if not isinstance(value, dict):
            raise self.error(f"'{name}' must be a table.", "", name, f"Write it as [{name}].")
        return value

    def string(self, data: dict[str, Any], key: str, table: str, default: str | None = None) -> str:
        """A string value; required without a default."""
        if key not in data and default is not None:
            return default
        value = data.get(key)
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self.error(f"'{key}' must be a non-empty string.", table, key)
        return printable(value)

    def integer(self, data: dict[str, Any], key: str, table: str, low: int, high: int) -> int:
        """An integer between two bounds."""
        value = data.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.error(f"'{key}' must be an integer from {low} to {high}.", table, key)
        return value


NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,40}")
MAX_COMPONENTS = 1_000_000
MOST_DOTS = 100
_KEY = re.compile(r"[\[\s]*[A-Za-z0-9_\-.\s]+[\]\s]*")


@dataclass
class Reader:
    """A document being loaded. ``scope`` grows as the tables are read in order.

    ``outer`` are the further names of initial values and losses: data of each trajectory, and their encoding.
    ``series`` are data over times, which only recurrent networks take. ``saves_start`` says that t0 is among the saved
    times. ``files`` are the cells of data files that may end up in formulas, so that a hash of the problem needs them.
    """

    document: Document
    scope: Scope = field(default_factory=Scope)
    declared_in: dict[str, str] = field(default_factory=dict)
    outer: dict[str, Typed] = field(default_factory=dict)
    series: dict[str, Shape] = field(default_factory=dict)
    saves_start: bool = False
    files: dict[str, Any] = field(default_factory=dict[str, Any])

    def declare(self, name: str, table: str, meaning: Typed | None, shape: Shape = ()) -> None:
        """Give a name its meaning (by default: a symbol of this shape), once."""
        self.claim(name, table)
        self.scope.names[name] = meaning if meaning is not None else Typed(symbol(name), shape)

    def claim(self, name: str, table: str) -> None:
        """Take a name, once."""
        if not NAME.fullmatch(name) or "__" in name or keyword.iskeyword(name):
            raise self.document.error(
                f"'{name}' cannot be a name.", table, name,
                "A name has a letter first, then letters, digits and single underscores.",
            )  # fmt: skip
        if name in self.declared_in:
            raise self.document.error(f"'{name}' is already declared in [{self.declared_in[name]}].", table, name)
        if name in ("t", "pi") or name in self.scope.operators:
            raise self.document.error(f"'{name}' already means something in expressions.", table, name)
        self.declared_in[name] = table

    def expression(
        self, text: Any, table: str, key: str, scope: Scope | None = None, indices: tuple[str, ...] = ()
    ) -> Typed:
        """A number or an expression in a scope (by default: all names declared before)."""
        try:
            if isinstance(text, int | Decimal) and not isinstance(text, bool):
                return Typed(number(text))
            if isinstance(text, str):
                return parse(text, self.scope if scope is None else scope, indices)
        except ExpressionError as error:
            raise self.document.error(f"in '{key}': {error}.", table, key) from None
        raise self.document.error(f"'{key}' must be a number or an expression in quotes.", table, key)

    def constant(self, value: Any, table: str, key: str, scope: Scope | None = None) -> Node:
        """An exact real number, given as a number or as an expression of constants."""
        return self.constant_of(self.expression(value, table, key, scope or self.constants_scope()), table, key)

    def constant_of(self, typed: Typed, table: str, key: str) -> Node:
        """The exact real number that an expression is."""
        if typed.shape or not typed.expr.is_number:
            raise self.document.error(f"'{key}' must be a single number.", table, key)
        if not typed.expr.is_real or not typed.expr.is_finite:
            raise self.document.error(f"'{key}' is {typed.expr}, not a finite real number.", table, key)
        try:
            to_double(typed.expr)
        except ProblemError as error:
            raise self.document.error(f"'{key}': {error}", table, key) from None
        return typed.expr

    def constants(self, values: Iterable[Any], table: str, key: str) -> tuple[Node, ...]:
        """A list of exact real numbers."""
        return tuple(self.constant(value, table, key) for value in values)

    def constants_scope(self, **extra: Typed) -> Scope:
        """Only the names whose meaning is a plain number, and the given ones."""
        plain = {name: typed for name, typed in self.scope.names.items() if typed.expr.is_number and not typed.shape}
        return Scope({**plain, **extra}, {}, self.scope.used)

    def outer_scope(self) -> Scope:
        """The scope before the solve: constants, parameters, networks, data of the trajectory; no state, no time."""
        inside = {"states", "definitions"}
        hidden = {name for name, table in self.declared_in.items() if table.partition(".")[0] in {*inside, "grids"}}
        names = {name: typed for name, typed in self.scope.names.items() if name not in hidden and name != "t"}
        return Scope({**names, **self.outer}, self.scope.operators, self.scope.used, self.series)

    def fits(self, typed: Typed, shape: Shape, table: str, key: str) -> Node:
        """The expression, when it has the shape or is a scalar to be broadcast."""
        if typed.shape not in (shape, ()):
            raise self.document.error(
                f"'{key}' is a {describe(shape)}, but its expression is a {describe(typed.shape)}.", table, key
            )
        return typed.expr

    def warn_of_unused(self, table: str, names: Iterable[str]) -> None:
        """Warn of declared names that no expression has read: a fit may hold what a variant of the model uses."""
        for name in names:
            if name not in self.scope.used:
                told = self.document.error(
                    f"'{name}' in [{table}] is never used: its gradient is zero.", table, name,
                    "Use it in an equation, or remove it.",
                )  # fmt: skip
                warnings.warn(ProblemWarning(told), stacklevel=2)

    def refuse_unused(self, table: str, names: Iterable[str]) -> None:
        """Refuse declared names that no expression has read: they are typing errors more often than not."""
        for name in names:
            if name not in self.scope.used:
                raise self.document.error(
                    f"'{name}' in [{table}] is never used.", table, name, "Use it in an equation, or remove it."
                )

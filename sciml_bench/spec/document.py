"""A problem file as text and data: reads TOML with exact decimals, and knows the line of each key."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from sciml_bench.errors import ProblemError
from sciml_bench.record.jsonl import is_special
from sciml_bench.record.text import printable
from sciml_bench.spec import foreign

MAX_BYTES = 1_000_000


@dataclass(frozen=True)
class Document:
    """A parsed file. ``data`` is what ``tomllib`` gives, decimals as :class:`~decimal.Decimal`."""

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
        if path.suffix == ".py":
            functions = _FUNCTION.findall(text)
            named = f" Its functions: {', '.join(functions)}." if functions else ""
            cure = f"Write {path.name}:NAME with the name of a function or a dictionary in it.{named}"
            raise ProblemError("it is a Python file.", where=path, cure=cure)
        for place, line in enumerate(text.splitlines(), start=1):
            key = line.partition("=")[0]
            if key.count(".") > MOST_DOTS and _KEY.fullmatch(key):
                # The parser's time grows with their square.
                raise ProblemError(f"a key has more than {MOST_DOTS} dots.", where=path, line=place)
        try:
            return cls(path, text, tomllib.loads(text, parse_float=Decimal))
        except (tomllib.TOMLDecodeError, RecursionError, ValueError, ArithmeticError) as error:
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
        if key not in data:
            raise self.error(f"'{key}' is missing.", table, "", f'Add `{key} = "…"`.')
        value = data[key]
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self.error(f"'{key}' must be a non-empty string.", table, key)
        return printable(value)

    def integer(self, data: dict[str, Any], key: str, table: str, low: int, high: int) -> int:
        """An integer between two bounds."""
        value = data.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.error(f"'{key}' must be an integer from {low} to {high}.", table, key)
        return value


MOST_DOTS = 100

_FUNCTION = re.compile(r"^def (\w+)\(", re.MULTILINE)
_KEY = re.compile(r"[\[\s]*[A-Za-z0-9_\-.\s]+[\]\s]*")

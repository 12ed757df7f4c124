"""CSV, guarded against formulas: text from problems and libraries is opened in spreadsheets."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import IO

from sciml_bench.export.column import Column, Row, Value

# OWASP, "CSV Injection": what a spreadsheet takes for the start of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def guarded(value: Value) -> Value:
    """Text that a spreadsheet would take for a formula, with an apostrophe before it; other values as they are.

    Control characters other than a line feed become blanks.
    """
    return _guarded(value) if isinstance(value, str) else value


# Very many rows share the same few names.
@lru_cache(maxsize=10_000)
def _guarded(value: str) -> str:
    text = "".join(letter if letter >= " " or letter == "\n" else " " for letter in value)
    return f"'{text}" if value.lstrip(" ").startswith(_FORMULA) else text


def write_csv(columns: Sequence[Column], rows: Iterable[Row], file: IO[str]) -> None:
    """Write a heading and the rows as RFC 4180 has it, but with line feeds; a missing value is an empty field."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([column.name for column in columns])
    for row in rows:
        writer.writerow([_text(value) for value in row])


def _text(value: Value) -> Value:
    if isinstance(value, bool):
        return "true" if value else "false"
    return guarded(value)

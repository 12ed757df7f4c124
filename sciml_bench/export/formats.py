"""Parquet, by pyarrow, in groups of rows: memory does not grow with the file."""

from __future__ import annotations

import csv
import itertools
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import IO

from sciml_bench.errors import UsageError
from sciml_bench.host.extras import install_command

# A column of an export: its name with the unit, its kind of value, and its meaning.


class Kind(StrEnum):
    """The kind of a column's values. Every value may be missing, which is ``None``."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    TRUTH = "truth"


@dataclass(frozen=True)
class Column:
    """One column."""

    name: str
    kind: Kind
    meaning: str


Value = str | int | float | bool | None
Row = tuple[Value, ...]


# CSV, guarded against formulas: text from problems and libraries is opened in spreadsheets.

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


# JSON: an array of objects, written as it is made.


def write_json(columns: Sequence[Column], rows: Iterable[Row], file: IO[str]) -> None:
    """Write the rows as objects, one on each line; a number that JSON has no word for is ``null``."""
    names = [column.name for column in columns]
    file.write("[")
    for number, row in enumerate(rows):
        values = {name: _plain(value) for name, value in zip(names, row, strict=True)}
        file.write(("\n" if number == 0 else ",\n") + json.dumps(values, ensure_ascii=False, allow_nan=False))
    file.write("\n]\n")


def _plain(value: Value) -> Value:
    return None if isinstance(value, float) and not math.isfinite(value) else value


_GROUP_ROWS = 20_000


def write_parquet(columns: Sequence[Column], rows: Iterable[Row], path: Path) -> None:
    """Write the rows to a file; its schema has the meaning of the columns.

    Raises:
        UsageError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise UsageError(f"Parquet needs pyarrow: {install_command('parquet')}") from error

    types = {Kind.TEXT: pa.string(), Kind.INTEGER: pa.int64(), Kind.NUMBER: pa.float64(), Kind.TRUTH: pa.bool_()}
    schema = pa.schema(
        [pa.field(column.name, types[column.kind], metadata={"meaning": column.meaning}) for column in columns]
    )
    stream = iter(rows)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while group := list(itertools.islice(stream, _GROUP_ROWS)):
            arrays = [
                pa.array(values, type=field.type)
                for values, field in zip(zip(*group, strict=True), schema, strict=True)
            ]
            writer.write_batch(pa.record_batch(arrays, schema=schema))

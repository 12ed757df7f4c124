"""A table of numbers next to a problem file: a CSV file; every mistake is reported with its line."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from sciml_bench.problem.reader import Reader

MAX_DATA_BYTES = 10_000_000


def table_name(reader: Reader, name: str, table: str, key: str) -> str:
    """The name, if it can be the name of a data file in the folder of the problem file."""
    if Path(name).name != name or not name.endswith(".csv"):
        cure = "Name a .csv file in the folder of the problem file, without any path."
        raise reader.document.error(f"'{name}' cannot be a data file.", table, key, cure)
    return name


def read_table(reader: Reader, name: str, table: str, key: str) -> tuple[list[str], list[tuple[float, ...]]]:
    """The header and the rows of a data file; ``table`` and ``key`` say where the problem file names it.

    Raises:
        ProblemError: the file cannot be read, is too large or empty, or a cell of it is no finite number.
    """
    document, path = reader.document, reader.document.path.with_name(name)
    try:
        if path.stat().st_size > MAX_DATA_BYTES:
            raise document.error(f"{path.name} is larger than {MAX_DATA_BYTES} bytes.", table, key)
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise document.error(f"{path.name} cannot be read: {error.strerror}.", table, key) from None
    except UnicodeDecodeError as error:
        raise document.error(f"{path.name} is not UTF-8 text (byte {error.start}).", table, key) from None
    cells = [[cell.strip() for cell in row] for row in csv.reader(lines)]
    if not cells:
        raise document.error(f"{path.name} is empty.", table, key, "Its first line names the columns: t, ….")
    header, rows = _whole(cells[0]), []
    for line, row in enumerate(cells[1:], start=2):
        if len(row) != len(header):
            raise document.error(f"{path.name}, line {line}: {len(row)} values for {len(header)} columns.", table, key)
        try:
            rows.append(tuple(_number(*pair) for pair in zip(header, row, strict=True)))
        except ValueError as error:
            cure = "Data must have no gaps: leave the row out, or fill it in." if "no value" in str(error) else ""
            raise document.error(f"{path.name}, line {line}: {error}", table, key, cure) from None
    return header, rows


def _whole(header: list[str]) -> list[str]:
    """The names of columns, assembled where the comma of ``x[0,1]`` stands without quotes."""
    names: list[str] = []
    for part in header:
        if names and "[" in names[-1] and "]" not in names[-1]:
            names[-1] += f",{part}"
        else:
            names.append(part)
    return names


def _number(column: str, text: str) -> float:
    if not text:
        raise ValueError(f"'{column}' has no value.")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"'{column}' is '{text[:40]}', not a finite number.")
    return value

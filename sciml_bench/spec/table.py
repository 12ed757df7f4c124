"""A table of numbers next to a problem file: a CSV file; every mistake is reported with its line."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

from sciml_bench.errors import ProblemError
from sciml_bench.record.jsonl import is_special, leads_outside
from sciml_bench.spec.document import Document
from sciml_bench.spec.reader import Reader

MAX_DATA_BYTES = 10_000_000
_IN_FORMULAS = ("conditions", "measurements", "observables")


def table_name(reader: Reader, name: str, table: str, key: str) -> str:
    """The name, if it can be the name of a data file in the folder of the problem file."""
    if Path(name).name != name or not name.endswith(".csv"):
        cure = "Name a .csv file in the folder of the problem file, without any path."
        raise reader.document.error(f"'{name}' cannot be a data file.", table, key, cure)
    return name


def read_table(
    reader: Reader, name: str, table: str, key: str, *, gaps: bool = False
) -> tuple[list[str], list[tuple[float, ...]]]:
    """The header and the rows of a data file; ``table`` and ``key`` say where the problem file names it.

    An empty cell after the first column is NaN if ``gaps`` are allowed.

    Raises:
        ProblemError: the file cannot be read, is too large or empty, or a cell of it is no finite number.
    """
    header, lines = read_cells(reader, name, table, key)
    header, rows = _whole(header), []
    for line in lines:
        if len(line.cells) != len(header):
            raise line.error(f"{len(line.cells)} values for {len(header)} columns.")
        rows.append(
            tuple(
                math.nan if gaps and place and not cell else line.number(column, cell)
                for place, (column, cell) in enumerate(zip(header, line.cells, strict=True))
            )
        )
    return header, rows


@dataclass(frozen=True)
class Line:
    """A line of a data file, which the problem file names at ``key`` of ``table``."""

    document: Document
    place: str
    table: str
    key: str
    cells: list[str]

    def number(self, column: str, text: str) -> float:
        """The number in a cell.

        Raises:
            ProblemError: it is empty, or not a finite number.
        """
        if not text:
            raise self.error(f"'{column}' has no value.", "Data must have no gaps: leave the row out, or fill it in.")
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.error(f"'{column}' is '{text[:40]}', not a finite number.")
        return value

    def error(self, message: str, cure: str = "") -> ProblemError:
        """A mistake in this line."""
        return self.document.error(f"{self.place}: {message}", self.table, self.key, cure)


def read_cells(reader: Reader, name: str, table: str, key: str) -> tuple[list[str], list[Line]]:
    """The header and the lines of a data file, as texts; empty lines are left out.

    Raises:
        ProblemError: the file cannot be read, is too large or empty.
    """
    document, path = reader.document, reader.document.path.with_name(name)
    try:
        if leads_outside(path, document.path):
            cure = "Put the file itself there."
            raise document.error(f"{path.name} is a link out of the folder of the problem file.", table, key, cure)
        if is_special(path):
            raise document.error(f"{path.name} is not a regular file.", table, key)
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
    if table in _IN_FORMULAS:
        reader.files[f"{table}: {name}"] = cells
    return cells[0], [
        Line(document, f"{path.name}, line {line}", table, key, row)
        for line, row in enumerate(cells[1:], start=2)
        if any(row)
    ]


def _whole(header: list[str]) -> list[str]:
    """The names of columns, assembled where the comma of ``x[0,1]`` stands without quotes."""
    names: list[str] = []
    for part in header:
        if names and "[" in names[-1] and "]" not in names[-1]:
            names[-1] += f",{part}"
        else:
            names.append(part)
    return names

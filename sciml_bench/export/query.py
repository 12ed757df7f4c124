"""Asks one question of runs through DuckDB, which can then reach nothing else.

What the question needs is read from the records' files, and then every file, the network, extensions and the
configuration are locked before the question is looked at. Naming the files as the only allowed ones would not do:
DuckDB allows ``COPY … TO`` inside a ``SELECT``, and would let a question write over the records.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.loaded_run import read_run
from sciml_bench.errors import UsageError
from sciml_bench.export import answers, cells
from sciml_bench.export.column import Column, Kind, Row
from sciml_bench.export.views import CREATE_RAW, OF_POINTS, OF_RECORDS, insert_raw
from sciml_bench.host.extras import install_command
from sciml_bench.record.jsonl import LONGEST_LINE_BYTES, is_changed, numbered_lines
from sciml_bench.record.run_folder import Run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


VIEWS = ("records", "points", "samples", "trainings", "cells", "answers")
"""The views that questions may read."""

_TYPES = {Kind.TEXT: "VARCHAR", Kind.INTEGER: "BIGINT", Kind.NUMBER: "DOUBLE", Kind.TRUTH: "BOOLEAN"}
_SETTINGS: dict[str, Any] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "allow_community_extensions": "false",
}


@dataclass(frozen=True)
class Answer:
    """Names and rows; ``left_out`` is how many lines of the files hold no record."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    left_out: int


def ask(question: str, runs: Sequence[Run]) -> Answer:
    """The answer to one ``SELECT`` over the views :data:`VIEWS` of these runs.

    Raises:
        UsageError: DuckDB is not installed, the question is not one ``SELECT``, or it cannot be answered.
        StoreError: a run cannot be read.
    """
    try:
        import duckdb
    except ImportError as error:
        raise UsageError(f"questions are answered by DuckDB: {install_command('query')}") from error

    connection = duckdb.connect(":memory:", config=_SETTINGS)
    try:
        _check(connection, question, duckdb.StatementType.SELECT)
        left_out = _load(connection, question, runs)
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        found = connection.execute(question)
        columns = _distinct([item[0] for item in found.description or ()])
        return Answer(columns, found.fetchall(), left_out)
    except duckdb.Error as error:
        raise UsageError(f"the question cannot be answered: {_shortened(error)}") from error
    finally:
        connection.close()


def _check(connection: DuckDBPyConnection, question: str, wanted: object) -> None:
    statements = connection.extract_statements(question)
    if len(statements) != 1 or statements[0].type != wanted:
        raise UsageError("a question is one SELECT; records are never changed")


def _load(connection: DuckDBPyConnection, question: str, runs: Sequence[Run]) -> int:
    """Read what the question names. Returns how many lines hold no record."""
    named = {view for view in VIEWS if re.search(rf"\b{view}\b", question, re.IGNORECASE)}
    with_points = bool(named & {"points", "samples"})
    insert = insert_raw(with_points, "trainings" in named)
    connection.execute(CREATE_RAW)
    left_out = 0
    if named - _ANALYSED.keys():
        for run in runs:
            if lines := _lines(run):
                with _readable(run) as path:
                    (read,) = connection.execute(insert, [run.folder.name, str(path)]).fetchone() or (0,)
                left_out += lines - read
    for view in (*OF_RECORDS, *(OF_POINTS if with_points else ())):
        connection.execute(view)
    if named & _ANALYSED.keys():
        left_out = max(left_out, _load_analysed(connection, named & _ANALYSED.keys(), runs))
    return left_out


@contextmanager
def _readable(run: Run) -> Iterator[Path]:
    """The records' file, or a copy without the records that were changed, or are too long for DuckDB."""
    path = run.records_path.resolve()
    if path.stat().st_size < LONGEST_LINE_BYTES and not any(is_changed(line) for _, line in numbered_lines(path)):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        with copy.open("wb") as file:
            for _, line in numbered_lines(path):
                file.write(b"{}\n" if is_changed(line) else line.rstrip(b"\n") + b"\n")
        yield copy


def _lines(run: Run) -> int:
    """Return the number of lines of the file; the last may have no line end."""
    return sum(1 for _, line in numbered_lines(run.records_path) if line.strip())


_ANALYSED: Mapping[str, tuple[tuple[Column, ...], Callable[[Analysis], Iterable[Row]]]] = {
    "cells": (cells.COLUMNS, cells.cell_rows),
    "answers": (answers.COLUMNS, answers.answer_rows),
}
"""The tables that the analysis of a run fills."""


def _load_analysed(connection: DuckDBPyConnection, names: Iterable[str], runs: Sequence[Run]) -> int:
    loaded = [read_run(run) for run in runs]
    for name in names:
        columns, rows_of = _ANALYSED[name]
        declared = ", ".join(f'"{column.name}" {_TYPES[column.kind]}' for column in columns)
        connection.execute(f"CREATE TABLE {name} ({declared})")
        rows = [row for each in loaded for row in rows_of(each.analysis)]
        if rows:
            connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows)
    return sum(len(each.damaged) for each in loaded)


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns, with a number added to repeated ones."""
    found: list[str] = []
    for name in names:
        number, chosen = 1, name
        while chosen in found:
            number += 1
            chosen = f"{name}_{number}"
        found.append(chosen)
    return tuple(found)


def _shortened(error: Exception) -> str:
    """The first lines of DuckDB's message: the error and its place; for an unknown table the existing ones."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    unknown = re.match(r"Catalog Error: Table with name (\S+) does not exist", lines[0]) if lines else None
    if unknown:
        close = get_close_matches(unknown[1], VIEWS, n=1)
        hint = f"Did you mean '{close[0]}'? " if close else ""
        return f"unknown table '{unknown[1]}'. {hint}There are {', '.join(VIEWS)}."
    return "\n".join(lines[:4])

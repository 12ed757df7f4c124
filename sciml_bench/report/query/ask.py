"""Asks one question of runs through DuckDB, which can then reach nothing else.

What the question needs is read from the records' files, and then every file, the network, extensions and the
configuration are locked before the question is looked at. Naming the files as the only allowed ones would not do:
DuckDB allows ``COPY … TO`` inside a ``SELECT``, and would let a question write over the records.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sciml_bench.errors import UsageError
from sciml_bench.report.export.cell_rows import COLUMNS, cell_rows
from sciml_bench.report.export.column import Kind
from sciml_bench.report.query.views import CREATE_RAW, OF_POINTS, OF_RECORDS, insert_raw
from sciml_bench.report.summary import summarise
from sciml_bench.store import Run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

VIEWS = ("records", "points", "samples", "trainings", "cells")
"""What may be asked of."""

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
        raise UsageError('questions are answered by DuckDB: pip install "sciml-bench[query]"') from error

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
    if named - {"cells"}:
        for run in runs:
            if run.records_path.is_file():
                path = str(run.records_path.resolve())
                (read,) = connection.execute(insert, [run.folder.name, path]).fetchone() or (0,)
                left_out += _lines(run) - read
    for view in (*OF_RECORDS, *(OF_POINTS if with_points else ())):
        connection.execute(view)
    if "cells" in named:
        left_out = max(left_out, _load_cells(connection, runs))
    return left_out


def _lines(run: Run) -> int:
    """How many lines the file has; the last may lack its end."""
    from sciml_bench.store.lines import numbered_lines

    return sum(1 for _, line in numbered_lines(run.records_path) if line.strip())


def _load_cells(connection: DuckDBPyConnection, runs: Sequence[Run]) -> int:
    columns = ", ".join(f'"{column.name}" {_TYPES[column.kind]}' for column in COLUMNS)
    connection.execute(f"CREATE TABLE cells ({columns})")
    damaged: list[object] = []
    for run in runs:
        rows = list(cell_rows(summarise(run.plan, run.records(damaged.append)), run.folder.name))
        if rows:
            connection.executemany(f"INSERT INTO cells VALUES ({', '.join('?' * len(COLUMNS))})", rows)
    return len(damaged)


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns, those that were there before with a number."""
    found: list[str] = []
    for name in names:
        number, chosen = 1, name
        while chosen in found:
            number += 1
            chosen = f"{name}_{number}"
        found.append(chosen)
    return tuple(found)


def _shortened(error: Exception) -> str:
    """The first lines of what DuckDB says: what is wrong, and where."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return "\n".join(lines[:4])

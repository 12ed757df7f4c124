"""Parquet, by pyarrow, in groups of rows: memory does not grow with the file."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path

from sciml_bench.errors import UsageError
from sciml_bench.export.column import Column, Kind, Row
from sciml_bench.host.extras import install_command

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

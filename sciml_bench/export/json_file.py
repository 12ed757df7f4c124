"""JSON: an array of objects, written as it is made."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import IO

from sciml_bench.export.column import Column, Row, Value


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

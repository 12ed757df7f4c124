"""SQL types of the records' types: DuckDB takes each, and a field is a column without being stated again."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, Literal, TypedDict

import pytest

from sciml_bench.export.sql_types import columns, sql_type
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Record

duckdb = pytest.importorskip("duckdb")


class Named(TypedDict):
    order: int


@dataclasses.dataclass
class Held:
    whole: int | None
    each: tuple[Named, ...]
    mixed: tuple[int, Outcome]
    by_name: dict[str, float | None]
    word: Literal["a", "b"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (int, "BIGINT"),
        (float | None, "DOUBLE"),
        (Outcome, "VARCHAR"),
        (list[bool], "BOOLEAN[]"),
        (tuple[int, int], "BIGINT[]"),
        (tuple[int, str], "JSON[]"),
        (dict[str, Any], "MAP(VARCHAR, JSON)"),
        (Literal["a", "b"], "VARCHAR"),
        (Named, 'STRUCT("order" BIGINT)'),
    ],
)
def test_a_type_has_its_type_in_sql(kind: Any, expected: str):
    assert sql_type(kind) == expected


def test_a_type_without_json_values_is_refused():
    with pytest.raises(TypeError, match="no type in SQL"):
        sql_type(Path)


def test_every_field_of_a_record_is_a_column():
    assert list(columns(Record)) == [field.name for field in dataclasses.fields(Record)]


def test_duckdb_reads_the_values_back(tmp_path: Path):
    path = tmp_path / "lines.jsonl"
    line = {"whole": 2, "each": [{"order": 1}], "mixed": [3, "ok"], "by_name": {"n": 0.5}, "word": "a"}
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    kinds = ", ".join(f"'{name}': '{kind}'" for name, kind in columns(Held).items())
    found = duckdb.sql(f"SELECT * FROM read_json('{path}', columns = {{{kinds}}})").fetchall()
    whole, each, mixed, by_name, word = found[0]
    assert (whole, each, [*map(json.loads, mixed)], by_name, word) == (2, [{"order": 1}], [3, "ok"], {"n": 0.5}, "a")

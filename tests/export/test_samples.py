"""Long format: every raw sample is there, once, as a stream."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import tracemalloc

import pytest
from needs import imported
from stubs import drawn
from stubs.points import changed

from sciml_bench.export.csv_file import guarded, write_csv
from sciml_bench.export.json_file import write_json
from sciml_bench.export.parquet_file import write_parquet
from sciml_bench.export.samples import COLUMNS, sample_rows
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import PointResult

NAMES = [column.name for column in COLUMNS]


def rows_of(run):
    damaged = []
    found = [dict(zip(NAMES, row, strict=True)) for row in sample_rows(run, damaged.append)]
    return found, damaged


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return drawn.run(tmp_path_factory.mktemp("runs"), problems=["robertson"])


def samples_of(point: PointResult):
    firsts = [ns for ns in (point.solve.first_ns, point.gradient.first_ns) if ns is not None]
    return [*firsts, *point.solve.warm_up_ns, *point.solve.ns, *point.gradient.warm_up_ns, *point.gradient.ns]


def test_every_sample_of_every_record_is_a_row(run):
    found, _ = rows_of(run)
    measured = sorted(ns / 1e9 for record in run.records() for point in record.points for ns in samples_of(point))
    found = [row for row in found if row["call"] != "training"]
    assert sorted(row["seconds"] for row in found if row["seconds"] is not None) == measured
    assert len(measured) > 500


def test_every_step_of_every_training_is_a_row(run):
    found, _ = rows_of(run)
    for record in run.records():
        rows = [row for row in found if (row["record_id"], row["call"]) == (record.record_id, "training")]
        if record.training is None:
            assert rows == []
        elif not record.training.step_ns:
            assert [(row["point_outcome"], row["seconds"], row["loss"]) for row in rows] == [("max_steps", None, None)]
        else:
            assert [row["seconds"] for row in rows] == [ns / 1e9 for ns in record.training.step_ns]
            assert [row["loss"] for row in rows] == list(record.training.losses)
            assert [row["loop"] for row in rows] == ["first"] + ["steps"] * (len(rows) - 1)
            assert [row["number"] for row in rows] == list(range(1, len(rows) + 1))
            assert not any(row["counted"] for row in rows)


def test_calls_behind_a_bridge_have_their_times_inside(tmp_path):
    run = drawn.run(tmp_path, problems=["robertson"])
    lines = run.records_path.read_text(encoding="utf-8").splitlines()
    data = next(data for line in lines if (data := json.loads(line))["points"] and data["points"][0]["solve"]["ns"])
    point = data["points"][0]
    steady = point["solve"]["ns"]
    point["solve"]["inside"] = {
        "ns": [ns - 1000 for ns in steady],
        "gc_ns": list(range(len(steady))),
        "compile_ns": [0] * len(steady),
        "allocated_bytes": [7] * len(steady),
    }
    run.records_path.write_text(json.dumps(data) + "\n", encoding="utf-8")
    found, damaged = rows_of(run)
    assert not damaged
    with_times = [row for row in found if row["inside_s"] is not None]
    assert {(row["call"], row["loop"], row["point"]) for row in with_times} == {("solve", "steady", 0)}
    assert [row["inside_s"] for row in with_times] == [(ns - 1000) / 1e9 for ns in steady]
    assert [row["inside_gc_s"] for row in with_times] == [place / 1e9 for place in range(len(steady))]
    assert {row["inside_allocated_bytes"] for row in with_times} == {7}
    assert {row["inside_compile_s"] for row in with_times} == {0.0}
    assert any(row["seconds"] is not None and row["inside_s"] is None for row in found)


def test_what_counts_is_what_the_tables_are_made_of(run):
    found, _ = rows_of(run)
    for record in run.records():
        for place, point in enumerate(record.points):
            for call, expected in (("solve", point.solve.counted_ns), ("gradient", point.gradient.counted_ns)):
                counted = [
                    row["seconds"]
                    for row in found
                    if (row["record_id"], row["point"], row["call"], row["counted"])
                    == (record.record_id, place, call, True)
                ]
                assert counted == [ns / 1e9 for ns in expected]


def test_a_failed_point_and_a_process_without_points_have_a_row_each(tmp_path):
    made = drawn.run(
        tmp_path,
        problems=["robertson"],
        blocks=1,
        change=lambda record: drawn.broken(record) if record.cell.adapter == "scipy" else record,
    )
    found, _ = rows_of(made)
    failed = [row for row in found if row["adapter"] == "torchdiffeq" and row["call"] != "training"]
    assert [(row["rtol"], row["point_outcome"], row["seconds"]) for row in failed] == [
        (rtol, "max_steps", None) for rtol in drawn.RTOLS
    ]
    (crashed,) = [row for row in found if row["adapter"] == "scipy"]
    assert (crashed["outcome"], crashed["point"], crashed["message"]) == ("crash", None, "killed by signal 11")


def test_records_that_were_measured_again_do_not_count(tmp_path):
    made = drawn.run(tmp_path, problems=["robertson"], blocks=1)
    (first, *_) = list(made.records())
    made.append(dataclasses.replace(first, attempt=1, record_id="again"))
    found, _ = rows_of(made)
    of_cell = [row for row in found if row["cell_id"] == first.cell_id]
    assert {row["record_id"]: row["record_counts"] for row in of_cell} == {first.record_id: False, "again": True}


def test_a_wrong_half_does_not_count(tmp_path):
    def inaccurate(record):
        points = tuple(changed(p, gradient={"outcome": Outcome.INACCURATE}) for p in record.points)
        return dataclasses.replace(record, points=points)

    made = drawn.run(tmp_path, problems=["robertson"], blocks=1, change=inaccurate)
    found, _ = rows_of(made)
    assert not any(row["counted"] for row in found if row["call"] == "gradient")
    assert any(row["counted"] for row in found if row["call"] == "solve")


def test_damaged_lines_are_told(tmp_path):
    made = drawn.run(tmp_path, problems=["robertson"], blocks=1)
    with made.records_path.open("a", encoding="utf-8") as file:
        file.write('[]\n{"schema": 2\n')
    found, damaged = rows_of(made)
    assert found
    assert [line.number for line in damaged] == [7, 8]


def test_memory_does_not_grow_with_the_samples(tmp_path):
    """10⁵ samples in 60 records: what is held at a time is a record, not the run."""
    made = drawn.run(tmp_path, problems=["robertson"], blocks=12, calls=300)
    tracemalloc.start()
    written = sum(1 for _ in sample_rows(made, lambda _: None))
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert written > 100_000
    assert peak_bytes < 10e6


def test_csv_is_read_back(run):
    file = io.StringIO()
    write_csv(COLUMNS, sample_rows(run, lambda _: None), file)
    file.seek(0)
    found = list(csv.DictReader(file))
    expected, _ = rows_of(run)
    assert len(found) == len(expected)
    assert [float(row["seconds"]) for row in found if row["seconds"]] == [
        row["seconds"] for row in expected if row["seconds"] is not None
    ]
    assert {row["counted"] for row in found} == {"true", "false", ""}


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "＝1", "=cmd|' /C calc'!A0", '=HYPERLINK("x")'],
)
def test_formulas_of_strangers_are_text(text):
    assert str(guarded(text)).startswith("'")
    file = io.StringIO()
    write_csv(COLUMNS[:2], [(text, 'a,b\n"c"\x00')], file)
    file.seek(0)
    (_, row) = list(csv.reader(file))
    assert row[0].startswith("'")
    assert row[1] == 'a,b\n"c" '


def test_numbers_are_no_formulas():
    assert guarded(-1.5) == -1.5
    assert guarded("a-b") == "a-b"


def test_json_is_one_array(run):
    file = io.StringIO()
    write_json(COLUMNS, sample_rows(run, lambda _: None), file)
    found = json.loads(file.getvalue())
    assert found == rows_of(run)[0]


def test_json_has_no_word_for_infinity():
    file = io.StringIO()
    write_json(COLUMNS[:2], [(float("inf"), "</script>")], file)
    assert json.loads(file.getvalue()) == [{"run": None, "record_id": "</script>"}]


def test_parquet_is_read_back(run, tmp_path):
    pq = imported("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    write_parquet(COLUMNS, sample_rows(run, lambda _: None), path)
    table = pq.read_table(path)
    assert table.to_pylist() == rows_of(run)[0]
    assert table.schema.field("seconds").metadata == {b"meaning": b"how long the call took"}

"""Records and the file that holds them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import re
import tracemalloc
from pathlib import Path

import pytest
from stubs.records import stub_measurement, stub_record
from stubs.tasks import stub_task

from sciml_bench.record.jsonl import DamagedLine
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import GradientResult, PointResult, SolveResult
from sciml_bench.record.process import HostObservations, WorkerInfo
from sciml_bench.record.record import SCHEMA, Measurement, Placement, Record, fields_of, read_records
from sciml_bench.record.scoring_rules import SCORING_RULES
from sciml_bench.record.trajectories import MAX_STORED_TRAJECTORIES, Trajectories


def test_record_of_a_measurement():
    placement = Placement("0123456789ab", 2, 5, "matched", "standard", smoke_only=False, spec_hash="spec")
    record = Record.of(stub_measurement(), stub_task(source="rhs = None"), placement, "environment")
    assert record.cell.label == "decay/stub/closed_form/discrete/eager/float64/cpu"
    assert (record.cell_id, record.block, record.order, record.division) == ("0123456789ab", 2, 5, "matched")
    assert (record.seed, record.profile, record.smoke_only, record.spec_hash) == (42, "standard", False, "spec")
    assert record.environment_hash == "environment"
    assert record.source_hash == hashlib.sha256(b"rhs = None").hexdigest()
    assert record.reference_kind == "exact"
    assert (record.outcome, record.wall_s) == (Outcome.OK, 1.25)
    assert [point.outcome for point in record.points] == [Outcome.OK, Outcome.MAX_STEPS]


def test_records_of_two_processes_have_different_ids():
    first = stub_record()
    later = stub_record(started_at="2026-11-21T10:31:06.123+00:00")
    assert first.record_id != later.record_id != stub_record(block=1).record_id
    assert first.record_id == stub_record().record_id


def test_record_survives_its_line():
    record = stub_record()
    line = record.to_json()
    assert "\n" not in line
    assert line.startswith('{"schema":1,')
    assert Record.from_json(line) == record


def test_file_holds_every_field_under_its_name():
    data = json.loads(stub_record().to_json())
    fields = {item.name for item in dataclasses.fields(Record)}
    assert set(data) == {*fields, "schema"}
    assert set(data["points"][0]) == {item.name for item in dataclasses.fields(PointResult)}
    assert set(data["points"][0]["solve"]) == {item.name for item in dataclasses.fields(SolveResult)}
    assert set(data["points"][0]["gradient"]) == {item.name for item in dataclasses.fields(GradientResult)}
    assert (data["schema"], data["scoring_rules"]) == (SCHEMA, SCORING_RULES)
    assert data["points"][1]["outcome"] == "max_steps"


def test_each_field_is_stated_once():
    parts = (WorkerInfo, HostObservations, Measurement, Placement, Record)
    stated = [name for part in parts for name in vars(part)["__annotations__"]]
    assert len(stated) == len(set(stated)) == len(dataclasses.fields(Record))


@pytest.mark.parametrize("schema", [None, "1", True, 1.0])
def test_what_has_no_schema_is_no_record(schema: object):
    with pytest.raises(ValueError, match="no schema version"):
        fields_of({"schema": schema})


def test_unknown_keys_are_ignored():
    record = stub_record()
    assert Record.from_dict(record.to_dict() | {"carbon_grams": 3.0}) == record


def _damaged(key: str, text: str) -> bytes:
    """A whole record whose field ``key`` holds other text."""
    data = stub_record().to_dict()
    return json.dumps(data | {key: "DAMAGE"}).replace('"DAMAGE"', text).encode() + b"\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[1, 2]\n", "not a JSON object"),
        (b"{}\n", "no schema version"),
        (b'{"schema": 99}\n', r"written by another version of sciml-bench \(schema 99, this one reads 1\)"),
        (b'{"schema": 1}\n', "'cell_id' is missing"),
        (b'{"schema": 1, "points": [3]}\n', "'cell_id' is missing"),
        (_damaged("wall_s", '"long"'), "wall_s: a number expected, found text"),
        (_damaged("wall_s", "1e999"), "wall_s: a finite number expected, found inf"),
        (_damaged("wall_s", "NaN"), "not JSON: NaN"),
        (_damaged("peak_rss_bytes", "9" * 400), "peak_rss_bytes: a whole number expected, found a larger one"),
        (_damaged("peak_rss_bytes", "9" * 5000), "4300"),
        (_damaged("cell", "3"), "cell: an object expected, found 3"),
        (_damaged("points", "3"), "points: a list expected, found 3"),
        (_damaged("points", "[3]"), r"points\[0\]: an object expected, found 3"),
        (_damaged("outcome", '"great"'), "outcome: unknown outcome 'great'"),
        (b"\xff\xfe\n", "codec can't decode"),
        (b"\n", "Expecting value"),
        (b"[" * 100_000 + b"\n", ""),
    ],
)
def test_damaged_line_is_named_and_the_rest_is_read(tmp_path: Path, line: bytes, reason: str):
    path = tmp_path / "records.jsonl"
    good = [stub_record(block=block).to_json().encode() + b"\n" for block in range(3)]
    path.write_bytes(good[0] + line + good[1] + good[2])
    damaged: list[DamagedLine] = []
    assert [record.block for record in read_records(path, damaged.append)] == [0, 1, 2]
    assert [item.number for item in damaged] == [2]
    assert re.search(reason, damaged[0].reason)
    assert str(damaged[0]).startswith(f"{path}:2: ")


def test_truncated_last_line_is_named(tmp_path: Path):
    path = tmp_path / "records.jsonl"
    line = stub_record().to_json()
    path.write_text(f"{line}\n{line[:200]}")
    damaged: list[DamagedLine] = []
    assert len(list(read_records(path, damaged.append))) == 1
    assert damaged[0].number == 2
    assert "the line is cut off" in damaged[0].reason


def test_damage_is_logged_when_nobody_asks(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = tmp_path / "records.jsonl"
    path.write_text("garbage\n")
    with caplog.at_level(logging.WARNING):
        assert list(read_records(path)) == []
    assert f"{path}:1: " in caplog.text


def test_no_file_holds_no_records(tmp_path: Path):
    assert list(read_records(tmp_path / "records.jsonl")) == []


def test_reading_holds_one_record_at_a_time(tmp_path: Path):
    path = tmp_path / "records.jsonl"
    line = stub_record().to_json() + "\n"
    path.write_text(line * 3000)
    assert path.stat().st_size > 5 * 2**20
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_records(path)) == 3000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**20


def test_of_many_trajectories_the_outcomes_are_counted_and_few_are_stored():
    size = MAX_STORED_TRAJECTORIES + 5
    found = Trajectories.each([7] * size, ((i, Outcome.MAX_STEPS) for i in range(size - 1)))
    assert (len(found.n_steps), len(found.failed)) == (0, MAX_STORED_TRAJECTORIES)
    assert found.outcomes == {Outcome.OK: 1, Outcome.MAX_STEPS: size - 1}
    few = Trajectories.each([7, 9], [(1, Outcome.NONFINITE)])
    assert (few.n_steps, few.n_failed, few.total_steps) == ((7, 9), None, 16)
    assert few.outcomes == {Outcome.OK: 1, Outcome.NONFINITE: 1}

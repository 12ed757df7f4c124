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
from stubs.points import in_schema
from stubs.records import stub_measurement, stub_record
from stubs.tasks import stub_task

from sciml_bench.record.lines import DamagedLine
from sciml_bench.record.migration import SCHEMA, migrated
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import (
    MAX_STORED_TRAJECTORIES,
    GradientHalf,
    PointResult,
    SolveHalf,
    Trajectories,
    Trial,
)
from sciml_bench.record.process import HostObservations, WorkerFacts
from sciml_bench.record.record import Measurement, Placement, Record, read_records

DATA = Path(__file__).parent / "data"
OLD, SECOND, THIRD = EARLIER = [DATA / f"records_schema_{schema}.jsonl" for schema in (1, 2, 3)]


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
    assert line.startswith('{"schema":4,')
    assert Record.from_json(line) == record


def test_file_holds_every_field_under_its_name():
    data = json.loads(stub_record().to_json())
    fields = {item.name: item for item in dataclasses.fields(Record)}
    assert set(data) <= set(fields)
    # What was added later without changing what was there has a default.
    assert all(fields[name].default is not dataclasses.MISSING for name in set(fields) - set(data))
    assert set(data["points"][0]) == {item.name for item in dataclasses.fields(PointResult)}
    assert set(data["points"][0]["solve"]) == {item.name for item in dataclasses.fields(SolveHalf)}
    assert set(data["points"][0]["gradient"]) == {item.name for item in dataclasses.fields(GradientHalf)}
    assert data["schema"] == SCHEMA
    assert data["points"][1]["outcome"] == "max_steps"


def test_each_field_is_stated_once():
    parts = (WorkerFacts, HostObservations, Measurement, Placement, Record)
    stated = [name for part in parts for name in vars(part)["__annotations__"]]
    assert len(stated) == len(set(stated)) == len(dataclasses.fields(Record))


def test_record_of_the_first_schema_can_be_read():
    (record,) = read_records(OLD)
    assert record.schema == 1
    assert record.cell.problem == "decay"
    assert record.points[0].solve.ns == (1_000_000, 1_100_000, 1_050_000)
    assert record.points[1].outcome is Outcome.MAX_STEPS


def test_what_the_first_schema_did_not_tell_is_unknown_after_migration():
    (record,) = read_records(OLD)
    assert (record.caches, record.attempt, record.noisy, record.fill_s) == ("cold", 0, (), 0.0)
    assert (record.compile_cache_hits, record.energy, record.conditions) == (None, None, {})
    assert record.framework_phases_ns == {}
    assert record.points[0].solve.steady is None
    assert record.points[0].solve.counted_ns == record.points[0].solve.ns


@pytest.mark.parametrize("path", EARLIER)
def test_migrated_record_survives_its_line_and_keeps_where_it_came_from(path: Path):
    (record,) = read_records(path)
    line = json.loads(record.to_json())
    assert (line["schema"], line["from_schema"]) == (SCHEMA, record.schema)
    assert Record.from_dict(line) == record


@pytest.mark.parametrize("first", [0, 5, "2", None, True, 2.0])
def test_record_that_lies_about_where_it_came_from_is_refused(first: object):
    with pytest.raises(ValueError, match="from_schema: a schema up to 4 expected"):
        Record.from_dict(stub_record().to_dict() | {"from_schema": first})


def test_migration_gives_every_field_of_the_newest_schema():
    data = migrated(json.loads(OLD.read_text()))
    fields = {item.name: item for item in dataclasses.fields(Record)}
    assert set(data) <= set(fields)
    # What was added later without changing what was there has a default.
    assert all(fields[name].default is not dataclasses.MISSING for name in set(fields) - set(data))
    assert set(data["points"][0]) == {item.name for item in dataclasses.fields(PointResult)}
    for half, kind in (("solve", SolveHalf), ("gradient", GradientHalf)):
        of_half = {item.name: item for item in dataclasses.fields(kind)}
        found = set(data["points"][0][half])
        assert found <= set(of_half)
        assert set(of_half) - found == {"to_device_ns", "from_device_ns", "prepare_ns"}


def test_record_of_the_third_schema_loses_nothing():
    (record,) = read_records(THIRD)
    assert record.schema == 3
    first, second = json.loads(THIRD.read_text())["points"]
    point = record.points[0]
    assert point.solve == SolveHalf(
        outcome=Outcome.OK,
        first_ns=first["first_solve_ns"],
        warm_up_ns=tuple(first["warm_up_solve_ns"]),
        ns=tuple(first["solve_ns"]),
        steady={"class": "warm_up", "start": 1, "changepoints": [1]},
        inside={"ns": (900_000, 1_000_000, 950_000), "gc_ns": (0, 5, 0)},
        statistics={"steps": 12.0},
        scores=first["solve_scores"],
        working_bytes=2048,
        end_state=(0.3, 0.4),
        state_size=2,
        trajectories=Trajectories(3, False, (4, 5, 6), ((2, Outcome.MAX_STEPS),)),
        invariants={"energy": {"initial": 0.125, "drift": 2e-3}},
    )
    assert point.gradient == GradientHalf(
        outcome=Outcome.OK,
        first_ns=first["first_gradient_ns"],
        warm_up_ns=tuple(first["warm_up_gradient_ns"]),
        ns=tuple(first["gradient_ns"]),
        steady={"class": "flat", "start": 0, "changepoints": []},
        statistics={"steps": 24.0, "rate": None},
        scores=first["gradient_scores"],
        working_bytes=4096,
        loss=1.5,
        values=(0.1, None),
        size=2,
        slopes=(0.5, None),
    )
    assert (point.truncated, point.memory_growth_bytes) == (True, 0)
    assert (record.points[1].solve.outcome, record.points[1].gradient.outcome) == (Outcome.MAX_STEPS, Outcome.OK)
    assert second["gradient_ns"] == []


@pytest.mark.parametrize("path", [OLD, SECOND])
def test_scores_of_earlier_schemas_are_read_under_the_names_of_today(path: Path):
    written = json.loads(path.read_text())
    written["points"][0]["gradient_scores"]["log_relative_error"] = 0.25
    record = Record.from_dict(written)
    assert record.points[0].gradient.scores == {
        "error": 0.25,
        "norm_error": 1e-3,
        "worst_component": None,
        "worst_component_error": 2e-3,
        "below_reference": False,
    }
    assert record.points[1].gradient.scores is None
    assert Record.from_json(record.to_json()) == record


def test_scores_of_models_are_left_as_they_were():
    written = json.loads(SECOND.read_text())
    written["points"][0]["gradient_scores"] = {"loss_error": 1e-6, "slope_error": 1e-7}
    assert Record.from_dict(written).points[0].gradient.scores == {"loss_error": 1e-6, "slope_error": 1e-7}


def test_record_of_the_second_schema_can_be_read():
    (record,) = read_records(SECOND)
    assert record.schema == 2
    assert (record.caches, record.cell.mode, record.attempt) == ("warm", "compiled-warm", 1)
    assert record.noisy == ("other_load: other processes kept 0.9 processors busy (limit 0.25)",)
    assert record.compile_cache_hits == 2
    assert record.stability == (Trial(0, 0, Outcome.OK, 1e-7), Trial(1, 0, Outcome.MAX_STEPS))
    assert record.points[0].solve.steady == {"class": "warm_up", "start": 1, "changepoints": [1]}
    assert record.points[0].solve.counted_ns == (1_100_000, 1_050_000)
    # What came after this line was written has a default and takes nothing away.
    written, read = json.loads(SECOND.read_text()), in_schema(json.loads(record.to_json()), 2)
    written_points, read_points = written.pop("points"), read.pop("points")
    del written_points[0]["gradient_scores"]
    written["cell"]["saving"] = "default"
    assert written.items() <= read.items()
    assert all(old.items() <= new.items() for old, new in zip(written_points, read_points, strict=True))
    assert (read["waited_s"], read_points[0]["solve_inside"]) == (0.0, None)


@pytest.mark.parametrize("schema", [None, "1", True, 0, -1])
def test_what_has_no_schema_is_no_record(schema: object):
    with pytest.raises(ValueError, match="no schema version"):
        migrated({"schema": schema})


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
        (b'{"schema": 99}\n', r"written by a newer version \(schema 99, known up to 4\)"),
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

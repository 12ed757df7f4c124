"""Shards and units that were changed by hand are refused."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from execution.shared_study import NODE, Study

from sciml_bench.engine.unit import SCHEMA, Unit
from sciml_bench.errors import StoreError
from sciml_bench.execution.shard import END, Shard, carry_out
from sciml_bench.record.jsonl import sealed


def edited_record(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    """A forger's edit of the first record, whose checksum and file hash are made right again."""

    def edit(shard: Path) -> None:
        path = shard / "records.jsonl"
        lines = path.read_text().splitlines()
        data = json.loads(lines[0])
        del data["sha256"]
        change(data)
        path.write_text("\n".join([sealed(json.dumps(data)), *lines[1:]]) + "\n")
        seal(shard)

    return edit


def with_a_changed_time(shard: Path) -> None:
    """An edit after which only the file's hash is made right again."""
    path = shard / "records.jsonl"
    path.write_text(path.read_text().replace('"wall_s":', '"wall_s":1', 1))
    seal(shard)


def seal(shard: Path) -> None:
    """Make the end of a shard fit its records."""
    path = shard / "records.jsonl"
    end = json.loads((shard / END).read_text())
    end |= {"records": len(path.read_text().splitlines()), "records_sha256": sha256(path.read_bytes()).hexdigest()}
    (shard / END).write_text(json.dumps(end))


def without_last_record(shard: Path) -> None:
    path = shard / "records.jsonl"
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    seal(shard)


def with_a_record_twice(shard: Path) -> None:
    path = shard / "records.jsonl"
    path.write_text(path.read_text() + path.read_text().splitlines(keepends=True)[0])
    seal(shard)


def with_changed_environment(shard: Path) -> None:
    (shard / "environment.json").write_text(json.dumps({**NODE, "cpu": {"model": "larger"}}))


def cut_off(shard: Path) -> None:
    path = shard / "records.jsonl"
    path.write_bytes(path.read_bytes()[:-30])


ATTACKS = {
    "cut off on the way": (cut_off, "changed or cut off"),
    "a time by hand": (with_a_changed_time, "its checksum does not match"),
    "a record is gone": (without_last_record, "does not hold all records"),
    "a record twice": (with_a_record_twice, "a process twice"),
    "another environment": (with_changed_environment, "another machine or environment"),
    "a block that the unit does not have": (edited_record(lambda data: data.update(block=1)), "does not have"),
    "another place": (edited_record(lambda data: data.update(order=7)), "differs from its place"),
    "another division": (edited_record(lambda data: data.update(division="other")), "differs from its place"),
    "another source": (edited_record(lambda data: data.update(source_hash="0" * 64)), "another source"),
    "another seed": (edited_record(lambda data: data.update(seed=9)), "another source or seed"),
    "another machine": (edited_record(lambda data: data.update(host="x")), "another machine"),
    "not a record": (edited_record(dict.clear), r"records\.jsonl:1"),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_shards_that_were_changed_are_refused(study: Study, attack: str):
    change, match = ATTACKS[attack]
    shard = study.shard(0)
    change(shard)
    study.refuses(match, shard)


UNITS_CHANGED: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "a limit": (lambda data: data.update(timeout_s=1e9), "was changed after it was written"),
    "a source": (lambda data: data["jobs"][0]["task"].update(source="import os"), "was changed after it was written"),
    "newer": (lambda data: data.update(schema=SCHEMA + 1), "newer version"),
    "no jobs": (lambda data: data.pop("jobs"), "is not a unit"),
}


@pytest.mark.parametrize("name", UNITS_CHANGED)
def test_a_unit_file_that_was_changed_is_refused(study: Study, name: str):
    change, match = UNITS_CHANGED[name]
    data = json.loads(study.units[0].read_text())
    change(data)
    study.units[0].write_text(json.dumps(data))
    with pytest.raises(StoreError, match=match):
        Unit.read(study.units[0])


def test_a_unit_that_was_changed_and_hashed_again_is_found_when_its_shard_is_merged(study: Study, tmp_path: Path):
    changed = dataclasses.replace(Unit.read(study.units[0]), timeout_s=1e9)
    changed.write(tmp_path / "changed.json")
    shard = Shard.begin(Unit.read(tmp_path / "changed.json"), tmp_path / "changed", NODE)
    carry_out(shard, "node")
    study.refuses("not the one that was handed over", shard.folder)

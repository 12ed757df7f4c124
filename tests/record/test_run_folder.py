"""Run folders: created, appended to, broken and resumed."""

from __future__ import annotations

import datetime
import errno
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from stubs.records import stub_record

from sciml_bench.errors import StoreError
from sciml_bench.record import jsonl
from sciml_bench.record.jsonl import DamagedLine, append_line
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.run_folder import Run, environment_hash

NOW = datetime.datetime(2026, 11, 21, 10, 31, 5)
PLAN = {"cells": [{"cell_id": "0123456789ab"}], "note": "Größe"}
ENVIRONMENT = {"cpu": {"model": "abacus"}}


def new_run(folder: Path) -> Run:
    return Run.create(folder / "results", "stiff_smoke", plan=PLAN, environment=ENVIRONMENT, now=NOW)


def test_folder_has_time_and_name(tmp_path: Path):
    run = new_run(tmp_path)
    assert run.folder == tmp_path / "results" / "2026-11-21T10-31-05Z_stiff_smoke"
    assert sorted(path.name for path in run.folder.iterdir()) == ["environment.json", "plan.json"]


def test_name_that_is_taken_gets_a_number(tmp_path: Path):
    names = [new_run(tmp_path).folder.name for _ in range(3)]
    assert names == [f"2026-11-21T10-31-05Z_stiff_smoke{suffix}" for suffix in ("", "-2", "-3")]


def test_plan_and_environment_come_back(tmp_path: Path):
    run = Run.open(new_run(tmp_path).folder)
    assert run.plan == PLAN
    assert run.environment == ENVIRONMENT
    assert run.environment_hash == environment_hash(ENVIRONMENT)


def test_records_come_back_in_order(tmp_path: Path):
    run = new_run(tmp_path)
    records = [stub_record(block=block) for block in range(3)]
    for record in records:
        run.append(record)
    assert list(Run.open(run.folder).records()) == records


def test_done_says_what_need_not_be_measured_again(tmp_path: Path):
    run = new_run(tmp_path)
    assert run.done() == set()
    run.append(stub_record("aaa", 0))
    run.append(stub_record("bbb", 0, outcome=Outcome.TIMEOUT))
    run.append(stub_record("bbb", 1))
    assert run.done() == {("aaa", 0), ("bbb", 0), ("bbb", 1)}
    assert run.done(redo_failed=True) == {("aaa", 0), ("bbb", 1)}
    run.append(stub_record("bbb", 0))
    assert run.done(redo_failed=True) == {("aaa", 0), ("bbb", 0), ("bbb", 1)}


def test_half_written_last_line_is_cut_off_on_resume(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    run = new_run(tmp_path)
    run.append(stub_record("aaa"))
    whole = run.records_path.read_bytes()
    run.records_path.write_bytes(whole + stub_record("bbb").to_json().encode()[:-10])
    again = Run.resume(run.folder)
    assert run.records_path.read_bytes() == whole
    assert "cut off a last line" in caplog.text
    again.append(stub_record("ccc"))
    assert again.done() == {("aaa", 0), ("ccc", 0)}


def test_last_line_that_lacks_only_its_newline_is_kept(tmp_path: Path):
    run = new_run(tmp_path)
    run.append(stub_record("aaa"))
    whole = run.records_path.read_bytes()
    run.records_path.write_bytes(whole[:-1])
    Run.resume(run.folder)
    assert run.records_path.read_bytes() == whole


def test_a_line_that_was_changed_is_no_half_line(tmp_path: Path):
    run = new_run(tmp_path)
    run.append(stub_record(block=0))
    line = run.records_path.read_bytes().rstrip(b"\n")
    for cut in range(1, 90):
        run.records_path.write_bytes(line[:-cut])
        Run.resume(run.folder)
        assert run.records_path.read_bytes() == b""
    changed = line.replace(b'"block":0', b'"block":1')
    assert changed != line
    run.records_path.write_bytes(changed)
    Run.resume(run.folder)
    assert run.records_path.read_bytes() == changed + b"\n"
    damaged: list[DamagedLine] = []
    assert not list(run.records(damaged.append))
    assert "its checksum does not match" in damaged[0].reason


def test_first_line_that_is_half_written_leaves_no_records(tmp_path: Path):
    run = new_run(tmp_path)
    run.records_path.write_bytes(b'{"schema":1,' + b"x" * 200_000)
    assert Run.resume(run.folder).done() == set()
    assert run.records_path.read_bytes() == b""


def test_damaged_line_in_the_middle_is_measured_again(tmp_path: Path):
    run = new_run(tmp_path)
    for name in ("aaa", "bbb", "ccc"):
        run.append(stub_record(name))
    lines = run.records_path.read_bytes().splitlines(keepends=True)
    run.records_path.write_bytes(lines[0] + lines[1][:50] + b"\n" + lines[2])
    damaged: list[DamagedLine] = []
    assert [record.cell_id for record in run.records(damaged.append)] == ["aaa", "ccc"]
    assert [item.number for item in damaged] == [2]
    assert run.done() == {("aaa", 0), ("ccc", 0)}


def test_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    run = new_run(tmp_path)
    run.append(stub_record("aaa"))
    before = run.records_path.read_bytes()
    write = os.write

    writes = iter([100])

    def some_then_none(descriptor: int, data: Any) -> int:
        for size in writes:
            return write(descriptor, data[:size])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", some_then_none)
    with pytest.raises(StoreError, match=r"No space left on device\. Free some space and run the same command again"):
        run.append(stub_record("bbb"))
    monkeypatch.undo()
    assert run.records_path.read_bytes() == before
    run.append(stub_record("bbb"))
    assert run.done() == {("aaa", 0), ("bbb", 0)}


LIMITED = """
import resource, signal, sys
from pathlib import Path
from stubs.records import stub_record
from sciml_bench.errors import StoreError
from sciml_bench.record.run_folder import Run

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
run = Run.open(Path(sys.argv[1]))
try:
    for block in range(1000):
        run.append(stub_record(block=block))
except StoreError as error:
    print(error)
"""


def test_file_that_may_not_grow_keeps_whole_lines(tmp_path: Path):
    run = new_run(tmp_path)
    roots = os.pathsep.join(str(Path(__file__).parents[up]) for up in (1, 2))
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(run.folder)],
        env=os.environ | {"PYTHONPATH": roots},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "File too large. The file reached the size limit" in done.stdout
    blocks = [record.block for record in run.records()]
    assert blocks == list(range(len(blocks)))
    assert len(blocks) > 1
    assert run.records_path.read_bytes().endswith(b"\n")


KILLED = """
import os, sys
from pathlib import Path
from stubs.records import stub_record
from sciml_bench.record.run_folder import Run

run = Run.open(Path(sys.argv[1]))
for block in range(10**6):
    run.append(stub_record(block=block))
    print(block, flush=True)
"""


def test_killed_writer_loses_nothing_that_it_told(tmp_path: Path):
    run = new_run(tmp_path)
    roots = os.pathsep.join(str(Path(__file__).parents[up]) for up in (1, 2))
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(run.folder)],
        env=os.environ | {"PYTHONPATH": roots},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) == 20:
                process.kill()
                break
    blocks = [record.block for record in Run.resume(run.folder).records()]
    assert blocks == list(range(len(blocks)))
    assert len(blocks) > 20


def test_folder_that_cannot_be_written_is_a_store_error(tmp_path: Path):
    (tmp_path / "results").write_text("a file in the way")
    with pytest.raises(StoreError, match=r"it is a file\. Choose another folder|Not a directory"):
        new_run(tmp_path)


def test_folder_without_permission_is_a_store_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(self: Path, *args: Any, **kwargs: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(StoreError, match=r"Permission denied\. You may not write there: choose another folder"):
        new_run(tmp_path)


def test_plan_that_cannot_be_written_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(source: Any, target: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(StoreError, match="No space left"):
        new_run(tmp_path)
    assert list((tmp_path / "results" / "2026-11-21T10-31-05Z_stiff_smoke").iterdir()) == []


@pytest.mark.parametrize("opener", [Run.open, Run.resume])
def test_what_is_no_run_is_a_store_error(tmp_path: Path, opener: Any):
    with pytest.raises(StoreError, match="no run '"):
        opener(tmp_path / "nowhere")
    with pytest.raises(StoreError, match=r"is not a run: it has no plan\.json"):
        opener(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_damaged_plan_is_a_store_error(tmp_path: Path, text: str):
    run = new_run(tmp_path)
    (run.folder / "plan.json").write_text(text)
    with pytest.raises(StoreError, match=r"plan\.json is damaged"):
        _ = Run.open(run.folder).plan


def test_the_names_of_new_files_reach_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A file whose folder was not written is lost with its content when the machine loses power."""
    synced: list[Path] = []
    monkeypatch.setattr(jsonl, "sync_folder", lambda folder: synced.append(Path(folder)))
    run = new_run(tmp_path)
    assert set(synced) == {run.folder}
    synced.clear()
    append_line(run.records_path, "{}")
    append_line(run.records_path, "{}")
    assert synced == [run.folder]


def test_a_run_is_named_by_utc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        run = Run.create(tmp_path, "run", plan={}, environment={})
    finally:
        monkeypatch.undo()
        time.tzset()
    named = datetime.datetime.strptime(run.folder.name, "%Y-%m-%dT%H-%M-%SZ_run").replace(tzinfo=datetime.UTC)
    assert abs((datetime.datetime.now(datetime.UTC) - named).total_seconds()) < 3600

"""One process appends to a run, whichever machines share its folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from stubs.carried import made_plan, new_run, noisy_at, use

from sciml_bench.errors import StoreError
from sciml_bench.execution import owner
from sciml_bench.execution.merge import merge
from sciml_bench.execution.owner import OWNER, SILENT_S, Owner, owned, refuse_owned
from sciml_bench.execution.session import Session, unfinished
from sciml_bench.host.processes import identity
from sciml_bench.record.run_folder import Run

OURS = Owner.this_process()
ELSEWHERE = {
    "another machine": replace(OURS, host="node2", boot="another"),
    "another container of this machine": replace(OURS, namespace="1"),
    "a system that does not name its starts": replace(OURS, host="node2", boot=""),
}


def leave(folder: Path, left: Owner, silent_s: float = 0.0) -> Path:
    path = folder / OWNER
    path.write_text(json.dumps(asdict(left)))
    touched = path.stat().st_mtime - silent_s
    os.utime(path, (touched, touched))
    return path


def ended_process() -> Owner:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return replace(OURS, pid=child.pid, started="1")


def test_a_run_has_one_owner_at_a_time(tmp_path: Path):
    with owned(tmp_path):
        with (
            pytest.raises(StoreError, match=rf"is being measured by process {os.getpid()} on .* --new"),
            owned(tmp_path),
        ):
            pass
        with pytest.raises(StoreError, match="is being measured"):
            refuse_owned(tmp_path)
        assert (tmp_path / OWNER).is_file()
    assert not list(tmp_path.glob(f"*{OWNER}*"))
    with owned(tmp_path):
        pass


def test_the_owner_gives_the_run_up_when_it_fails(tmp_path: Path):
    with pytest.raises(KeyboardInterrupt), owned(tmp_path):
        raise KeyboardInterrupt
    refuse_owned(tmp_path)


def test_a_process_that_nobody_waits_for_has_ended(tmp_path: Path):
    child = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    left = replace(OURS, pid=child.pid, started=identity.started(child.pid))
    leave(tmp_path, left)
    with pytest.raises(StoreError, match=f"process {child.pid} "):
        refuse_owned(tmp_path)
    assert child.stdin is not None
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    refuse_owned(tmp_path)
    child.wait()


def test_a_system_without_names_for_its_starts_knows_its_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(identity, "boot", lambda: "")
    leave(tmp_path, replace(OURS, boot="", started="1"))
    refuse_owned(tmp_path)


def test_a_file_that_was_published_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Another process takes the run between the look at its file and the removal of an ended owner."""
    with owned(tmp_path):
        kept = (tmp_path / OWNER).read_bytes()
        with monkeypatch.context() as late:
            late.setattr(owner, "refuse_owned", lambda _folder: None)
            with pytest.raises(StoreError, match="has just begun"), owned(tmp_path):
                pass
        assert (tmp_path / OWNER).read_bytes() == kept
    assert not list(tmp_path.glob(".*owner*"))


def test_file_systems_without_hard_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    with owned(tmp_path):
        with pytest.raises(StoreError, match="is being measured"):
            refuse_owned(tmp_path)
        assert json.loads((tmp_path / OWNER).read_text())["pid"] == os.getpid()


def test_a_file_system_that_fails_for_a_moment_takes_no_run_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(_path: Path) -> bytes:
        raise OSError(5, "Input/output error")

    with owned(tmp_path) as ownership, monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", fail)
        ownership.check()


def test_an_owner_that_was_killed_holds_nothing(tmp_path: Path):
    for left in (ended_process(), replace(OURS, started="1"), replace(OURS, pid=2**31)):
        leave(tmp_path, left)
        refuse_owned(tmp_path)
        with owned(tmp_path):
            assert json.loads((tmp_path / OWNER).read_text())["pid"] == os.getpid()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}', "\0" * 10])
def test_a_damaged_file_holds_nothing(tmp_path: Path, text: str):
    (tmp_path / OWNER).write_text(text)
    with owned(tmp_path):
        pass


@pytest.mark.parametrize("place", ELSEWHERE)
def test_an_owner_that_cannot_be_seen_is_alive_while_it_leaves_signs(tmp_path: Path, place: str):
    path = leave(tmp_path, ELSEWHERE[place], SILENT_S - 60)
    with pytest.raises(StoreError, match=rf"which left a sign 5\d\d s ago.*if it has ended, remove .*{OWNER}"):
        refuse_owned(tmp_path)
    leave(tmp_path, ELSEWHERE[place], SILENT_S + 60)
    with owned(tmp_path):
        pass
    assert not path.exists()


def test_the_owner_leaves_signs_until_it_gives_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(owner, "SIGN_EVERY_S", 0.001)
    path = tmp_path / OWNER
    with owned(tmp_path):
        os.utime(path, (0, 0))
        # However slow the machine is: without a sign this does not end.
        while path.stat().st_mtime == 0:
            pass
    assert not any(thread.name == "owner" for thread in threading.enumerate())


@pytest.mark.parametrize("taker", [replace(OURS, pid=7, started="7"), None])
def test_an_owner_that_lost_its_run_writes_nothing_more(tmp_path: Path, taker: Owner | None):
    with owned(tmp_path) as ownership:
        path = tmp_path / OWNER
        if taker is None:
            path.unlink()
        else:
            leave(tmp_path, taker)
        with pytest.raises(StoreError, match="was taken over"):
            ownership.check()
    assert (tmp_path / OWNER).is_file() == (taker is not None), "the other one's file stays"


def test_no_record_is_written_after_the_run_was_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    plan, run = made_plan(), new_run(tmp_path)

    def measure(task, number):
        if number == 1:
            leave(run.folder, replace(OURS, pid=7, started="7"))
        return noisy_at()(task, number)

    use(monkeypatch, measure)
    with pytest.raises(StoreError, match="was taken over"):
        Session(plan, run, resumed=False).carry_out()
    assert len(list(run.records())) == 1


def test_a_run_that_is_being_measured_is_neither_resumed_nor_mended(tmp_path: Path):
    plan = made_plan()
    run = Run.create(tmp_path, "test", plan=plan.to_dict() | {"hash": plan.hash}, environment={})
    half = b'{"schema": 1, "rec'
    run.records_path.write_bytes(half)
    leave(run.folder, ELSEWHERE["another machine"])
    with pytest.raises(StoreError, match="on node2"):
        unfinished(plan, tmp_path, lambda _run: True)
    with pytest.raises(StoreError, match="on node2"):
        Session(plan, run, resumed=True).carry_out()
    with pytest.raises(StoreError, match="on node2"):
        merge(run, [])
    assert run.records_path.read_bytes() == half
    (run.folder / OWNER).unlink()
    assert unfinished(plan, tmp_path, lambda _run: True)[0] is not None
    assert run.records_path.read_bytes() == b""


def test_a_session_first_ends_what_dead_ones_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    plan = made_plan()
    run = Run.create(tmp_path, "test", plan=plan.to_dict() | {"hash": plan.hash}, environment={})
    swept: list[str] = []
    monkeypatch.setattr("sciml_bench.host.temporary.sweep", lambda: swept.append("folders"))
    monkeypatch.setattr("sciml_bench.host.processes.strays.sweep", lambda: swept.append("processes"))

    def measured(*_: Any) -> Any:
        assert swept == ["folders", "processes"]
        raise KeyboardInterrupt

    monkeypatch.setattr("sciml_bench.execution.session.execute", measured)
    assert not Session(plan, run, resumed=True).carry_out()
    assert swept == ["folders", "processes"]

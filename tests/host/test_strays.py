"""What workers leave behind is ended, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from sciml_bench.host.processes import strays
from sciml_bench.host.processes.identity import started

pytestmark = pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs /proc")

SLEEPS = [sys.executable, "-S", "-c", "import time; print(1, flush=True); time.sleep(600)"]
DAEMON = f"""
import os, subprocess, sys
if os.fork() == 0:
    os.setsid()
    process = subprocess.Popen({SLEEPS!r}, stdout=subprocess.DEVNULL)
    print(process.pid, flush=True)
    os._exit(0)
os.wait()
"""

Start = Callable[..., psutil.Process]


@pytest.fixture
def start() -> Iterator[Start]:
    begun: list[subprocess.Popen[str]] = []

    def run(**variables: str) -> psutil.Process:
        process = subprocess.Popen(SLEEPS, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True)
        begun.append(process)
        assert process.stdout is not None
        # It has its variables from then on.
        process.stdout.readline()
        return psutil.Process(process.pid)

    yield run
    for process in begun:
        process.kill()
        process.communicate()


def has_ended(process: psutil.Process) -> bool:
    """Return whether it was killed; its parent may not have reaped it."""
    deadline = time.monotonic() + 60
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_tags_differ():
    assert strays.new_tag() != strays.new_tag()


def test_processes_of_one_worker_are_ended_and_no_others(start: Start):
    tag, other = strays.new_tag(), strays.new_tag()
    mine = [start(**{strays.VARIABLE: tag}) for _ in range(2)]
    others = [start(), start(**{strays.VARIABLE: other}), start(**{strays.VARIABLE: f"{tag}0"}), start(X=tag)]
    assert strays.end_tagged(tag) == 2
    assert all(map(has_ended, mine))
    assert all(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in others)


def test_a_daemon_in_a_session_of_its_own_is_found():
    tag = strays.new_tag()
    command = [sys.executable, "-S", "-c", DAEMON]
    done = subprocess.run(
        command, env={**os.environ, strays.VARIABLE: tag}, stdout=subprocess.PIPE, text=True, check=True
    )
    daemon = psutil.Process(int(done.stdout))
    assert tag not in {str(parent.pid) for parent in daemon.parents()}
    assert strays.end_tagged(tag) == 1
    assert has_ended(daemon)


def test_processes_of_a_starter_that_was_killed_are_swept(start: Start, monkeypatch: pytest.MonkeyPatch):
    # Other tests sweep too.
    monkeypatch.setattr(strays, "namespace", lambda: "0000")
    ended = subprocess.Popen([sys.executable, "-S", "-c", ""])
    ended.wait()
    here, now = "0000", started(os.getpid())
    left = [start(**{strays.VARIABLE: f"{here}_{pid}_1_1"}) for pid in (ended.pid, os.getpid(), 2**31)]
    kept = [
        start(**{strays.VARIABLE: tag})
        for tag in (
            strays.new_tag(),
            f"{here}_{os.getpid()}_{now}_9",
            f"1{here}_{ended.pid}_1_1",
            "",
            "x",
            f"{here}_y_1_1",
        )
    ]
    assert strays.sweep() == 3
    assert all(map(has_ended, left))
    assert all(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in kept)


def test_a_process_that_ends_meanwhile_is_no_error(monkeypatch: pytest.MonkeyPatch, start: Start):
    tag = strays.new_tag()
    process = start(**{strays.VARIABLE: tag})

    def kill(pid: int, number: int) -> None:
        assert (pid, number) == (process.pid, signal.SIGKILL)
        raise ProcessLookupError

    with monkeypatch.context() as patched:
        patched.setattr(strays.os, "kill", kill)
        assert strays.end_tagged(tag) == 1

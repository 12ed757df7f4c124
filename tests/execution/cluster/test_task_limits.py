"""A task ends at its limit, by any scheduler, and does not wait longer for its machine than half of that."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from stubs.cluster import Stub, Study

from sciml_bench.execution.cluster import task
from sciml_bench.execution.cluster.task import Order, carry_out_task, command_of
from sciml_bench.execution.cluster.task_folder import TASKS, End, Ending, tasks_of
from sciml_bench.host import lock
from sciml_bench.host.lock import host_lock

UNIT = "000-decay"


def order(study: Study, limit_s: float) -> Order:
    """The order for a unit whose file the engine has written."""
    study.carry_out(Stub())
    return Order(str(study.run.folder), UNIT, limit_s=limit_s)


def end_of(study: Study) -> End:
    """How the last task of the unit ended."""
    end = tasks_of(study.run.folder / TASKS)[UNIT][-1].end
    assert end is not None
    return end


def test_a_task_past_its_limit_ends_and_says_so(study: Study, monkeypatch: pytest.MonkeyPatch):
    late = order(study, limit_s=7200)
    seconds = iter([0.0, 0.0, *[7201.0] * 99])
    monkeypatch.setattr(
        task, "time", SimpleNamespace(monotonic=lambda: next(seconds), time=time.time, sleep=lambda _seconds: None)
    )
    monkeypatch.setattr(task, "_STOP_S", 0.01)
    monkeypatch.setattr(task, "_KILL_S", 3600.0)
    monkeypatch.setattr(task, "_carried_out", lambda *_: threading.Event().wait())
    carry_out_task(late)
    assert "stop" not in {thread.name for thread in threading.enumerate()}
    assert end_of(study).ending is Ending.TIMED_OUT
    assert end_of(study).message.endswith("after its limit of 120 min: give a longer --time")


def test_a_machine_that_another_benchmark_keeps_is_left_out(study: Study, monkeypatch: pytest.MonkeyPatch):
    waits: list[float | None] = []
    held = host_lock

    def tried(*, label: str, wait_s: float | None, path: Any, announce: Any) -> Any:
        waits.append(wait_s)
        return held(label=label, wait_s=0.0, path=path, announce=announce)

    monkeypatch.setattr(task, "_node", lambda: "n1")
    monkeypatch.setattr(task, "host_lock", tried)
    scheduler = Stub()
    with host_lock(label="another study", path=lock.lock_path()):
        rest = study.carry_out(scheduler, limit_s=7200)
    assert set(waits) == {3600}
    assert scheduler.without == [[], ["n1"], ["n1"]]
    assert len(rest.lost) == 4
    assert all(
        "n1 cannot be used: another benchmark runs on this host ('another study'" in text for text in rest.lost.values()
    )


def test_a_limit_reaches_the_task(study: Study, monkeypatch: pytest.MonkeyPatch):
    given: list[Order] = []
    monkeypatch.setattr(task, "carry_out_task", given.append)
    monkeypatch.setattr(task, "end_with_parent", lambda: None)
    orders = [Order("run", UNIT, True, 90.5), Order("run", UNIT, False, math.inf)]
    for each in orders:
        task.main(command_of(each)[2:])
    assert given == orders

    limits: set[float] = set()

    def fate(each: Order) -> None:
        limits.add(each.limit_s)
        carry_out_task(each)

    study.carry_out(Stub(*[fate] * 4), limit_s=600)
    assert limits == {600}


def test_a_task_that_does_not_end_by_a_signal_is_killed(study: Study):
    late = order(study, limit_s=0)
    program = f"""
import signal, threading
from sciml_bench.execution.cluster import task

def never_ends(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Event().wait()

task._STOP_S, task._KILL_S = 1.0, 0.05
task._carried_out = never_ends
task.carry_out_task(task.Order({late.run!r}, {late.unit!r}, limit_s=0))
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    last = tasks_of(study.run.folder / TASKS)[UNIT][-1]
    assert (last.end, last.is_alive) == (None, False)

"""Workers that lie, write garbage, stop in the middle or never stop: small scripts in the place of the worker."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from stubs.models import model
from stubs.tasks import stub_task

from sciml_bench.engine import worker_process
from sciml_bench.engine.group import measure_cell
from sciml_bench.engine.limits import Limits
from sciml_bench.engine.process_tree import ProcessTree
from sciml_bench.measure.deadline import Deadline, Used
from sciml_bench.measure.protocol import End, Enter, PhaseDone, PointDone, Ready, encode
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import GradientResult, PointResult, SolveResult
from sciml_bench.record.record import Measurement
from sciml_bench.record.task import Cell

PATIENT = Limits(timeout_s=60.0)
READ_TASK = "import sys, time, os, signal; sys.stdin.read()\n"


def measured(script: str, limits: Limits = PATIENT, source: str = "") -> Measurement:
    return measure_cell(stub_task(source=source), limits, command=[sys.executable, "-S", "-c", script])


def tells(*lines: str) -> str:
    """A script that reads its task and writes lines."""
    return READ_TASK + "".join(f"print({line!r}, flush=True)\n" for line in lines)


def point(index: int) -> str:
    result = PointResult(1e-4, 1e-4, Outcome.OK, solve=SolveResult(Outcome.OK), gradient=GradientResult(Outcome.OK))
    return encode(PointDone(index, result, complete=True))


def told_point(solves_ns: tuple[int, ...] = (), gradients_ns: tuple[int, ...] = ()) -> str:
    """A complete point with these samples."""
    halves = {"solve": SolveResult(ns=solves_ns), "gradient": GradientResult(ns=gradients_ns)}
    return encode(PointDone(0, PointResult(1e-4, 1e-4, Outcome.OK, **halves), complete=True))


OK = encode(End(Outcome.OK))
POINTS = (point(0), point(1), point(2))


def test_honest_script():
    assert measured(tells(*POINTS, OK)).outcome is Outcome.OK


def test_success_without_points_is_a_lie():
    measurement = measured(tells(OK))
    assert measurement.outcome is Outcome.CRASH
    assert measurement.message == "the worker reported success, but 3 of its points are missing"


def test_fewer_points_are_success_only_if_fewer_may_be_enough():
    task = stub_task(enough_digits=6.0)
    enough = measure_cell(task, PATIENT, command=[sys.executable, "-S", "-c", tells(POINTS[0], OK)])
    assert (enough.outcome, len(enough.points)) == (Outcome.OK, 1)
    none = measure_cell(task, PATIENT, command=[sys.executable, "-S", "-c", tells(OK)])
    assert (none.outcome, len(none.points)) == (Outcome.CRASH, 1)


def test_success_without_all_points_keeps_those_there_are():
    measurement = measured(tells(POINTS[0], OK))
    assert measurement.outcome is Outcome.OK
    assert [item.outcome for item in measurement.points] == [Outcome.OK, Outcome.CRASH, Outcome.CRASH]


@pytest.mark.parametrize(
    "line",
    [
        "Segmentation fault (core dumped)",
        '{"event":"point","index":0}',
        encode(Enter("solve", 17)),
        encode(PointDone(3, PointResult(1, 1, Outcome.OK), complete=True)),
    ],
)
def test_garbage_is_a_crash_and_keeps_what_came_before(line: str):
    script = tells(encode(Enter("steady_solve", 0)), POINTS[0], line) + "time.sleep(600)"
    measurement = measured(script)
    assert [item.outcome for item in measurement.points] == [Outcome.OK, Outcome.CRASH, Outcome.CRASH]
    assert "written in phase steady_solve at rtol=0.0001" in measurement.message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param(encode(Ready(10**18)), "s but started only", id="starts in the future"),
        pytest.param(encode(PhaseDone("build", 0, -5_000_000_000)), "reported -5 s", id="goes back"),
        pytest.param(encode(PhaseDone("build", 0, 3600 * 10**9)), "reported 3600 s", id="jumps ahead"),
        pytest.param(told_point((1000, -1000, 1000)), "reported -1e-06 s", id="a call that ends first"),
        pytest.param(told_point(gradients_ns=(10**6,) * 12_000), "reported 12 s", id="more calls than time"),
        pytest.param(
            encode(PhaseDone("first_gradient", 0, 5, 0, {"gradient_trace": 4, "gradient_compile": 2})),
            "parts of first_gradient that are longer than the whole",
            id="parts longer than the whole",
        ),
    ],
)
def test_clock_that_jumps_is_caught(line: str, message: str):
    measurement = measured(tells(line, *POINTS, OK))
    assert measurement.outcome is Outcome.CRASH
    assert message in measurement.message


def test_phases_longer_in_all_than_the_worker_lived_are_caught():
    # Each of them is possible, all of them are not.
    line = encode(PhaseDone("steady_solve", 0, 40_000_000, 0))
    script = READ_TASK + f"time.sleep(0.05)\nfor _ in range(5000): print({line!r}, flush=True)\n"
    measurement = measured(script + "".join(f"print({item!r}, flush=True)\n" for item in (*POINTS, OK)))
    assert measurement.outcome is Outcome.CRASH
    assert "s but started only" in measurement.message


def test_death_in_the_middle_of_a_line():
    script = READ_TASK + f"sys.stdout.write({POINTS[0][:40]!r}); sys.stdout.flush(); os.kill(os.getpid(), 11)"
    measurement = measured(script)
    assert measurement.outcome is Outcome.CRASH
    assert measurement.message == "the worker died with SIGSEGV in phase interpreter, in the middle of a line"


def test_exit_status_is_told():
    measurement = measured(READ_TASK + "sys.exit('no licence')")
    assert measurement.message == "the worker exited with status 1 in phase interpreter, before its end"
    assert measurement.stderr_tail == "no licence"


def test_line_without_end_is_a_crash(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker_process, "_MAX_LINE_BYTES", 10_000)
    measurement = measured(READ_TASK + "while True: sys.stdout.write('x' * 1000)")
    assert measurement.message == "the worker wrote a line of more than 10000 bytes"


def test_failing_end_is_the_cell_s_outcome():
    measurement = measured(tells(encode(End(Outcome.IMPORT_ERROR, "import", "no jax"))))
    assert (measurement.outcome, measurement.phase, measurement.message) == (
        Outcome.IMPORT_ERROR,
        "import",
        "no jax",
    )


def test_crash_after_the_end_is_told_but_costs_nothing():
    measurement = measured(tells(*POINTS, OK) + "os.kill(os.getpid(), 11)")
    assert [item.outcome for item in measurement.points] == [Outcome.OK] * 3
    assert measurement.message == "the worker died with SIGSEGV after its end"


def test_worker_that_cannot_exit_is_ended_but_costs_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker_process, "_EXIT_GRACE_S", 0.5)
    measurement = measured(tells(*POINTS, OK) + "time.sleep(600)")
    assert measurement.outcome is Outcome.OK
    assert measurement.message == "the worker did not exit within 0.5 s after its end"


def test_closed_protocol_without_an_end_is_a_crash(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker_process, "_EXIT_GRACE_S", 0.5)
    measurement = measured(READ_TASK + "os.close(1); time.sleep(600)")
    assert measurement.outcome is Outcome.CRASH
    assert "did not exit within 0.5 s in phase interpreter" in measurement.message


def test_killed_by_somebody_else_is_a_crash():
    measurement = measured(READ_TASK + "os.kill(os.getpid(), signal.SIGKILL)")
    assert measurement.outcome is Outcome.CRASH
    assert "died with SIGKILL" in measurement.message


def test_killed_near_the_memory_limit_is_out_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # The script holds most of its limit and is then, when that was seen, ended as the kernel would end it.
    seen, look = tmp_path / "seen", ProcessTree.rss_bytes

    def watched(tree: ProcessTree) -> int:
        held = look(tree)
        if held > 300 * 2**20:
            seen.touch()
        return held

    monkeypatch.setattr(ProcessTree, "rss_bytes", watched)
    script = READ_TASK + (
        "held = bytearray(300 * 2**20)\n"
        f"while not os.path.exists({str(seen)!r}): time.sleep(0.01)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    measurement = measured(script, Limits(timeout_s=60.0, memory_bytes=450 * 2**20))
    assert measurement.outcome is Outcome.OUT_OF_MEMORY
    assert measurement.message.startswith("the kernel ended the worker in phase interpreter, which held 3")


def test_full_pipes_cannot_deadlock():
    # It writes more than both pipes hold before it reads a task that is larger than its pipe.
    line = encode(PhaseDone("build", 0, 1))
    script = (
        "import sys\n"
        f"for _ in range(5000): print({line!r}, flush=True); print('x' * 200, file=sys.stderr, flush=True)\n"
        "sys.stdin.read()\n"
    )
    script += tells(*POINTS, OK)
    measurement = measured(script, source="x" * 4_000_000)
    assert measurement.outcome is Outcome.OK
    assert measurement.phases_ns["build"] == 5000


def test_worker_that_never_reads_its_task_times_out():
    measurement = measured("import time; time.sleep(600)", Limits(timeout_s=1.0), source="x" * 4_000_000)
    assert (measurement.outcome, measurement.phase) == (Outcome.TIMEOUT, "interpreter")


def test_worker_that_closes_its_input_may_go_on():
    script = "import os, time; os.close(0); time.sleep(0.3)\n" + tells(*POINTS, OK).replace("sys.stdin.read()", "0")
    assert measured(script, source="x" * 4_000_000).outcome is Outcome.OK


def test_helper_that_holds_the_pipes_is_ended(tmp_path: Path):
    path = tmp_path / "pid"
    helper = (
        "import pathlib, subprocess\n"
        "helper = subprocess.Popen(['sh', '-c', 'while :; do echo noise >&2; sleep 0.01; done'])\n"
        f"pathlib.Path({str(path)!r}).write_text(str(helper.pid))\n"
    )
    assert measured(tells(*POINTS, OK) + helper).outcome is Outcome.OK
    with suppress(psutil.NoSuchProcess):
        psutil.wait_procs([psutil.Process(int(path.read_text()))], timeout=60.0)
    assert not psutil.pid_exists(int(path.read_text()))


def test_time_limit_runs_from_the_last_event(monkeypatch: pytest.MonkeyPatch):
    # Nine phases of 1.5 s under a limit of 2 s each, on a clock that the events move on.
    now = [0.0]

    def pass_time(_event: object) -> None:
        now[0] += 1.5

    monkeypatch.setattr(worker_process, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=time.sleep))
    monkeypatch.setattr(worker_process, "Deadline", functools.partial(Deadline, now_s=lambda: now[0]))
    lines = "".join(f"print({encode(Enter(name))!r}, flush=True)\n" for name in "abcdef")
    command = [sys.executable, "-S", "-c", READ_TASK + lines + tells(*POINTS, OK)]
    measurement = measure_cell(stub_task(), Limits(timeout_s=2.0), on_event=pass_time, command=command)
    assert measurement.outcome is Outcome.OK
    assert now[0] > 2 * 2.0


def test_a_worker_that_others_kept_from_its_processors_is_no_failure_of_its_solver(monkeypatch):
    seconds = itertools.count(0.0, 1000.0)
    monkeypatch.setattr(worker_process, "used_now", lambda _cpus, _pids: Used(now := next(seconds), 0.1 * now))
    measurement = measured(READ_TASK + "time.sleep(600)", Limits(timeout_s=0.6))
    assert measurement.outcome is Outcome.BUSY_TIMEOUT
    assert "others had them for the rest; the limit is 0.6 s" in measurement.message
    assert {point.outcome for point in measurement.points} == {Outcome.BUSY_TIMEOUT}
    assert any(reason.startswith("starved: ") for reason in measurement.noisy)


def test_a_worker_that_somebody_stopped_is_no_failure_of_its_solver(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker_process, "_POLL_S", 0.02)
    measurement = measured(READ_TASK + "os.kill(os.getpid(), signal.SIGSTOP); time.sleep(600)", Limits(timeout_s=0.5))
    assert measurement.outcome is Outcome.BUSY_TIMEOUT
    assert "was stopped for" in measurement.message


def test_reports_that_waited_while_this_process_was_stopped_count(monkeypatch: pytest.MonkeyPatch):
    # Everything is reported and the limit is long past when the parent looks for the first time.
    now = [0.0]

    def look_late(_patience: Deadline, stopped: bool = False) -> None:
        if now[0] == 0.0:
            time.sleep(1.0)
        now[0] += 100.0

    monkeypatch.setattr(Deadline, "look", look_late)
    monkeypatch.setattr(worker_process, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=time.sleep))
    monkeypatch.setattr(worker_process, "Deadline", functools.partial(Deadline, now_s=lambda: now[0]))
    script = "".join(f"print({line!r}, flush=True)\n" for line in (*POINTS, OK))
    assert measured(script, Limits(timeout_s=5.0)).outcome is Outcome.OK


def test_peak_memory_of_a_killed_worker_is_what_was_seen():
    script = READ_TASK + "held = bytearray(100 * 2**20); time.sleep(600)"
    measurement = measured(script, Limits(timeout_s=2.0))
    assert measurement.outcome is Outcome.TIMEOUT
    assert measurement.peak_rss_bytes > 100 * 2**20


def test_energy_that_the_worker_measured_is_kept():
    loop = {"point": 0, "kind": "solve", "joules": 300.0, "window_s": 6.0, "calls": 500}
    told = {"joules": 300.0, "window_s": 6.0, "idle_watts": None, "sources": ["package-0"], "loops": [loop]}
    # The loops of the stub task are short: nobody measured what the machine draws when idle.
    assert measured(tells(*POINTS, encode(End(Outcome.OK, energy=told)))).energy == told
    silent = {"not_measurable": "no steady loop lasted 5 s"}
    assert measured(tells(*POINTS, encode(End(Outcome.OK, energy=silent)))).energy == silent
    assert measured(tells(*POINTS)).energy is None


def test_limit_is_handed_to_the_worker():
    script = READ_TASK + "print(sys.argv, file=sys.stderr)\n" + tells(*POINTS, OK)
    assert json.loads(measured(script).stderr_tail.replace("'", '"')) == ["-c", "60"]


@pytest.mark.parametrize("phase", ["build", "first_gradient", "first_solve", "training_build", "training_first_step"])
def test_a_slow_compiler_says_nothing_about_a_model_nor_about_julia(phase: str, tmp_path: Path):
    limits = Limits(timeout_s=30.0)
    plain = stub_task()
    in_julia = dataclasses.replace(plain, cell=Cell("any", "julia", "tsit5", "forward", "compiled"))
    in_torch = dataclasses.replace(plain, cell=Cell("any", "torchdiffeq", "dopri5", "discrete", "eager"))
    of_model = dataclasses.replace(plain, learning=model(tmp_path, "flat").learning())
    tasks = (plain, in_torch, in_julia, of_model)
    assert [limits.of_task(task).of_phase(phase) for task in tasks] == [30.0, 30.0, 240.0, 240.0]
    assert limits.of_task(in_julia).of_phase("gradient") == 30.0
    assert Limits(timeout_s=600.0).of_task(in_julia).of_phase(phase) == 600.0


@pytest.mark.parametrize(("phase", "said"), [("import", "phase import ran past 3 s"), ("build", "build ran past 1 s")])
def test_a_slow_import_says_nothing_about_a_solver(phase: str, said: str):
    script = tells(encode(Enter(phase))) + "time.sleep(600)"
    measurement = measured(script, Limits(timeout_s=1.0, import_s=3.0))
    assert measurement.outcome is Outcome.TIMEOUT
    assert said in measurement.message

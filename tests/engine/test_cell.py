"""Cells measured in real worker processes, by programs that misbehave in one way each."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from stubs.tasks import draw, stub_task

from sciml_bench.engine.group import measure_cell
from sciml_bench.engine.limits import Limits
from sciml_bench.errors import EngineError
from sciml_bench.measure.protocol import End, Enter, Event, PointDone
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Measurement
from sciml_bench.record.task import Point

pytestmark = pytest.mark.usefixtures("stub_path")

# Ample for a program that does not hang, on a machine that does other things too.
PATIENT = Limits(timeout_s=60.0)
SHORT = Limits(timeout_s=5.0)
ONE_POINT = (Point(1e-4, 1e-4),)
TIGHT_LAST = (Point(1e-4, 1e-4), Point(1e-8, 1e-8), Point(1e-6, 1e-6))


def measured(program: str, limits: Limits = PATIENT, **changes: Any) -> Measurement:
    return measure_cell(stub_task(program, **changes), limits)


def has_ended(pid: int) -> bool:
    """Whether a process that was killed is gone; it need not have been waited for."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        # A limit for one that lives on: a minute is far more than the kernel needs.
        for _ in range(1200):
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
            time.sleep(0.05)
        return False
    return True


def outcomes(measurement: Measurement) -> list[Outcome]:
    return [point.outcome for point in measurement.points]


def test_a_hang_on_perturbed_parameters_is_a_trial_and_takes_nothing_from_the_cell():
    draws = (draw(0.6, 2.0), draw(0.9, 2.0), draw(0.5, 2.0))
    measurement = measured("HangsFarOff", SHORT, points=ONE_POINT, draws=draws, stability_s=60.0)
    assert [(trial.draw, trial.outcome) for trial in measurement.stability] == [(0, Outcome.OK), (1, Outcome.TIMEOUT)]
    assert outcomes(measurement) == [Outcome.OK], measurement.points
    assert (measurement.outcome, measurement.phase) == (Outcome.OK, "stability")


def test_good_program():
    events: list[Event] = []
    measurement = measure_cell(stub_task("good"), PATIENT, on_event=events.append)
    assert (measurement.outcome, measurement.phase, measurement.message) == (Outcome.OK, None, "")
    assert outcomes(measurement) == [Outcome.OK] * 3, measurement.points
    phases = measurement.phases_ns
    assert set(phases) == {
        "spawn",
        "interpreter",
        "import",
        "build",
        "first_gradient",
        "first_solve",
        "points",
        "warm_up",
        "steady",
    }
    assert all(ns >= 0 for ns in phases.values())
    assert 0 < sum(phases.values()) < measurement.wall_s * 1e9
    until_gradient = measurement.time_to_first_gradient_ns
    assert phases["import"] < until_gradient["process"] < measurement.wall_s * 1e9
    assert phases["first_gradient"] <= until_gradient["built"] < until_gradient["process"]
    assert measurement.peak_rss_bytes > 10 * 2**20
    assert measurement.versions["stub"] == "1.2.3"
    assert measurement.threads["threads_stub"] == "1"
    assert measurement.compile_cache_files == {"before": 0, "after": 0}
    assert Enter("first_gradient", 0) in events
    assert isinstance(events[-1], End)
    assert sum(isinstance(event, PointDone) and event.complete for event in events) == 3


def test_worker_is_isolated(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("A_SECRET", "hidden")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "/somewhere/warm")
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    allowed = os.sched_getaffinity(0)
    told = measured("TellsItsSurroundings", points=ONE_POINT).versions
    variables = told["variables"].split()
    assert "A_SECRET" not in variables
    assert "JAX_COMPILATION_CACHE_DIR" not in variables
    assert {"PATH", "XLA_FLAGS", "TRITON_CACHE_DIR", "SCIML_BENCH_PADDING", "PYTHONHASHSEED"} <= set(variables)
    assert told["OMP_NUM_THREADS"] == "1"
    assert told["cpus"] == "1"
    assert told["HOME"] == os.environ.get("HOME", "")
    assert told["cwd"] == os.path.realpath(told["TMPDIR"])
    assert not Path(told["TMPDIR"]).exists()
    assert told["sigint"] == "1"  # SIG_IGN
    assert told["oom_score_adj"] == "1000"
    assert os.sched_getaffinity(0) == allowed
    assert {"scipy", "sympy", "click", "rich", "psutil"}.isdisjoint(told["imported"].split())


def test_cache_files_are_counted():
    assert measured("WritesToCache", points=ONE_POINT).compile_cache_files == {"before": 0, "after": 1}


@pytest.mark.parametrize(
    ("program", "outcome", "phase", "message"),
    [
        ("stubs.missing_framework:build", Outcome.IMPORT_ERROR, "import", "No module named"),
        ("FailsToBuild", Outcome.BUILD_ERROR, "build", "no such device"),
        ("CrashesAtOnce", Outcome.CRASH, "build", "died with SIGSEGV in phase build"),
    ],
)
def test_failure_before_the_points(program: str, outcome: Outcome, phase: str, message: str):
    measurement = measured(program)
    assert (measurement.outcome, measurement.phase) == (outcome, phase)
    assert message in measurement.message
    assert outcomes(measurement) == [outcome] * 3, measurement.points
    assert measurement.points[1].message.startswith("not reached: ")
    assert measurement.time_to_first_gradient_ns == {}
    assert measurement.stderr_tail


def test_crash_keeps_the_points_before_it():
    measurement = measured("Crashes", points=TIGHT_LAST)
    assert measurement.outcome is Outcome.OK
    assert "died with SIGSEGV" in measurement.message
    assert outcomes(measurement) == [Outcome.OK, Outcome.CRASH, Outcome.CRASH], measurement.points
    assert "in phase solve at rtol=1e-08" in measurement.points[1].message
    assert measurement.points[2].message.startswith("not reached: the worker died with SIGSEGV")
    assert "Segmentation fault" in measurement.stderr_tail


def test_exit_without_an_end_is_a_crash():
    measurement = measured("ExitsQuietly")
    assert measurement.outcome is Outcome.CRASH
    assert measurement.message == "the worker exited with status 0 in phase first_solve at rtol=0.0001, before its end"


def test_hang_in_build_is_a_timeout():
    measurement = measured("HangsInBuild", SHORT)
    assert (measurement.outcome, measurement.phase) == (Outcome.TIMEOUT, "build")
    assert measurement.message == "phase build ran past 5 s"
    assert outcomes(measurement) == [Outcome.TIMEOUT] * 3, measurement.points


def test_hang_at_a_point_keeps_the_points_before_it():
    measurement = measured("HangsAtTightPoint", SHORT, points=TIGHT_LAST)
    assert measurement.outcome is Outcome.OK
    assert outcomes(measurement) == [Outcome.OK, Outcome.TIMEOUT, Outcome.TIMEOUT], measurement.points
    assert measurement.points[1].message == "phase gradient at rtol=1e-08 ran past 5 s"
    assert measurement.points[2].message.startswith("not reached: phase gradient")


def test_stubborn_worker_and_its_children_are_ended():
    measurement = measured("HangsStubbornly", SHORT)
    assert measurement.outcome is Outcome.TIMEOUT
    child = int(measurement.stderr_tail.partition("child=")[2].split()[0])
    assert has_ended(child)


def test_a_daemon_does_not_outlive_its_worker():
    measurement = measured("LeavesADaemon")
    assert measurement.outcome is Outcome.OK
    assert has_ended(int(measurement.stderr_tail.partition("daemon=")[2].split()[0]))


def test_prints_cannot_corrupt_the_protocol():
    measurement = measured("Prints")
    assert outcomes(measurement) == [Outcome.OK] * 3, measurement.points
    assert "from a child" in measurement.stderr_tail


def test_flood_on_standard_error_keeps_its_tail():
    measurement = measured("Floods")
    assert measurement.outcome is Outcome.OK
    assert measurement.stderr_tail.endswith("the last words")
    assert len(measurement.stderr_tail) <= 4096


def test_memory_without_bound_is_ended():
    measurement = measured("Hogs", Limits(timeout_s=60.0, memory_bytes=400 * 2**20))
    assert (measurement.outcome, measurement.phase) == (Outcome.OUT_OF_MEMORY, "first_solve")
    assert "its limit is 400 MiB" in measurement.message
    assert measurement.peak_rss_bytes > 400 * 2**20
    assert measurement.points[0].gradient.outcome is Outcome.OUT_OF_MEMORY
    assert measurement.time_to_first_gradient_ns["process"] > 0


@pytest.mark.parametrize(
    ("program", "outcome"),
    [
        ("ReturnsNaN", Outcome.NONFINITE),
        ("WrongGradient", Outcome.INACCURATE),
        ("Recompiles", Outcome.RECOMPILED),
        ("RunsOn", Outcome.BUILD_ERROR),
        ("RaisesMemoryError", Outcome.OUT_OF_MEMORY),
    ],
)
def test_failure_at_every_point_is_the_cell_s(program: str, outcome: Outcome):
    measurement = measured(program, points=ONE_POINT)
    assert measurement.outcome is outcome
    assert outcomes(measurement) == [outcome], measurement.points
    assert measurement.message == measurement.points[0].message != ""
    assert measurement.phase == measurement.points[0].phase


def test_callback_that_raises_ends_the_worker():
    pids: list[int] = []

    def interrupt(event: Event) -> None:
        if event == Enter("build"):
            pids.extend(child.pid for child in psutil.Process().children())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_cell(stub_task("HangsInBuild"), PATIENT, on_event=interrupt)
    assert pids
    assert not any(child.pid in pids for child in psutil.Process().children())


ENGINE = """
import psutil
from stubs.tasks import stub_task
from sciml_bench.engine.limits import Limits
from sciml_bench.engine.group import measure_cell
from sciml_bench.measure.protocol import Enter

def tell(event):
    if event == Enter("build"):
        print(psutil.Process().children()[0].pid, flush=True)

measure_cell(stub_task("HangsInBuild"), Limits(60.0), on_event=tell)
"""


def test_worker_does_not_outlive_a_killed_engine(tmp_path: Path):
    roots = os.pathsep.join(str(Path(__file__).parents[up]) for up in (1, 2))
    with subprocess.Popen(
        [sys.executable, "-c", ENGINE],
        env=os.environ | {"PYTHONPATH": roots, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as engine:
        assert engine.stdout is not None
        worker = psutil.Process(int(engine.stdout.readline()))
        engine.kill()
    assert has_ended(worker.pid)


def test_worker_that_cannot_be_started_is_an_engine_error():
    with pytest.raises(EngineError, match=r"cannot start a worker \(/no/such/python\): No such file"):
        measure_cell(stub_task(), PATIENT, command=["/no/such/python"])

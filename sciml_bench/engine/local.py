"""The local engine: one fresh process per cell on this host."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sciml_bench.engine.cpus import pinned
from sciml_bench.engine.limits import Limits
from sciml_bench.engine.measurement import EventLog, Measurement, assemble
from sciml_bench.engine.variables import count_cache_files, make_folders, worker_variables
from sciml_bench.engine.watch import WorkerWatch
from sciml_bench.errors import SciMLBenchError
from sciml_bench.measure.protocol import Event
from sciml_bench.task import Task

WORKER = (sys.executable, "-m", "sciml_bench.measure.worker")


class EngineError(SciMLBenchError):
    """This host cannot run a worker now."""


def measure_cell(
    task: Task,
    limits: Limits,
    *,
    on_event: Callable[[Event], None] | None = None,
    command: Sequence[str] = WORKER,
) -> Measurement:
    """Measure one cell once, in a fresh process with its own session, private temporary folder and cold caches.

    Whatever the worker does ends in the measurement's outcome. ``on_event`` is called with every event as it comes;
    what it raises ends the worker and is raised here, as is ``KeyboardInterrupt``. ``command`` is called with the
    phase limit in seconds as its last argument. :class:`EngineError` when no process can be started.
    """
    with tempfile.TemporaryDirectory(prefix="sciml_bench_worker_", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        make_folders(folder)
        before = count_cache_files(folder)
        task_json = task.to_json()
        started_at = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        start_ns = time.perf_counter_ns()
        process = _start([*command, f"{limits.timeout_s:g}"], folder, task)
        log = EventLog(task, start_ns, time.perf_counter_ns() - start_ns)
        ending = WorkerWatch(process, task_json, log, limits, on_event).wait()
        wall_s = (time.perf_counter_ns() - start_ns) / 1e9
        files = {"before": before, "after": count_cache_files(folder)}
    return assemble(task, log, ending, started_at, wall_s, files)


def _start(command: list[str], folder: Path, task: Task) -> subprocess.Popen[bytes]:
    try:
        with pinned(task.threads):
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=folder,
                env=worker_variables(os.environ, folder, task.threads, task.cell.device),
                start_new_session=True,
            )
    except OSError as error:
        raise EngineError(f"cannot start a worker ({command[0]}): {error.strerror or error}") from error

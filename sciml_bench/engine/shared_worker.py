"""One process for many cells of a framework: quick enough to look at all of them, not good enough to compare them.

Its times sort cells by large factors. Comparisons need a fresh process for each cell (``engine/group.py``).
"""

from __future__ import annotations

import datetime
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sciml_bench.engine.event_log import EventLog, assemble
from sciml_bench.engine.limits import Limits, adapter_variables, in_its_interpreter
from sciml_bench.engine.measured_worker import start_worker
from sciml_bench.engine.worker_process import WorkerProcess
from sciml_bench.host.affinity import pinned
from sciml_bench.host.conditions import Counters, state_now
from sciml_bench.host.environment_variables import make_caches, worker_variables
from sciml_bench.host.processes.strays import VARIABLE, new_tag
from sciml_bench.host.temporary import temporary_folder
from sciml_bench.record.process import STARTUP, HostObservations
from sciml_bench.record.record import Measurement
from sciml_bench.record.task import Task

SCREEN = (sys.executable, "-m", "sciml_bench.measure.screen")


class SharedWorker:
    """Measures cells of one framework, one after the other, in a process that is started again when a cell ends it.

    A context manager: the process ends with it.
    """

    def __init__(self, limits: Limits, command: Sequence[str] = SCREEN):
        self._limits, self._command = limits, tuple(command)
        self._folder = temporary_folder("screen")
        self._watch: WorkerProcess | None = None
        self._cpus: set[int] = set()
        self._startup_ns: dict[str, int] = {}

    def __enter__(self) -> SharedWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def measure(self, task: Task, timeout_s: float | None = None, *, alone: bool = False) -> Measurement:
        """Measure a cell, in phases of at most ``timeout_s``; whatever happens ends in the measurement's outcome.

        Its times from the start of the process hold the start and the import of the process's first cell: like the
        times of a separate process. A cell that must be ``alone`` has one.
        """
        if alone:
            self._end()
        started_at = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        start_ns = time.perf_counter_ns()
        before, watch = state_now(self._cpus), self._watch
        is_new = watch is None
        limits = replace(self._limits, timeout_s=timeout_s or self._limits.timeout_s).of_task(task)
        if watch is None:
            log, watch = self._started(task, limits, start_ns)
        else:
            start_ns -= sum(self._startup_ns.values())
            log = EventLog(task, start_ns, 0)
            log.phases_ns = dict(self._startup_ns)
            watch.hand_over(_line(task, limits), log, limits)
        counters = Counters.now(self._cpus, watch.pids)
        ending = watch.resume()
        if self._watch is None:
            self._startup_ns = {phase: log.phases_ns.get(phase, 0) for phase in STARTUP}
        self._watch = watch if ending is None else None
        during = counters.until(Counters.now(self._cpus, () if ending else watch.pids))
        observed = HostObservations(
            started_at=started_at,
            wall_s=(time.perf_counter_ns() - start_ns) / 1e9,
            waited_s=0.0,
            compile_cache_files={},
            conditions={"before": before, "after": state_now(self._cpus), "during": during},
            peak_device_bytes=None,
        )
        ending = ending or watch.paused()
        measured = assemble(task, log, ending, observed)
        if not is_new:
            # The worker's own peak is one of the whole life of its process.
            measured = replace(measured, peak_rss_bytes=ending.peak_rss_bytes)
        if alone:
            self._end()
        return measured

    def close(self) -> None:
        """End the process, and remove its folder."""
        self._end()
        self._folder.cleanup()

    def _end(self) -> None:
        if self._watch is not None:
            self._watch.end()
            self._watch = None

    def _started(self, task: Task, limits: Limits, start_ns: int) -> tuple[EventLog, WorkerProcess]:
        folder = Path(tempfile.mkdtemp(prefix="worker_", dir=self._folder.name))
        # Results of an earlier process's compilation must not be reused.
        caches = folder / "compile_caches"
        make_caches(caches)
        tag = new_tag()
        variables = worker_variables(os.environ, folder, task.threads, task.cell.device, caches=caches, warm=False)
        variables |= {**adapter_variables(task.cell.adapter), VARIABLE: tag}
        command = in_its_interpreter(self._command, task.cell.adapter)
        with pinned(task.threads) as self._cpus:
            process = start_worker(command, folder, variables)
            log = EventLog(task, start_ns, time.perf_counter_ns() - start_ns)
        watch = WorkerProcess(
            process, _line(task, limits), log, limits, None, takes_turns=True, cpus=self._cpus, tag=tag
        )
        return log, watch


def _line(task: Task, limits: Limits) -> str:
    """The line by which the worker learns of a task: the limit of a phase in seconds, and the task."""
    return f"{limits.timeout_s:g} {task.to_json()}"

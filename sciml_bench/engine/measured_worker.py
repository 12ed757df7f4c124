"""One cell on its way through a worker process: started, resumed when it is its turn, assembled at the end."""

from __future__ import annotations

import dataclasses
import datetime
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from sciml_bench.engine.event_log import Ending, EventLog, assemble
from sciml_bench.engine.limits import Limits, adapter_variables, in_its_interpreter
from sciml_bench.engine.worker_process import WorkerProcess
from sciml_bench.errors import EngineError
from sciml_bench.host.affinity import pinned
from sciml_bench.host.conditions import Conditions, Counters, state_now
from sciml_bench.host.device_watch import DeviceWatch
from sciml_bench.host.energy import SHORTEST_WINDOW_S, EnergyMeter, energy_counters
from sciml_bench.host.environment_variables import count_cache_files, worker_variables
from sciml_bench.host.nvidia import Gpu
from sciml_bench.host.processes.process import Clock
from sciml_bench.host.processes.strays import VARIABLE, new_tag
from sciml_bench.measure.protocol import Event
from sciml_bench.record.process import HostObservations
from sciml_bench.record.record import Measurement
from sciml_bench.record.task import Task

OnEvent = Callable[[Event], None]
Partners = Callable[[], Iterable[int]]


def nobody() -> Iterable[int]:
    """The partners of a worker that is alone."""
    return ()


class MeasuredWorker:
    """A worker process and its surroundings. ``partners`` gives the processes of others in its group."""

    def __init__(
        self,
        task: Task,
        limits: Limits,
        caches: Path,
        command: Sequence[str],
        *,
        on_event: OnEvent | None = None,
        slice_s: float | None = None,
        partners: Partners = nobody,
    ):
        self._task = task
        limits = limits.of_task(task)
        self._partners = partners
        self._caches = caches
        folder = Path(tempfile.mkdtemp(prefix="worker_", dir=caches.parent))
        device = task.cell.device
        variables = worker_variables(
            os.environ, folder, task.threads, device, caches=caches, warm=task.cell.caches == "warm"
        )
        tag = new_tag()
        variables |= {**adapter_variables(task.cell.adapter), VARIABLE: tag}
        self._gpu = Gpu.of(device, variables)
        self._device = None if self._gpu is None else DeviceWatch(self._gpu)
        self._files = {"before": count_cache_files(caches)}
        self._idle_watts = _idle_watts(task)
        task_json = task.to_json()
        arguments = [f"{limits.timeout_s:g}", *([] if slice_s is None else [f"{slice_s:g}"])]
        command = [*in_its_interpreter(command, task.cell.adapter), *arguments]
        with pinned(task.threads) as self._cpus:
            self._before = state_now(self._cpus, self._gpu, frozenset(partners()))
            self._counters = Counters.now(self._cpus, partners())
            self._started_at = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
            self._start_ns = time.perf_counter_ns()
            process = start_worker(command, folder, variables)
            self._log = EventLog(task, self._start_ns, time.perf_counter_ns() - self._start_ns)
        takes_turns = slice_s is not None
        self._watch = WorkerProcess(
            process,
            task_json,
            self._log,
            limits,
            on_event,
            self._device,
            takes_turns=takes_turns,
            cpus=self._cpus,
            tag=tag,
        )
        self._waits_since_ns: int | None = None
        self._waited_ns = 0

    @property
    def position(self) -> int:
        """The place at which the worker waits."""
        return self._watch.position

    @property
    def pids(self) -> set[int]:
        """The worker and its descendants."""
        return self._watch.pids

    def resume(self) -> Measurement | None:
        """Let the worker run until it waits (``None``) or ends; whatever it does ends in the measurement's outcome."""
        if self._waits_since_ns is not None:
            self._waited_ns += time.perf_counter_ns() - self._waits_since_ns
        ending = self._watch.resume()
        self._waits_since_ns = time.perf_counter_ns()
        return None if ending is None else self._assembled(ending)

    def end(self) -> None:
        """Kill the worker and discard its results."""
        self._watch.end()

    def _assembled(self, ending: Ending) -> Measurement:
        wall_s = (time.perf_counter_ns() - self._start_ns) / 1e9
        observed = HostObservations(
            started_at=self._started_at,
            wall_s=wall_s,
            waited_s=self._waited_ns / 1e9,
            compile_cache_files=self._files | {"after": count_cache_files(self._caches)},
            conditions=self._conditions(),
            peak_device_bytes=None if self._device is None else self._device.peak_bytes,
        )
        return assemble(self._task, self._log, ending, observed, self._idle_watts)

    def _conditions(self) -> Conditions:
        during = self._counters.until(Counters.now(self._cpus, self._partners()))
        if self._device is not None:
            during["gpu_throttle_reasons"] = sorted(self._device.throttle_reasons)
        state = state_now(self._cpus, self._gpu, {*self._partners(), *self.pids})
        return {"before": self._before, "after": state, "during": during}


def first_calls(task: Task) -> Task:
    """The task of a worker that only fills the compile caches."""
    sampling = dataclasses.replace(task.sampling, warm_up_calls=0, steady_calls=0, steady_s=0.0, max_steady_calls=0)
    return dataclasses.replace(task, points=task.points[:1], sampling=sampling, draws=(), training=None)


def measures_energy(task: Task) -> bool:
    """Return whether energy is measured in the steady loops, which then must not be split."""
    return task.sampling.steady_s >= SHORTEST_WINDOW_S and bool(energy_counters(task.cell.device)[0])


def _idle_watts(task: Task) -> float | None:
    """The machine's power before the worker starts; measured only if the worker's loops can be long enough."""
    if task.sampling.steady_s < SHORTEST_WINDOW_S:
        return None
    counters, reason = energy_counters(task.cell.device)
    return EnergyMeter(counters, Clock(), reason).idle_watts()


def start_worker(command: list[str], folder: Path, variables: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a worker in a separate session. :class:`EngineError` if that fails."""
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=folder,
            env=variables,
            start_new_session=True,
        )
    except OSError as error:
        raise EngineError(f"cannot start a worker ({command[0]}): {error.strerror or error}") from error

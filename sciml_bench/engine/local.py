"""The local engine: one fresh process per cell on this host, and one more before it where its caches are to be warm."""

from __future__ import annotations

import dataclasses
import datetime
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sciml_bench.engine.conditions import Counters, state_now
from sciml_bench.engine.cpus import pinned
from sciml_bench.engine.device import DeviceWatch
from sciml_bench.engine.limits import Limits
from sciml_bench.engine.measurement import EventLog, Measurement, Surroundings, assemble
from sciml_bench.engine.variables import count_cache_files, make_caches, worker_variables
from sciml_bench.engine.watch import WorkerWatch
from sciml_bench.errors import SciMLBenchError
from sciml_bench.measure.energy import SHORTEST_WINDOW_S, EnergyMeter, energy_counters
from sciml_bench.measure.nvidia import Gpu
from sciml_bench.measure.phases import Clock
from sciml_bench.measure.point import PointResult
from sciml_bench.measure.protocol import Enter, Event
from sciml_bench.outcome import Outcome
from sciml_bench.task import Task

WORKER = (sys.executable, "-m", "sciml_bench.measure.worker")
FILL = "fill_caches"
"""The phase in which another worker fills the compile caches."""

OnEvent = Callable[[Event], None]


class EngineError(SciMLBenchError):
    """This host cannot run a worker now."""


def measure_cell(
    task: Task,
    limits: Limits,
    *,
    on_event: OnEvent | None = None,
    command: Sequence[str] = WORKER,
) -> Measurement:
    """Measure one cell once, in a fresh process with its own session, private temporary folder and compile caches.

    The caches are empty, or, for a cell whose caches are warm, filled by a process before, of which nothing is kept
    but how long it took. Whatever the worker does ends in the measurement's outcome. ``on_event`` is called with every
    event as it comes; what it raises ends the worker and is raised here, as is ``KeyboardInterrupt``. ``command`` is
    called with the phase limit in seconds as its last argument. :class:`EngineError` when no process can be started.
    """
    with tempfile.TemporaryDirectory(prefix="sciml_bench_worker_", ignore_cleanup_errors=True) as name:
        place = _Place(Path(name), tuple(command), limits)
        make_caches(place.caches)
        if task.cell.caches == "cold":
            return _measure(task, place, on_event)
        start_ns = time.perf_counter_ns()
        filling = _fill(task, place, on_event)
        fill_s = (time.perf_counter_ns() - start_ns) / 1e9
        measurement = _not_filled(task, filling) if filling is not None else _measure(task, place, on_event)
        return dataclasses.replace(measurement, fill_s=fill_s)


@dataclass(frozen=True)
class _Place:
    """Where and how the workers of one cell run."""

    folder: Path
    command: tuple[str, ...]
    limits: Limits

    @property
    def caches(self) -> Path:
        return self.folder / "compile_caches"


def _fill(task: Task, place: _Place, on_event: OnEvent | None) -> Measurement | None:
    """Let a worker fill the caches by its first calls; what it left when it filled nothing."""
    if on_event is not None:
        on_event(Enter(FILL))
    sampling = dataclasses.replace(task.sampling, warm_up_calls=0, steady_calls=0, steady_s=0.0, max_steady_calls=0)
    filler = dataclasses.replace(task, points=task.points[:1], sampling=sampling, draws=())
    filling = _measure(filler, place, None)
    return None if count_cache_files(place.caches) else filling


def _not_filled(task: Task, filling: Measurement) -> Measurement:
    """A cell whose caches stayed empty, so that a measurement would be one of cold caches."""
    outcome, message = filling.outcome, filling.message
    if outcome is Outcome.OK:
        outcome, message = Outcome.UNSUPPORTED, "the framework left nothing in its compile cache"
    message = f"while the caches were filled: {message}"
    points = tuple(PointResult.failed(point, outcome, FILL, message) for point in task.points)
    return dataclasses.replace(
        filling, outcome=outcome, phase=FILL, message=message, points=points, time_to_first_gradient_ns={}
    )


def _measure(task: Task, place: _Place, on_event: OnEvent | None) -> Measurement:
    """Run one worker to its end, and look at the machine before and after."""
    folder = Path(tempfile.mkdtemp(prefix="worker_", dir=place.folder))
    variables = worker_variables(
        os.environ,
        folder,
        task.threads,
        task.cell.device,
        caches=place.caches,
        warm=task.cell.caches == "warm",
    )
    gpu = Gpu.of(task.cell.device, variables)
    device = None if gpu is None else DeviceWatch(gpu)
    files = {"before": count_cache_files(place.caches)}
    task_json = task.to_json()
    idle_watts = _idle_watts(task)
    with pinned(task.threads) as cpus:
        before, counters = state_now(cpus, gpu), Counters.now(cpus)
        started_at = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        start_ns = time.perf_counter_ns()
        process = _start([*place.command, f"{place.limits.timeout_s:g}"], folder, variables)
        log = EventLog(task, start_ns, time.perf_counter_ns() - start_ns)
    ending = WorkerWatch(process, task_json, log, place.limits, on_event, device).wait()
    wall_s = (time.perf_counter_ns() - start_ns) / 1e9
    during = counters.until(Counters.now(cpus))
    if device is not None:
        during["gpu_throttle_reasons"] = sorted(device.throttle_reasons)
    surroundings = Surroundings(
        started_at=started_at,
        wall_s=wall_s,
        compile_cache_files=files | {"after": count_cache_files(place.caches)},
        conditions={"before": before, "after": state_now(cpus, gpu), "during": during},
        idle_watts=idle_watts,
        peak_device_bytes=None if device is None else device.peak_bytes,
    )
    return assemble(task, log, ending, surroundings)


def _idle_watts(task: Task) -> float | None:
    """What the machine draws before the worker starts; looked at only where the worker's loops can be long enough."""
    if task.sampling.steady_s < SHORTEST_WINDOW_S:
        return None
    counters, reason = energy_counters(task.cell.device)
    return EnergyMeter(counters, Clock(), reason).idle_watts()


def _start(command: list[str], folder: Path, variables: dict[str, str]) -> subprocess.Popen[bytes]:
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

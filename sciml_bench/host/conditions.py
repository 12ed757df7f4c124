"""The machine around a worker: its state before and after, and what others did meanwhile."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from sciml_bench.host.nvidia import Gpu
from sciml_bench.host.processes.usage import busy_s, used_s

Conditions = dict[str, Any]

_CPU_FOLDER = Path("/sys/devices/system/cpu")
_CPUINFO = Path("/proc/cpuinfo")
# The names that Linux's drivers give to sensors of processors.
_CPU_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "acpitz")


def state_now(cpus: Collection[int], gpu: Gpu | None = None, pids: Collection[int] = ()) -> Conditions:
    """Load, clock, throttling and temperature now; ``cpus`` are the worker's.

    Numbers that this machine does not show are ``None``. With a GPU its state is included; ``pids`` are the worker and
    its partners, which wait for their turn with their memory on the device and disturb nobody.
    """
    temperature_c, limit_c = _temperature()
    state: Conditions = {
        "load_1min": round(os.getloadavg()[0], 2),
        "cpu_mhz": _clock_mhz(cpus),
        "throttle_count": _throttle_count(cpus),
        "temperature_c": temperature_c,
        "temperature_limit_c": limit_c,
    }
    return state if gpu is None else state | {"gpus": [gpu.state(pids)]}


@dataclass(frozen=True)
class Counters:
    """The kernel's counters at one moment, in seconds over all processors.

    ``busy_s`` and ``stolen_s`` are the machine's, ``worker_busy_s`` counts only the worker's processors. ``own_s`` is
    the use of this process, its ended children and the worker's partners, ``worker_s`` the same without this process.
    Times of two clocks show whether one of them was set.
    """

    monotonic_s: float
    realtime_s: float
    busy_s: float
    stolen_s: float
    worker_busy_s: float
    own_s: float
    worker_s: float

    @classmethod
    def now(cls, cpus: Collection[int], partners: Iterable[int] = ()) -> Counters:
        """The counters now; ``cpus`` are the worker's processors, ``partners`` processes that are not others either."""
        times = psutil.cpu_times(percpu=True)
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        own_s, worker_s = (usage.ru_utime + usage.ru_stime for usage in usages)
        worker_s += sum(map(used_s, partners))
        return cls(
            monotonic_s=time.perf_counter(),
            realtime_s=time.time(),
            busy_s=sum(map(busy_s, times)),
            stolen_s=sum(getattr(cpu, "steal", 0.0) for cpu in times),
            worker_busy_s=sum(busy_s(times[cpu]) for cpu in cpus if cpu < len(times)),
            own_s=own_s + worker_s,
            worker_s=worker_s,
        )

    def until(self, later: Counters) -> Conditions:
        """The use by others from these counters to later ones.

        ``other_cpus`` and ``stolen_cpus`` are processors kept busy by other processes and by other virtual machines,
        ``displaced_cpus`` the worker's own processors that others kept busy; 0 for a worker that is not pinned.
        ``clock_gap_s`` is the difference between the clock of the day and the measuring clock.
        """
        wall_s = later.monotonic_s - self.monotonic_s
        others_s = (later.busy_s - self.busy_s) - (later.own_s - self.own_s)
        displaced_s = (later.worker_busy_s - self.worker_busy_s) - (later.worker_s - self.worker_s)
        gap_s = (later.realtime_s - self.realtime_s) - wall_s
        if wall_s <= 0:
            return {"wall_s": wall_s, "clock_gap_s": round(gap_s, 3)}
        return {
            "wall_s": round(wall_s, 3),
            # The machine's own counts come in ticks of a hundredth of a second and may lag behind.
            "other_cpus": round(max(0.0, others_s) / wall_s, 3),
            "displaced_cpus": round(max(0.0, displaced_s) / wall_s, 3),
            "stolen_cpus": round(max(0.0, later.stolen_s - self.stolen_s) / wall_s, 3),
            "clock_gap_s": round(gap_s, 3),
        }


def _clock_mhz(cpus: Collection[int]) -> float | None:
    """Mean clock of these processors."""
    found = [_number(_CPU_FOLDER / f"cpu{cpu}/cpufreq/scaling_cur_freq") for cpu in cpus]
    known = [khz / 1e3 for khz in found if khz is not None] or _cpuinfo_mhz(cpus)
    return round(sum(known) / len(known), 1) if known else None


def _cpuinfo_mhz(cpus: Collection[int]) -> list[float]:
    """Clocks of these processors as /proc/cpuinfo has them, where a virtual machine shows no others."""
    clocks: list[float] = []
    processor = -1
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == "processor":
            processor = int(value)
        elif name.strip() == "cpu MHz" and processor in cpus:
            clocks.append(float(value))
    return clocks


def _throttle_count(cpus: Collection[int]) -> int | None:
    """Return how often these processors, or their packages, were slowed for their heat since the machine started."""
    names = ("core_throttle_count", "package_throttle_count")
    found = [_number(_CPU_FOLDER / f"cpu{cpu}/thermal_throttle/{name}") for cpu in cpus for name in names]
    known = [int(count) for count in found if count is not None]
    return sum(known) if known else None


def _temperature() -> tuple[float | None, float | None]:
    """The hottest sensor of the processors, and the temperature at which its driver says that it is too hot."""
    read = getattr(psutil, "sensors_temperatures", None)
    groups = read() if read else {}
    sensors = [sensor for name in _CPU_SENSORS for sensor in groups.get(name, ())]
    if not sensors:
        return None, None
    hottest = max(sensors, key=lambda sensor: sensor.current)
    return hottest.current, hottest.high or hottest.critical


def _number(path: Path) -> float | None:
    try:
        return float(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None

"""A host's readings: texts of /proc and /sys twice, a moment apart, and a few facts that are not in files."""

from __future__ import annotations

import fnmatch
import os
import platform
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sciml_bench.host.doctor.gpu_readings import GpuReading, read_gpus

# Files that findings are made from. A file that is missing is missing in the readings too.
PATTERNS = (
    "proc/cmdline",
    "proc/cpuinfo",
    "proc/driver/nvidia/gpus/*/information",
    "proc/loadavg",
    "proc/meminfo",
    "proc/pressure/cpu",
    "proc/pressure/memory",
    "proc/self/cgroup",
    "proc/stat",
    "proc/sys/kernel/numa_balancing",
    "proc/sys/kernel/randomize_va_space",
    "proc/vmstat",
    "sys/class/dmi/id/product_name",
    "sys/class/dmi/id/sys_vendor",
    "sys/class/power_supply/*/online",
    "sys/class/power_supply/*/type",
    "sys/class/thermal/thermal_zone*/temp",
    "sys/class/thermal/thermal_zone*/trip_point_*_temp",
    "sys/class/thermal/thermal_zone*/trip_point_*_type",
    "sys/class/thermal/thermal_zone*/type",
    "sys/devices/system/clocksource/clocksource0/available_clocksource",
    "sys/devices/system/clocksource/clocksource0/current_clocksource",
    "sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_max_freq",
    "sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_min_freq",
    "sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference",
    "sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq",
    "sys/devices/system/cpu/cpu*/cpufreq/scaling_driver",
    "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    "sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq",
    "sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count",
    "sys/devices/system/cpu/cpu*/thermal_throttle/package_throttle_count",
    "sys/devices/system/cpu/cpufreq/boost",
    "sys/devices/system/cpu/intel_pstate/no_turbo",
    "sys/devices/system/cpu/isolated",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/smt/active",
    "sys/devices/system/cpu/smt/control",
    "sys/devices/system/node/online",
    "sys/fs/cgroup/**/cpu.max",
    "sys/fs/cgroup/**/cpu.stat",
    "sys/fs/cgroup/**/cpu.cfs_quota_us",
    "sys/fs/cgroup/**/cpu.cfs_period_us",
    "sys/kernel/mm/transparent_hugepage/enabled",
)

# Existence alone says something.
MARKERS = (".dockerenv", "run/.containerenv")

_LARGEST_BYTES = 2**20


@dataclass(frozen=True)
class ProcessReading:
    """One other process: the seconds of processor time that it used between the two looks."""

    pid: int
    name: str
    cpu_s: float
    own: bool


@dataclass(frozen=True)
class Readings:
    """A host, read twice ``window_s`` seconds apart.

    ``before`` and ``after`` map absolute paths to texts. ``usable`` are the processors that this process may use.
    ``variables`` are the names set in this process's environment, ``inherited`` the ones that reach a worker. ``gpus``
    is ``None`` if devices cannot be queried, with ``gpu_reason``.
    """

    before: Mapping[str, str]
    after: Mapping[str, str]
    window_s: float = 1.0
    system: str = "Linux"
    usable: frozenset[int] = frozenset()
    load: tuple[float, float, float] | None = None
    processes: tuple[ProcessReading, ...] | None = ()
    variables: frozenset[str] = frozenset()
    inherited: frozenset[str] = frozenset()
    gpus: tuple[GpuReading, ...] | None = ()
    gpu_reason: str = ""

    def text(self, path: str) -> str | None:
        """The text of a file, stripped; ``None`` when there is none."""
        found = self.after.get(path)
        return None if found is None else found.strip()

    def matching(self, pattern: str) -> dict[str, str]:
        """Files whose path matches, with their stripped texts, in the order of their numbers."""
        paths = fnmatch.filter(self.after, pattern)
        return {path: self.after[path].strip() for path in sorted(paths, key=_by_number)}

    def growth(self, path: str, count: str | None = None) -> int | None:
        """By how much a counter grew between the looks: the file's only number, or the one after the word ``count``."""
        numbers = [_number(looks.get(path), count) for looks in (self.before, self.after)]
        if numbers[0] is None or numbers[1] is None:
            return None
        return numbers[1] - numbers[0]

    @property
    def readable(self) -> bool:
        """Return whether anything at all could be read."""
        return bool(self.after) or self.load is not None or bool(self.processes)


def gather(window_s: float, root: Path = Path("/")) -> Readings:
    """Look at this host twice, ``window_s`` seconds apart, and sleep between the looks."""
    import psutil

    before, used_before = _look(root), _processor_times()
    start_s = time.monotonic()
    time.sleep(window_s)
    elapsed_s = time.monotonic() - start_s
    after, used_after = _look(root), _processor_times()
    gpus, gpu_reason = read_gpus(bool(fnmatch.filter(after, "/proc/driver/nvidia/gpus/*/information")))
    return Readings(
        before=before,
        after=after,
        window_s=elapsed_s,
        system=platform.system(),
        usable=frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset(),
        load=psutil.getloadavg(),
        processes=tuple(_processes(used_before, used_after)),
        variables=frozenset(os.environ),
        inherited=frozenset(_inherited(os.environ)),
        gpus=gpus,
        gpu_reason=gpu_reason,
    )


def _look(root: Path) -> dict[str, str]:
    texts = {f"/{path.relative_to(root)}": text for path in _files(root) if (text := _text(path)) is not None}
    return texts | {f"/{name}": "" for name in MARKERS if (root / name).exists()}


def _files(root: Path) -> Iterator[Path]:
    for pattern in PATTERNS:
        if "**" in pattern:
            yield from _own_groups(root, pattern)
        elif "*" in pattern:
            yield from root.glob(pattern)
        else:
            yield root / pattern


def _own_groups(root: Path, pattern: str) -> Iterator[Path]:
    """A control file of this process's control groups and of those above them: other groups do not concern us."""
    top, _, name = pattern.partition("/**/")
    for line in (_text(root / "proc/self/cgroup") or "").splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and "cpu" not in controllers.split(","):
            continue
        mounts = (
            [root / top / "cpu", root / top / "cpu,cpuacct"] if controllers else [root / top, root / top / "unified"]
        )
        parts = [part for part in path.split("/") if part]
        for mount in mounts:
            for depth in range(len(parts) + 1):
                yield mount.joinpath(*parts[:depth], name)


def _text(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_LARGEST_BYTES)
    except OSError:
        return None


def _processor_times() -> dict[tuple[int, float], tuple[str, float]]:
    """Name and processor seconds of every process that may be seen, by process number and start time."""
    import psutil

    times: dict[tuple[int, float], tuple[str, float]] = {}
    for process in psutil.process_iter():
        try:
            with process.oneshot():
                used = process.cpu_times()
                times[process.pid, process.create_time()] = process.name(), used.user + used.system
        except (psutil.Error, OSError):
            continue
    return times


def _processes(
    before: Mapping[tuple[int, float], tuple[str, float]], after: Mapping[tuple[int, float], tuple[str, float]]
) -> Iterator[ProcessReading]:
    """Processes that lived through the window, the busiest first."""
    import psutil

    ours = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    found = [
        ProcessReading(key[0], name, seconds - before[key][1], _is_ours(key[0]))
        for key, (name, seconds) in after.items()
        if key in before and key[0] not in ours
    ]
    yield from sorted(found, key=lambda process: -process.cpu_s)


def _is_ours(pid: int) -> bool:
    """Return whether the process can be stopped without root."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _inherited(environment: Mapping[str, str]) -> Iterator[str]:
    """Variables that change what a worker gets: those without which its environment would be another."""
    from sciml_bench.host.environment_variables import worker_variables

    def worker(inherited: Mapping[str, str]) -> dict[str, str]:
        folder = Path("private")
        return worker_variables(inherited, folder, 1, "gpu", caches=folder, warm=True)

    with_all = worker(environment)
    for name in environment:
        without = {other: value for other, value in environment.items() if other != name}
        if with_all.get(name) != worker(without).get(name):
            yield name


def _number(text: str | None, count: str | None) -> int | None:
    if text is None:
        return None
    for line in text.splitlines():
        words = line.split()
        if count is None and len(words) == 1 and words[0].isdigit():
            return int(words[0])
        if count is not None and len(words) == 2 and words[0] == count and words[1].isdigit():
            return int(words[1])
    return None


def _by_number(path: str) -> list[tuple[bool, int, str]]:
    """Sort key under which cpu2 comes before cpu10."""
    words = "".join(letter if letter.isdigit() else f" {letter} " for letter in path).split()
    return [(word.isdigit(), int(word) if word.isdigit() else 0, word) for word in words]

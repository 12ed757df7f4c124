"""Properties of the machine that can change a time: processor, NUMA nodes, container, clock source and GPUs.

Nothing in it changes from one minute to the next. What this machine does not show is ``None``.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from sciml_bench.host import nvidia

_ROOT = Path("/")
_COMMAND_LIMIT_S = 10.0

# Marks that container engines leave, and words in the names of their control groups.
_CONTAINER_FILES = {".dockerenv": "docker", "run/.containerenv": "podman", "run/systemd/container": "systemd"}
_CONTAINER_WORDS = ("kubepods", "docker", "containerd", "lxc", "libpod", "slurm")


def machine_facts(root: Path = _ROOT) -> dict[str, Any]:
    """Hardware, and the settings of the kernel that times depend on, as plain JSON values."""
    return {
        "cpu": _cpu(root),
        "numa": _numa(root),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "container": _container(root),
        "virtual_machine": _virtual_machine(root),
        "kernel_settings": {
            "aslr": text(root / "proc/sys/kernel/randomize_va_space"),
            "clock_source": text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
            "huge_pages": _chosen(text(root / "sys/kernel/mm/transparent_hugepage/enabled")),
            "isolated_cpus": text(root / "sys/devices/system/cpu/isolated") or None,
            "numa_balancing": text(root / "proc/sys/kernel/numa_balancing"),
        },
        "gpus": _gpus(root),
    }


def pseudonym(salt: str, root: Path = _ROOT) -> str:
    """Twelve hexadecimal digits that tell machines apart, and say nothing of them; other salts give other digits.

    A machine that was restarted counts as another one where the kernel says so.
    """
    boot = text(root / "proc/sys/kernel/random/boot_id") or f"{platform.node()}/{psutil.boot_time():.0f}"
    return hashlib.sha256(f"{salt}/{boot}".encode()).hexdigest()[:12]


def _cpu(root: Path) -> dict[str, Any]:
    folder = root / "sys/devices/system/cpu"
    info = _cpuinfo(root)
    return {
        "model": info.get("model name") or info.get("Model") or _sysctl_brand() or platform.processor() or "unknown",
        "microcode": info.get("microcode"),
        "physical_cores": psutil.cpu_count(logical=False),
        "logical_cores": psutil.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "quota_cores": _quota_cores(root),
        "caches": _caches(folder / "cpu0/cache"),
        "governor": text(folder / "cpu0/cpufreq/scaling_governor"),
        "driver": text(folder / "cpu0/cpufreq/scaling_driver"),
        "turbo": _turbo(folder),
        "smt": text(folder / "smt/control"),
    }


def _cpuinfo(root: Path) -> dict[str, str]:
    """The first processor's block of /proc/cpuinfo."""
    facts: dict[str, str] = {}
    for line in (text(root / "proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        facts.setdefault(name.strip(), value.strip())
    return facts


def _sysctl_brand() -> str | None:
    return output(["sysctl", "-n", "machdep.cpu.brand_string"]) if sys.platform == "darwin" else None


def _caches(folder: Path) -> dict[str, str]:
    """Sizes of the first processor's caches, for example ``{"L1 Data": "32K", "L2 Unified": "1024K"}``."""
    caches: dict[str, str] = {}
    for path in sorted(folder.glob("index*")):
        level, kind, size = (text(path / name) for name in ("level", "type", "size"))
        if level and kind and size:
            caches[f"L{level} {kind}"] = size
    return caches


def _turbo(folder: Path) -> str | None:
    """``on`` or ``off`` where the driver tells."""
    intel = text(folder / "intel_pstate/no_turbo")
    if intel is not None:
        return "off" if intel == "1" else "on"
    boost = text(folder / "cpufreq/boost")
    return None if boost is None else "on" if boost == "1" else "off"


def _quota_cores(root: Path) -> float | None:
    """Return how many processors' worth of time the control group may use; ``None`` without a limit."""
    words = (text(root / "sys/fs/cgroup/cpu.max") or "").split()
    if len(words) == 2 and words[0].isdigit():
        return round(int(words[0]) / int(words[1]), 2)
    quota, period = (text(root / f"sys/fs/cgroup/cpu/cpu.cfs_{name}_us") for name in ("quota", "period"))
    if quota and period and int(quota) > 0:
        return round(int(quota) / int(period), 2)
    return None


def _numa(root: Path) -> dict[str, str]:
    """The processors of each NUMA node, for example ``{"node0": "0-15"}``."""
    folder = root / "sys/devices/system/node"
    return {path.name: text(path / "cpulist") or "" for path in sorted(folder.glob("node[0-9]*"))}


def _container(root: Path) -> str | None:
    """The kind of container that this process runs in, if visible."""
    for file, kind in _CONTAINER_FILES.items():
        if (root / file).exists():
            return text(root / file) or kind if kind == "systemd" else kind
    groups = text(root / "proc/1/cgroup") or ""
    return next((word for word in _CONTAINER_WORDS if word in groups), None)


def _virtual_machine(root: Path) -> str | None:
    """The maker of the virtual machine, ``unknown`` if hidden, ``None`` on bare metal."""
    if "hypervisor" not in _cpuinfo(root).get("flags", "").split():
        return None
    return text(root / "sys/class/dmi/id/sys_vendor") or "unknown"


def _chosen(choices: str | None) -> str | None:
    """The choice in brackets, as in ``always [madvise] never``."""
    return None if choices is None or "[" not in choices else choices.partition("[")[2].partition("]")[0]


def _gpus(root: Path) -> list[dict[str, Any]]:
    """NVIDIA devices: from NVML if it is installed, otherwise from the kernel driver's list."""
    folder = root / "proc/driver/nvidia"
    # Without a driver NVML is not even searched.
    nvml = nvidia.library() if folder.is_dir() or (root / "dev/nvidiactl").exists() else None
    if nvml is not None:
        return _told_by(nvml)
    driver = (text(folder / "version") or "").partition("\n")[0] or None
    found: list[dict[str, Any]] = []
    for path in sorted((folder / "gpus").glob("*/information")):
        model = next((line for line in (text(path) or "").splitlines() if line.startswith("Model:")), "")
        found.append({"model": model.partition(":")[2].strip() or "unknown", "driver": driver})
    return found


def _told_by(nvml: Any) -> list[dict[str, Any]]:
    """NVML's facts about each device that only change by hand."""

    def ask(question: Callable[[], Any]) -> Any | None:
        # Each device answers some questions only.
        try:
            return question()
        except nvml.NVMLError:
            return None

    def facts(index: int) -> dict[str, Any]:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        limit = ask(lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle))
        memory = ask(lambda: nvml.nvmlDeviceGetMemoryInfo(handle).total)
        return {
            "model": ask(lambda: nvml.nvmlDeviceGetName(handle)) or "unknown",
            "driver": ask(nvml.nvmlSystemGetDriverVersion),
            "memory_gib": None if memory is None else round(memory / 2**30),
            "power_limit_watts": None if limit is None else limit / 1e3,
            "max_sm_mhz": ask(lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM)),
            "persistence": ask(lambda: nvml.nvmlDeviceGetPersistenceMode(handle)),
            "compute_mode": ask(lambda: nvml.nvmlDeviceGetComputeMode(handle)),
            "ecc": ask(lambda: nvml.nvmlDeviceGetEccMode(handle)[0]),
            "mig": ask(lambda: nvml.nvmlDeviceGetMigMode(handle)[0]),
        }

    return [facts(index) for index in range(ask(nvml.nvmlDeviceGetCount) or 0)]


def output(command: list[str]) -> str | None:
    """The output of a command; ``None`` if it cannot be run, fails or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_COMMAND_LIMIT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def text(path: Path) -> str | None:
    """The content of a small file; ``None`` if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None

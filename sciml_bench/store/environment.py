"""The environment of a run: what of machine and software can change a time, named once and referred to by its hash.

Nothing in it tells who or where: no host name, no user name, no path. Nothing in it changes from one minute to the
next either, so that two runs on an unchanged machine have the same hash.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

import sciml_bench

_PACKAGES = (
    "diffrax",
    "equinox",
    "jax",
    "jaxlib",
    "juliacall",
    "juliapkg",
    "keras",
    "lineax",
    "numpy",
    "optimistix",
    "psutil",
    "python-flint",
    "scipy",
    "sympy",
    "tensorflow",
    "tensorflow-probability",
    "tf-keras",
    "torch",
    "torchdiffeq",
    "triton",
)

_CPU_FOLDER = Path("/sys/devices/system/cpu")
_NVIDIA_FOLDER = Path("/proc/driver/nvidia")
_COMMAND_LIMIT_S = 10.0


def environment_facts(packages: Iterable[str] = (), threads: int = 1) -> dict[str, Any]:
    """Machine and software as plain JSON values.

    ``packages`` are distributions to name besides the usual ones; versions are read from their metadata, and nothing
    is imported. ``threads`` is the number that workers of this run get.
    """
    return {
        "sciml_bench": sciml_bench.__version__,
        "git": _git(Path(sciml_bench.__file__).resolve().parents[1]),
        "python": {"version": platform.python_version(), "implementation": platform.python_implementation()},
        "system": {
            "name": platform.system(),
            "kernel": platform.release(),
            "distribution": _distribution(),
            "libc": " ".join(platform.libc_ver()).strip(),
            "machine": platform.machine(),
        },
        "cpu": _cpu(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "gpus": _gpus(),
        "threads": threads,
        "packages": _versions({*_PACKAGES, *packages}),
    }


def environment_hash(facts: dict[str, Any]) -> str:
    """Hex SHA-256 of the facts as canonical JSON."""
    canonical = json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _versions(names: set[str]) -> dict[str, str]:
    """Installed distributions and their versions; those that are not installed are left out."""
    versions: dict[str, str] = {}
    for name in sorted(names):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _cpu() -> dict[str, Any]:
    info = _cpuinfo()
    return {
        "model": info.get("model name") or info.get("Model") or _sysctl_brand() or platform.processor() or "unknown",
        "microcode": info.get("microcode"),
        "physical_cores": psutil.cpu_count(logical=False),
        "logical_cores": psutil.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "caches": _caches(),
        "governor": _text(_CPU_FOLDER / "cpu0/cpufreq/scaling_governor"),
        "turbo": _turbo(),
        "smt": _text(_CPU_FOLDER / "smt/control"),
    }


def _cpuinfo() -> dict[str, str]:
    """The first processor's block of /proc/cpuinfo."""
    facts: dict[str, str] = {}
    for line in (_text(Path("/proc/cpuinfo")) or "").splitlines():
        name, _, value = line.partition(":")
        facts.setdefault(name.strip(), value.strip())
    return facts


def _sysctl_brand() -> str | None:
    return _output(["sysctl", "-n", "machdep.cpu.brand_string"]) if sys.platform == "darwin" else None


def _caches() -> dict[str, str]:
    """Sizes of the first processor's caches, for example ``{"L1 Data": "32K", "L2 Unified": "1024K"}``."""
    caches: dict[str, str] = {}
    for folder in sorted((_CPU_FOLDER / "cpu0/cache").glob("index*")):
        level, kind, size = (_text(folder / name) for name in ("level", "type", "size"))
        if level and kind and size:
            caches[f"L{level} {kind}"] = size
    return caches


def _turbo() -> str | None:
    """``on`` or ``off`` where the driver tells."""
    intel = _text(_CPU_FOLDER / "intel_pstate/no_turbo")
    if intel is not None:
        return "off" if intel == "1" else "on"
    boost = _text(_CPU_FOLDER / "cpufreq/boost")
    return None if boost is None else "on" if boost == "1" else "off"


def _gpus() -> list[dict[str, str | None]]:
    """NVIDIA devices as the kernel driver lists them, without loading a library."""
    driver = (_text(_NVIDIA_FOLDER / "version") or "").partition("\n")[0] or None
    found: list[dict[str, str | None]] = []
    for path in sorted((_NVIDIA_FOLDER / "gpus").glob("*/information")):
        model = next((line for line in (_text(path) or "").splitlines() if line.startswith("Model:")), "")
        found.append({"model": model.partition(":")[2].strip() or "unknown", "driver": driver})
    return found


def _distribution() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _git(root: Path) -> dict[str, Any] | None:
    """Commit of the checkout that the package runs from, and whether it was changed; ``None`` outside a checkout."""
    if not (root / ".git").exists():
        return None
    commit = _output(["git", "-C", str(root), "rev-parse", "HEAD"])
    status = _output(["git", "-C", str(root), "status", "--porcelain", "--untracked-files=no"])
    return {"commit": commit or None, "dirty": None if status is None else bool(status)}


def _output(command: list[str]) -> str | None:
    """What a command prints; ``None`` when it cannot be run, fails or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_COMMAND_LIMIT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None

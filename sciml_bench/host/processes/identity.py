"""The identity of a process among all processes that can see a folder: its machine's start, its table, its number."""

from __future__ import annotations

import re
from pathlib import Path

import psutil

# The processes that can see each other: a container with another table of processes may share the folder.
_NAMESPACE = Path("/proc/self/ns/pid")
_ENDED = ("Z", "X")
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def boot() -> str:
    """The kernel's name for its time since the machine was started; empty elsewhere than on Linux."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def namespace() -> str:
    """The table of processes in which numbers of processes have a meaning; 0 elsewhere than on Linux."""
    try:
        return re.sub(r"\D", "", str(_NAMESPACE.readlink())) or "0"
    except OSError:
        return "0"


def started(pid: int) -> str:
    """The start of a process, by which it differs from all others of its number; empty if no process has the number.

    In ticks since the machine started, which the clock of the day does not move; elsewhere than on Linux in seconds.
    """
    try:
        # After the name, which may contain anything.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        # One that has ended keeps its number until its parent looks, which some containers never do.
        return "" if fields[0] in _ENDED else fields[19]
    except (OSError, IndexError):
        pass
    try:
        return f"{psutil.Process(pid).create_time():.0f}"
    except (psutil.Error, ValueError, OverflowError):
        return ""

"""Processor time, of processes and of processors, in seconds."""

from __future__ import annotations

from typing import Any


def used_s(pid: int) -> float:
    """Processor time of a process and its ended children; 0 for a process that is gone."""
    import psutil

    try:
        return sum(psutil.Process(pid).cpu_times()[:4])
    except psutil.Error:
        return 0.0


def busy_s(times: Any, *, stolen: bool = False) -> float:
    """Return how long a processor has not been idle, with or without the time that was stolen from it."""
    names = ("user", "nice", "system", "irq", "softirq", *(["steal"] if stolen else []))
    return sum(getattr(times, name, 0.0) for name in names)

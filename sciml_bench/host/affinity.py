"""The processors that a worker is pinned to. Affinity is the only limit that every framework's thread pool obeys."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SYSTEM = Path("/sys/devices/system/cpu")


def choose_cpus(threads: int, allowed: set[int], system: Path = _SYSTEM) -> set[int]:
    """``threads`` of the allowed processors, all of them when there are fewer.

    One of each physical core is taken before a second one of any, and high numbers before low ones, because
    interrupts are mostly served by the first processors.
    """
    cores: dict[str, list[int]] = {}
    for cpu in sorted(allowed, reverse=True):
        cores.setdefault(_siblings(cpu, system), []).append(cpu)
    by_rank = sorted((rank, -cpu) for core in cores.values() for rank, cpu in enumerate(core))
    return {-cpu for _, cpu in by_rank[: max(threads, 1)]}


def usable_processors() -> set[int]:
    """Processors that this process may use; all of the machine without affinity calls (macOS)."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def usable_cores(system: Path = _SYSTEM) -> int:
    """The number of physical cores of these processors."""
    return len({_siblings(cpu, system) for cpu in usable_processors()})


def _siblings(cpu: int, system: Path) -> str:
    """A name of the physical core: the list of its processors."""
    try:
        return (system / f"cpu{cpu}/topology/thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)


@contextmanager
def pinned(threads: int) -> Iterator[set[int]]:
    """Pin the calling thread, so that a process started in the body is born pinned and so are all its threads.

    Gives the processors. Setting the affinity in the child instead would need code between fork and exec, which is
    unsafe in a program with threads. Without affinity calls (macOS) nothing is pinned, and there are none to name.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield set()
        return
    allowed = os.sched_getaffinity(0)
    chosen = choose_cpus(threads, allowed)
    os.sched_setaffinity(0, chosen)
    try:
        yield chosen
    finally:
        os.sched_setaffinity(0, allowed)

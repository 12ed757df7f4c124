"""This process: its clock, its memory, and how often it was taken off its processor while it measured."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

# Memory of the worker process itself, read with the standard library alone.

_STATUS = Path("/proc/self/status")
_STATM = Path("/proc/self/statm")
_CLEAR_REFS = Path("/proc/self/clear_refs")

_FORGET_PEAK = "5"

_forgotten_peak_bytes = 0


def peak_rss_bytes() -> int:
    """Largest resident set of this process until now.

    Linux's ``ru_maxrss`` survives ``exec`` and can be the parent's, so the kernel's own high-water mark of this
    address space is read if there is one.
    """
    marked = _high_water_bytes()
    if marked is not None:
        return max(marked, _forgotten_peak_bytes)
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _high_water_bytes() -> int | None:
    if _STATUS.exists():
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return None


def working_bytes(call: Callable[[], object]) -> int | None:
    """Run a call and return its peak memory beyond what the process held before.

    What the allocator kept of earlier calls goes back to the kernel first, or the call would be served from it unseen.
    The kernel counts in batches of some hundred kilobytes. ``None``, without a call, where the system cannot tell:
    outside Linux, or with a C library that cannot return free memory.
    """
    global _forgotten_peak_bytes
    before = peak_rss_bytes()
    if not _return_free_memory():
        return None
    try:
        _CLEAR_REFS.write_text(_FORGET_PEAK)
    except OSError:
        return None
    _forgotten_peak_bytes = before
    held = rss_bytes()
    call()
    peak = _high_water_bytes()
    return None if peak is None else max(0, peak - held)


def _return_free_memory() -> bool:
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is None:
        return False
    trim(0)
    return True


def rss_bytes() -> int:
    """Resident set of this process now; the peak where the system does not report it."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return peak_rss_bytes()


class PreemptionCounter:
    """Counts involuntary context switches, of all threads of this process, inside the bodies that it watches.

    Outside them they say nothing: compilers start threads that take turns on the processors that the worker has.
    """

    def __init__(self, clock: Clock):
        self._clock = clock
        self._switches = 0
        self._ns = 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Count in the body, also when it raises."""
        switches, start_ns = _switches(), self._clock.now_ns()
        try:
            yield
        finally:
            self._switches += _switches() - switches
            self._ns += self._clock.now_ns() - start_ns

    @property
    def per_s(self) -> float | None:
        """Switches a second over all bodies; ``None`` when no time was spent in any."""
        return self._switches / (self._ns / 1e9) if self._ns > 0 else None


def _switches() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


class Clock:
    """Monotonic time in nanoseconds, and waiting. Tests put one in its place that advances by a known amount."""

    _stopped_ns = 0

    def __init__(self) -> None:
        # Bound before an adapter is imported, which might replace the function of the module.
        self._count_ns = time.perf_counter_ns
        self._count_busy_ns = time.process_time_ns

    def now_ns(self) -> int:
        """Nanoseconds on a clock that is the same for all processes of the machine until it is stopped first."""
        return self._count_ns() - self._stopped_ns

    def busy_ns(self) -> int:
        """Processor time of all threads of this process, in nanoseconds."""
        return self._count_busy_ns()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Leave the body out."""
        start_ns = self._count_ns()
        yield
        self._stopped_ns += self._count_ns() - start_ns

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

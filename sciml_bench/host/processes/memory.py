"""Memory of the worker process itself, read with the standard library alone."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

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

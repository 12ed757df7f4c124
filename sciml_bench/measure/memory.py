"""Memory of the worker process itself, read with the standard library alone."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")
_STATM = Path("/proc/self/statm")


def peak_rss_bytes() -> int:
    """Largest resident set of this process so far.

    Linux's ``ru_maxrss`` survives ``exec`` and can be that of the parent, so the kernel's own high-water mark of this
    address space is read where there is one.
    """
    if _STATUS.exists():
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def rss_bytes() -> int:
    """Resident set of this process now; the peak where the system does not tell."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return peak_rss_bytes()

"""Ends a process with its parent: a worker that outlives its run disturbs the next one."""

from __future__ import annotations

import signal
import sys

_SET_PARENT_DEATH_SIGNAL = 1


def end_with_parent() -> None:
    """Ask the kernel to kill this process when its parent ends, however it ends; only Linux can."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)

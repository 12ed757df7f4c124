"""A worker's process and everything that it started: how much memory they hold, and how they are ended."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import psutil

# Listing descendants reads every process of the host, so it happens less often than reading memory.
_RESCAN_S = 2.0


class ProcessTree:
    """The process group that a worker leads, and descendants that left the group."""

    def __init__(self, pid: int):
        self._pid = pid
        self._root = psutil.Process(pid)
        self._children: dict[int, psutil.Process] = {}
        self._scanned_s = time.monotonic()

    def prefer_for_oom(self) -> None:
        """If the host itself runs out of memory, let the kernel end the worker and not whoever waits for it."""
        with suppress(OSError), Path(f"/proc/{self._pid}/oom_score_adj").open("w") as file:
            file.write("1000")

    @property
    def pids(self) -> set[int]:
        """The worker and its descendants, as last seen."""
        return {self._pid, *self._children}

    def rss_bytes(self) -> int:
        """Resident memory of all processes together. Pages that forked processes share count for each of them."""
        now = time.monotonic()
        if now - self._scanned_s > _RESCAN_S:
            self._scan()
            self._scanned_s = now
        return sum(_rss_bytes(process) for process in (self._root, *self._children.values()))

    def ended(self) -> bool:
        """Return whether the worker itself has ended; it may still wait to be reaped."""
        try:
            return self._root.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        except psutil.NoSuchProcess:
            return True

    def stopped(self) -> bool:
        """Return whether somebody stopped the worker, by a signal or a debugger."""
        try:
            return self._root.status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
        except psutil.Error:
            return False

    def end(self, grace_s: float) -> None:
        """End every process: politely, then not.

        Must be called before the worker is reaped: until then no other process can have its number.
        """
        self._scan()
        if not self.ended():
            self._signal(signal.SIGTERM)
            deadline = time.monotonic() + grace_s
            while not self.ended() and time.monotonic() < deadline:
                time.sleep(0.01)
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)
        for process in self._children.values():
            with suppress(psutil.Error):
                process.send_signal(number)

    def _scan(self) -> None:
        with suppress(psutil.Error):
            self._children |= {process.pid: process for process in self._root.children(recursive=True)}


def _rss_bytes(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.Error:
        return 0

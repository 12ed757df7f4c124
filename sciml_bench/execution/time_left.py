"""The remaining time of a run: the plan's estimates, corrected by measured processes."""

from __future__ import annotations

from collections.abc import Mapping

_DOUBT = 0.05
"""The estimates weigh as much as measurements of this share of the run."""


class TimeLeft:
    """``estimates_s`` has the processes to run; times are seconds, ``now_s`` from any clock that only goes forward."""

    def __init__(self, estimates_s: Mapping[object, float], now_s: float):
        self._left = dict(estimates_s)
        self._doubt_s = _DOUBT * sum(self._left.values())
        self._running: set[object] = set()
        self._done_s = 0.0
        self._start_s = self._since_s = now_s

    def start(self, process: object) -> None:
        """Count a process as begun; several run at a time if they take turns."""
        self._running.add(process)

    def finish(self, process: object, now_s: float) -> float:
        """Count a process as done; returns its estimate, 0 if it was not planned."""
        estimate_s = self._left.pop(process, 0.0)
        self._running.discard(process)
        self._done_s += estimate_s
        self._since_s = now_s
        return estimate_s

    def drop(self, process: object) -> float:
        """Forget a process that will not run; returns its estimate."""
        return self._left.pop(process, 0.0)

    def left_s(self, now_s: float) -> float:
        """Seconds until the end; never less than 0."""
        # A process that takes turns with a finished one is about as far.
        begun_s = sum(self._left.get(process, 0.0) for process in self._running)
        expected_s = self._done_s + self._doubt_s + (begun_s if self._done_s else 0.0)
        slower = (self._since_s - self._start_s + self._doubt_s) / expected_s if expected_s else 1.0
        return max(0.0, slower * sum(self._left.values()) - (now_s - self._since_s))

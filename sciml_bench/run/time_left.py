"""The remaining time of a run: the plan's estimates, corrected by measured processes."""

from __future__ import annotations

_DOUBT = 0.05
"""The estimates weigh as much as measurements of this share of the run."""


class TimeLeft:
    """Estimates are in seconds; ``now_s`` is any clock that only goes forward."""

    def __init__(self, estimated_s: float, now_s: float):
        self._left_s = estimated_s
        self._doubt_s = _DOUBT * estimated_s
        self._done_s = 0.0
        self._start_s = self._since_s = now_s

    def finish(self, estimated_s: float, now_s: float) -> None:
        """Count a process that was to take ``estimated_s``; 0 for one that was not planned."""
        self._done_s += estimated_s
        self._left_s = max(0.0, self._left_s - estimated_s)
        self._since_s = now_s

    def left_s(self, now_s: float) -> float:
        """Seconds until the end; never less than 0."""
        expected_s = self._done_s + self._doubt_s
        slower = (self._since_s - self._start_s + self._doubt_s) / expected_s if expected_s else 1.0
        return max(0.0, slower * self._left_s - (now_s - self._since_s))

"""This process: its clock, its memory, and how often it was taken off its processor while it measured."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager


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
        #: The number of processors that this process may use when it begins; ``None`` if that is not known.
        self.processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None

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

"""How often this process was taken off its processor without asking for it, while it measured."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

from sciml_bench.measure.phases import Clock


class Displacements:
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

"""The time that a silent worker may take: seconds in which its processors were its own.

A limit by wall clock alone ends a worker that others kept from its processors, and calls its solver slow. So what
others take from the worker's processors, and what the host takes from this machine, does not count. The time of
a worker that sleeps or hangs does, also beside others: a scheduler gives a share to whoever asks for it, and it has
next to none. Neither does the time in which somebody stopped it. One that is kept from computing for long ends at a
multiple of the limit, by an outcome that says so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from sciml_bench.host.processes.usage import busy_s, used_s
from sciml_bench.record.outcome import Outcome

MOST_WALL = 4.0
"""A worker is ended after this multiple of its limit, whatever kept it."""

# Ticks of the kernel, and what a poll misses: less than this share of the limit is not looked at.
_NOTICED = 0.02
_SOONEST_S = 0.25

# A worker that computes less than this share of the time, except while its interpreter starts, does not need a
# processor.
_ASKING_SHARE = 0.05
_START_S = 0.25


@dataclass(frozen=True)
class Used:
    """Seconds up to a moment: how long the worker's processors were busy or stolen, and how long with the worker."""

    taken_s: float
    own_s: float


class Deadline:
    """Counts from :meth:`restart`; :meth:`look` is called now and then, :meth:`ended` at :attr:`deadline_s`.

    ``processors`` is the number of the worker's own: 0 if it is not pinned to any, and then wall time counts.
    """

    def __init__(self, used: Callable[[], Used], processors: int, now_s: Callable[[], float] = time.monotonic):
        self._used = used
        self._processors = processors
        self._now_s = now_s
        self._limit_s = self._start_s = 0.0
        self._first: Used | None = None
        self._stopped_since_s: float | None = None
        self._stopped_s = 0.0
        self.deadline_s = 0.0

    def restart(self, limit_s: float) -> None:
        """Restart the deadline: the worker reported something, or got its turn."""
        self._limit_s, self._start_s, self._first = limit_s, self._now_s(), None
        self._stopped_since_s, self._stopped_s = None, 0.0
        self.deadline_s = self._start_s + limit_s

    def look(self, stopped: bool = False) -> None:
        """Read the counters, which are compared with the first look, and note that the worker is stopped."""
        if self._stopped_since_s is not None:
            self._stopped_s += self._now_s() - self._stopped_since_s
        self._stopped_since_s = self._now_s() if stopped else None
        if self._first is None and self._processors:
            self._first = self._used()

    @property
    def wall_s(self) -> float:
        """Seconds since the restart."""
        return self._now_s() - self._start_s

    def own_s(self) -> float:
        """Of these, those in which the processors were the worker's own."""
        lost_s = max(self._lost_s(), self._stopped_s)
        return self.wall_s - (lost_s if lost_s > _NOTICED * self._limit_s else 0.0)

    def ended(self) -> tuple[Outcome, str] | None:
        """At the deadline: the outcome and how it came, or ``None`` when the worker is still owed time."""
        wall_s, own_s = self.wall_s, self.own_s()
        if own_s >= self._limit_s:
            return Outcome.TIMEOUT, f"ran past {self._limit_s:g} s"
        if wall_s >= MOST_WALL * self._limit_s:
            if self._stopped_s > 0.5 * wall_s:
                return Outcome.BUSY_TIMEOUT, (
                    f"was stopped for {self._stopped_s:.3g} s of {wall_s:.3g} s; the limit is {self._limit_s:g} s"
                )
            return Outcome.BUSY_TIMEOUT, (
                f"had its processors for {own_s:.3g} s of {wall_s:.3g} s, others had them for the rest; the limit is "
                f"{self._limit_s:g} s"
            )
        owed_s = max(_SOONEST_S, self._limit_s - own_s)
        self.deadline_s = min(self._now_s() + owed_s, self._start_s + MOST_WALL * self._limit_s)
        return None

    def _lost_s(self) -> float:
        """Return how long others had the worker's processors since the first look, on average over these."""
        if self._first is None:
            return 0.0
        last = self._used()
        taken_s, own_s = last.taken_s - self._first.taken_s, last.own_s - self._first.own_s
        if own_s < _START_S + _ASKING_SHARE * self.wall_s:
            return 0.0
        return max(0.0, taken_s - own_s) / self._processors


def used_now(cpus: Collection[int], pids: Collection[int]) -> Used:
    """The time used so far on these processors, and by these processes and their ended children."""
    import psutil

    times = psutil.cpu_times(percpu=True)
    taken_s = sum(busy_s(times[cpu], stolen=True) for cpu in cpus if cpu < len(times))
    return Used(taken_s, sum(map(used_s, pids)))


def patience_of_this_process(now_s: Callable[[], float]) -> Deadline:
    """A worker's deadline for itself, by the processors that it is pinned to."""
    cpus = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set[int]()
    return Deadline(lambda: used_now(cpus, (os.getpid(),)), len(cpus), now_s)

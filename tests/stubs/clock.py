"""Clocks that tests advance."""

from __future__ import annotations

from sciml_bench.host.processes.process import Clock


class FakeClock(Clock):
    """Time passes only when somebody sleeps, or by ``step_ns`` with every look at it."""

    def __init__(self, step_ns: int = 0):
        super().__init__()
        self.ns = 0
        self.step_ns = step_ns

    def now_ns(self) -> int:
        self.ns += self.step_ns
        return self.ns

    def busy_ns(self) -> int:
        return 0

    def sleep(self, seconds: float) -> None:
        self.ns += round(seconds * 1e9)


class FakeTime:
    """In the place of the module ``time``: it passes when somebody sleeps, and by ``step_ns`` with every look at it."""

    def __init__(self, step_ns: int = 1000):
        self.ns = 0
        self.step_ns = step_ns
        self.busy_ns = 0

    def process_time_ns(self) -> int:
        return self.busy_ns

    def perf_counter_ns(self) -> int:
        self.ns += self.step_ns
        return self.ns

    def sleep(self, seconds: float) -> None:
        self.ns += round(seconds * 1e9)

"""A run within a time: blocks that would not end in time are not begun, and the same command continues later."""

from __future__ import annotations

import time
from collections.abc import Callable

from sciml_bench.engine.interface import Engine, EventCallback, OneByOne, UnitEnded
from sciml_bench.engine.unit import Unit

OUT_OF_TIME = "time is up"


class WithinEngine(OneByOne):
    """Has another engine carry out units as long as each would end before ``until_s`` on the clock.

    What a unit takes is taken from the last one of the same problem; the first one of each is begun if there is time at
    all.
    """

    name = "within"

    def __init__(self, inner: Engine, until_s: float, now: Callable[[], float] = time.monotonic):
        super().__init__()
        self._inner, self._until_s, self._now = inner, until_s, now
        self._took_s: dict[str, float] = {}

    def carry_out(self, unit: Unit, on: EventCallback) -> None:
        start_s = self._now()
        if start_s + self._took_s.get(unit.problem, 0.0) > self._until_s:
            on(UnitEnded(unit, OUT_OF_TIME))
            return
        self._inner.submit(unit)
        self._inner.wait(on)
        self._took_s[unit.problem] = self._now() - start_s

    def cancel(self) -> None:
        super().cancel()
        self._inner.cancel()

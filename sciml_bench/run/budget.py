"""How long a command may take."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

# What is measured last has to be judged, too.
_JUDGING_S = 10.0


class Budget:
    """The minutes that a command may take, from its start; ``None`` is no limit.

    Estimates are rough. So that a command ends in time, what is begun late must fit even if its estimate is as wrong as
    the worst so far.
    """

    def __init__(self, minutes: float | None):
        self.minutes = minutes
        self._start = time.monotonic()
        self._slowest = 1.0

    @property
    def total_s(self) -> float:
        """Seconds for measuring."""
        return math.inf if self.minutes is None else 60 * self.minutes - _JUDGING_S

    @property
    def left_s(self) -> float:
        return self.total_s - (time.monotonic() - self._start)

    @contextmanager
    def spent(self, cost_s: float) -> Iterator[None]:
        """Watch what is estimated to take so long, to learn how wrong estimates are here."""
        began = time.monotonic()
        yield
        if cost_s > 0:
            self._slowest = max(self._slowest, (time.monotonic() - began) / cost_s)

    def fits(self, cost_s: float) -> bool:
        """Whether what is estimated to take so long can be begun."""
        return cost_s * self._slowest <= self.left_s

    def refusal(self, cost_s: float) -> str:
        """Why what takes so long is left out."""
        return f"left out to stay within {self.minutes:g} minutes (--minutes): it takes about {cost_s / 60:.1f} min"

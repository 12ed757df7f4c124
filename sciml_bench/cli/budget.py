"""How long a command may take."""

from __future__ import annotations

import math
import time


class Budget:
    """The minutes that a command may take, from its start; ``None`` is no limit."""

    def __init__(self, minutes: float | None):
        self.minutes = minutes
        self._start = time.monotonic()

    @property
    def total_s(self) -> float:
        return math.inf if self.minutes is None else 60 * self.minutes

    @property
    def left_s(self) -> float:
        return self.total_s - (time.monotonic() - self._start)

    def refusal(self, cost_s: float) -> str:
        """Why what takes so long is left out."""
        return f"left out to stay within {self.minutes:g} minutes (--minutes): it takes about {cost_s / 60:.1f} min"

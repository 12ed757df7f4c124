"""Compilation times of functions that Numba compiles at their first calls; imported only by programs that use it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numba
from numba.core import event
from numba.core.dispatcher import Dispatcher


class CompileTimes:
    """Numba's compilation time so far, and its number of specialisations, the compiled functions among these."""

    def __init__(self, functions: Iterable[Any]):
        self._functions = [function for function in functions if isinstance(function, Dispatcher)]
        self._timer = event.TimingListener()
        event.register("numba:compile", self._timer)

    @property
    def ns(self) -> int:
        """Nanoseconds of all compilations so far, with shared dependencies counted once."""
        return round(self._timer.duration * 1e9) if self._timer.done else 0

    @property
    def count(self) -> int:
        """Return how many compiled versions there are."""
        return sum(len(function.signatures) for function in self._functions)


def versions() -> dict[str, str]:
    """The version that compiled."""
    return {"numba": numba.__version__}

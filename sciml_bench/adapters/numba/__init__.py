"""What the adapters that compile with Numba share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numba
from numba.core import event
from numba.core.dispatcher import Dispatcher

# What Numba compiled, in functions that it compiles at their first calls. Imported by programs that use it only.


class CompileTimes:
    """How long Numba has compiled, and for how many kinds of arguments, the compiled functions among these."""

    def __init__(self, functions: Iterable[Any]):
        self._functions = [function for function in functions if isinstance(function, Dispatcher)]
        self._timer = event.TimingListener()
        event.register("numba:compile", self._timer)

    @property
    def ns(self) -> int:
        """Nanoseconds of all compilations so far, what one needs of another counted once."""
        return round(self._timer.duration * 1e9) if self._timer.done else 0

    @property
    def count(self) -> int:
        """Return how many compiled versions there are."""
        return sum(len(function.signatures) for function in self._functions)


def versions() -> dict[str, str]:
    """The version that compiled."""
    return {"numba": numba.__version__}

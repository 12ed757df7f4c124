"""The compiled mode: functions that Numba compiles at their first calls. Imported by compiled programs only.

Numba is looked for by the declaration, so that a plan can say that it is missing.
"""

from __future__ import annotations

from types import ModuleType

import numba
from numba.core import event
from numba.core.dispatcher import Dispatcher


class CompileTimes:
    """How long Numba has compiled, and for how many kinds of arguments, in the functions of one module."""

    def __init__(self, source: ModuleType):
        self._functions = [value for value in vars(source).values() if isinstance(value, Dispatcher)]
        self._timer = event.TimingListener()
        event.register("numba:compile", self._timer)

    @property
    def ns(self) -> int:
        """Nanoseconds of all compilations so far, what one needs of another counted once."""
        return round(self._timer.duration * 1e9) if self._timer.done else 0

    @property
    def count(self) -> int:
        """How many compiled versions there are."""
        return sum(len(function.signatures) for function in self._functions)


def versions() -> dict[str, str]:
    """The version that compiled."""
    return {"numba": numba.__version__}

"""Changed copies of arrays, as JAX writes them: its arrays cannot be changed in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class At:
    """``x.at[i].set(v)`` of JAX: a changed copy."""

    def __init__(self, values: Any, index: Any = None):
        self._values, self._index = values, index

    def __getitem__(self, index: Any) -> At:
        return At(self._values, index)

    def _changed(self, change: Callable[[Any], Any]) -> Any:
        copy = self._values.copy()
        copy[self._index] = change(copy[self._index])
        return copy

    def set(self, value: Any, **_: Any) -> Any:
        """The copy with a value there."""
        return self._changed(lambda _old: value)

    def get(self, **_: Any) -> Any:
        """The value there."""
        return self._values[self._index]

    def add(self, value: Any, **_: Any) -> Any:
        """The copy with a value added there; each place once."""
        return self._changed(lambda old: old + value)

    def subtract(self, value: Any, **_: Any) -> Any:
        """The copy with a value subtracted there."""
        return self._changed(lambda old: old - value)

    def multiply(self, value: Any, **_: Any) -> Any:
        """The copy with the values there multiplied."""
        return self._changed(lambda old: old * value)

    mul = multiply

    def divide(self, value: Any, **_: Any) -> Any:
        """The copy with the values there divided."""
        return self._changed(lambda old: old / value)

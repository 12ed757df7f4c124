"""The message for a value that does not fit its place in a record."""

from __future__ import annotations

from typing import Any

LARGEST_WHOLE = 2**63 - 1
"""Whole numbers beyond this fit into no column of a database, and are no measurement."""


class DecodeError(ValueError):
    """A value does not fit its place: ``points[2].solve.ns[3]: a whole number expected, found text``."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self._reason = reason
        self._keys: list[str | int] = []

    def within(self, key: str | int) -> None:
        """Put the place below a key, or an index, of what holds it."""
        self._keys.append(key)

    def __str__(self) -> str:
        place = "".join(map(_step, reversed(self._keys))).removeprefix(".")
        return f"{place}: {self._reason}" if place else self._reason


class UnknownMember(DecodeError):
    """A name that an enumeration does not have."""


def _step(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if key.isidentifier() and len(key) <= 60 else f"[{key[:60]!r}]"


def unfit(expected: str, found: Any) -> DecodeError:
    """The error where something else was expected."""
    return DecodeError(f"{expected} expected, found {described(found)}")


def described(value: Any) -> str:
    """A description of a value, in words; a number's is the number."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "text"
        case int():
            return str(value) if abs(value) <= LARGEST_WHOLE else "a larger one"
        case float():
            return f"{value!r}"
        case list() | tuple():
            return "a list"
        case dict():
            return "an object"
        case _:
            return type(value).__name__

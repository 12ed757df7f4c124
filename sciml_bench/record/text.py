"""Text from files, libraries and workers, without characters that control a terminal or turn its direction."""

from __future__ import annotations

from typing import Any

_KEPT = "\n\t"
_NUMBERS = frozenset((int, float))


def printable(text: str) -> str:
    """The text without control and format characters; blanks of other kinds become spaces, lines stay lines."""
    if text.isprintable():
        return text
    return "".join(map(_shown, text.replace("\r\n", "\n")))


def _shown(character: str) -> str:
    if character.isprintable() or character in _KEPT:
        return character
    return " " if character.isspace() else ""


def all_printable(value: Any) -> Any:
    """Plain JSON values with every text and every key printable."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list) and not _NUMBERS.issuperset(map(type, value)):
        return [all_printable(item) for item in value]
    if isinstance(value, dict):
        return {printable(key): all_printable(item) for key, item in value.items()}
    return value


def counted(count: int, noun: str, ending: str = "s") -> str:
    """A number of things: ``1 task``, ``2 tasks``."""
    return f"{count} {noun}{'' if count == 1 else ending}"

"""A column of an export: its name with the unit, its kind of value, and its meaning."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The kind of a column's values. Every value may be missing, which is ``None``."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    TRUTH = "truth"


@dataclass(frozen=True)
class Column:
    """One column."""

    name: str
    kind: Kind
    meaning: str


Value = str | int | float | bool | None

Row = tuple[Value, ...]

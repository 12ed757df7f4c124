"""The conditions of a claim beside ours: what the source did, what is measured here, and what a difference does."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sciml_bench.problem.document import Document

TABLE = "conditions"

CONDITIONS = (
    "problem", "span", "saved", "sizes", "precision", "tolerances", "method", "sensitivity", "batch", "timing",
    "version",
)  # fmt: skip
"""What every claim states of its source, and marks: none can be left out."""

CONDITION_KEYS = ("mark", "source", "ours", "effect", "ratio")

NOT_SAID = "not said"


class Mark(StrEnum):
    """How a condition here stands to that of the source; ``not measured`` where nothing is measured beside it."""

    SAME = "same"
    DIFFERS = "differs"
    UNKNOWN = "unknown"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Condition:
    """One condition. ``effect`` says what a difference does, ``ratio`` whether it touches the claimed ratio."""

    name: str
    mark: Mark
    source: str
    ours: str = ""
    effect: str = ""
    ratio: bool = False

    @property
    def standing(self) -> str:
        """The mark, and whether the difference touches the ratio."""
        return f"{self.mark.value}, touching the ratio" if self.ratio else self.mark.value

    @property
    def words(self) -> str:
        """In one line."""
        beside = f"; here {self.ours}" if self.ours and self.ours != self.source else ""
        return f"{self.source}{beside}{f': {self.effect}' if self.effect else ''}"


@dataclass(frozen=True)
class Conditions:
    """All conditions of a claim, in the order of :data:`CONDITIONS`."""

    each: tuple[Condition, ...]

    def marked(self, mark: Mark) -> tuple[Condition, ...]:
        """Those with a mark."""
        return tuple(condition for condition in self.each if condition.mark is mark)

    @property
    def touching(self) -> tuple[Condition, ...]:
        """Those that differ in what the ratio depends on."""
        return tuple(condition for condition in self.each if condition.ratio)

    @property
    def setting(self) -> str:
        """What a measurement under ours may be called."""
        if self.touching:
            return "in the spirit of it"
        known = all(condition.name == "version" for condition in self.marked(Mark.UNKNOWN))
        return "as published" if known else "as published, as far as known"

    @property
    def distance(self) -> str:
        """How far ours are from the source's: how many differ or are unknown, and which."""
        if self.marked(Mark.NOT_MEASURED):
            return "nothing measured beside them"
        parts = [
            f"{len(found)} {told} ({', '.join(condition.name for condition in found)})"
            for mark, told in ((Mark.DIFFERS, "differ"), (Mark.UNKNOWN, "unknown"))
            if (found := self.marked(mark))
        ]
        counted = ", ".join(parts) or "all the same"
        return f"{counted}; touching the ratio: {', '.join(c.name for c in self.touching) or 'none'}"


def load_conditions(document: Document, measured: bool) -> Conditions:
    """The conditions of a claim file; ``measured`` tells whether it has a setting to hold them against.

    Raises:
        ProblemError: one is missing, has no mark, or says less than its mark asks for.
    """
    if TABLE not in document.data:
        cure = f"Add it, with a mark for each of {', '.join(CONDITIONS)}."
        raise document.error(f"a claim needs the table [{TABLE}]: what the source did, beside ours.", "", "claim", cure)
    data = document.table(TABLE)
    document.known_keys(data, CONDITIONS, TABLE)
    return Conditions(tuple(_condition(document, data, name, measured) for name in CONDITIONS))


def _condition(document: Document, data: dict[str, Any], name: str, measured: bool) -> Condition:
    entry = data.get(name)
    marks = [mark.value for mark in Mark if (mark is Mark.NOT_MEASURED) != measured or mark is Mark.UNKNOWN]
    example = f'Write `{name} = {{ mark = "{marks[0]}", source = "…" }}`.'
    if not isinstance(entry, dict):
        told = "is missing" if entry is None else "must be a table"
        raise document.error(f"the condition '{name}' {told}.", TABLE, name, example)
    document.known_keys(entry, CONDITION_KEYS, f"{TABLE}.{name}")
    if "mark" not in entry:
        raise document.error(f"the condition '{name}' has no mark.", TABLE, name, f"One of {', '.join(marks)}.")
    if entry["mark"] not in marks:
        beside = "" if measured else ", as no setting is measured"
        raise document.error(
            f"the condition '{name}' cannot be '{entry['mark']}'{beside}.", TABLE, name, f"One of {', '.join(marks)}."
        )
    mark = Mark(entry["mark"])
    source, ours, effect = (_text(document, entry, name, key) for key in ("source", "ours", "effect"))
    touches = entry.get("ratio", False)
    if not isinstance(touches, bool):
        raise document.error(f"'ratio' of the condition '{name}' must be true or false.", TABLE, name)
    if mark is Mark.DIFFERS and not (source and ours and effect and "ratio" in entry):
        cure = "Add 'source', 'ours', 'effect' (what the difference does), and 'ratio' (whether it touches the ratio)."
        raise document.error(f"the condition '{name}' differs, and does not say how.", TABLE, name, cure)
    if mark is not Mark.DIFFERS and (effect or "ratio" in entry):
        cure = "Mark it 'differs', or leave out 'effect' and 'ratio'."
        raise document.error(f"the condition '{name}' is marked '{mark}', which has no effect.", TABLE, name, cure)
    if not source and mark is not Mark.UNKNOWN:
        raise document.error(f"the condition '{name}' does not say what the source did.", TABLE, name, example)
    return Condition(name, mark, source or NOT_SAID, ours, effect, touches)


def _text(document: Document, entry: dict[str, Any], name: str, key: str) -> str:
    value = entry.get(key, "")
    if not isinstance(value, str) or (key in entry and not value.strip()):
        raise document.error(f"'{key}' of the condition '{name}' must be a non-empty string.", TABLE, name)
    return " ".join(value.split())

"""The conditions of a claim next to ours: the source's procedure, our measurement, and the effect of a difference."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sciml_bench.spec.document import Document
from sciml_bench.spec.keys import Number

TABLE = "conditions"

TIMING, CALL_PATH, MACHINE = "timing", "call_path", "machine"

CONDITIONS = (
    "problem", "span", "saved", "sizes", "precision", "tolerances", "method", "sensitivity", "batch", TIMING, CALL_PATH,
    MACHINE, "version",
)  # fmt: skip
"""The conditions that every claim must state and mark."""

OF_FAIR = ("problem", "span", "saved", "sizes", "tolerances", "method", "sensitivity", "batch")
"""The conditions that a fair setting may state again, as it may differ from the source in other ways."""

_MENDED = ("precision", "tolerances", "version")
_CHOSEN = ("method", "sensitivity")
"""A fair comparison is at equal accuracy whatever the source's tolerances are, and its methods are the libraries' own,
unless it gives them; all other conditions are as far from the source's as in the other setting.
"""

CONDITION_KEYS = ("mark", "source", "ours", "effect", "ratio", "larger", "smaller")

NOT_SAID = "not said"

MEDIAN, MEAN, MINIMUM = "median", "mean", "minimum"
STATISTICS = (MEDIAN, MEAN, MINIMUM, "single", "count", NOT_SAID)
"""The statistics by which a source reduces the calls of a side: one call alone is single, counts need none."""

DIRECT, BRIDGE = "direct", "bridge"
CALL_PATHS = (DIRECT, BRIDGE, NOT_SAID)
"""A side is called from its own language, or across a bridge from another."""

MACHINE_DEVICES = ("cpu", "gpu", "cpu and gpu", NOT_SAID)


class Mark(StrEnum):
    """Comparison of a condition here with the source's; ``not measured`` without a measurement."""

    SAME = "same"
    DIFFERS = "differs"
    UNKNOWN = "unknown"
    NOT_MEASURED = "not measured"


UNKNOWN_FACTOR = "unknown"
"""The size of an effect that nobody measured."""


@dataclass(frozen=True)
class Condition:
    """One condition. ``effect`` says what a difference does. Our ratio of slow to fast is ``larger`` or ``smaller``
    than the source's by up to these factors: 1 if it is not, ∞ if nobody measured it. ``sides`` has, of timing and
    call path, the source's on each side; ``device`` and ``threads`` belong to the machine.
    """

    name: str
    mark: Mark
    source: str
    ours: str = ""
    effect: str = ""
    larger: float = 1.0
    smaller: float = 1.0
    sides: Mapping[str, str] = field(default_factory=dict[str, str])
    device: str = ""
    threads: str = ""

    @property
    def title(self) -> str:
        """Its name as it is read."""
        return self.name.replace("_", " ")

    @property
    def touches(self) -> bool:
        """True if the difference may change the claimed ratio."""
        return self.larger > 1 or self.smaller > 1

    @property
    def standing(self) -> str:
        """The mark, and how the difference changes the ratio."""
        effects = (("larger", self.larger), ("smaller", self.smaller))
        told = [f"{word} {_by(factor)}" for word, factor in effects if factor > 1]
        return f"{self.mark.value}: may make the ratio {' or '.join(told)}" if told else self.mark.value

    @property
    def words(self) -> str:
        """In one line."""
        beside = f"; here {self.ours}" if self.ours and self.ours != self.source else ""
        return f"{self.source}{beside}{f': {self.effect}' if self.effect else ''}"


def _by(factor: float) -> str:
    return "by an unknown factor" if math.isinf(factor) else f"by up to {factor:g}×"


@dataclass(frozen=True)
class Conditions:
    """All conditions of a claim, in the order of :data:`CONDITIONS`."""

    each: tuple[Condition, ...]

    def __getitem__(self, name: str) -> Condition:
        return next(condition for condition in self.each if condition.name == name)

    def marked(self, mark: Mark) -> tuple[Condition, ...]:
        """Return the conditions with a mark."""
        return tuple(condition for condition in self.each if condition.mark is mark)

    @property
    def touching(self) -> tuple[Condition, ...]:
        """The conditions that differ and may change the ratio."""
        return tuple(condition for condition in self.each if condition.touches)

    def kept(self, given: Collection[str], again: Conditions) -> Conditions:
        """Return the conditions of a fair comparison whose sides give these keys, and that states some ``again``."""
        stated = {condition.name for condition in again.each}
        mended = {*_MENDED, *(name for name in _CHOSEN if name not in given), *stated}
        return Conditions((*(condition for condition in self.each if condition.name not in mended), *again.each))

    @property
    def larger(self) -> float:
        """The factor by which all of them may make our ratio larger; ∞ if it is unknown."""
        return math.prod(condition.larger for condition in self.each)

    @property
    def smaller(self) -> float:
        """The factor by which all of them may make our ratio smaller; ∞ if it is unknown."""
        return math.prod(condition.smaller for condition in self.each)

    @property
    def decide_nothing(self) -> bool:
        """True if they may make our ratio larger and smaller by unknown factors: then no ratio decides."""
        return math.isinf(self.larger) and math.isinf(self.smaller)

    @property
    def setting(self) -> str:
        """The name for a measurement under our conditions."""
        if self.touching:
            return "in the spirit of it"
        known = all(condition.name == "version" for condition in self.marked(Mark.UNKNOWN))
        return "as published" if known else "as stated"

    @property
    def distance(self) -> str:
        """The distance of our conditions from the source's: how many differ or are unknown, and which."""
        if self.marked(Mark.NOT_MEASURED):
            return "nothing measured to compare with"
        parts = [
            f"{counted_words(len(found), told)} ({_names(found)})"
            for mark, told in ((Mark.DIFFERS, "differ"), (Mark.UNKNOWN, "unknown"))
            if (found := self.marked(mark))
        ]
        counted = ", ".join(parts) or "all the same"
        return f"{counted}; touching the ratio: {_names(self.touching) or 'none'}"


NO_CONDITIONS = Conditions(())


def counted_words(count: int, words: str) -> str:
    """The number of conditions that ``differ`` or are ``unknown``."""
    return f"{count} {words}{'s' if words == 'differ' and count == 1 else ''}"


def _names(found: tuple[Condition, ...]) -> str:
    return ", ".join(condition.title for condition in found)


def load_conditions(document: Document, sides: tuple[str, ...], measured: bool) -> Conditions:
    """The conditions of a claim file with these sides; ``measured`` says whether it has a setting to hold them against.

    Raises:
        ProblemError: one is missing, has no mark, or says less than its mark asks for.
    """
    if TABLE not in document.data:
        cure = f"Add it, with a mark for each of {', '.join(CONDITIONS)}."
        raise document.error(f"a claim needs the table [{TABLE}]: the source's settings and ours.", "", "claim", cure)
    data = document.table(TABLE)
    document.known_keys(data, CONDITIONS, TABLE)
    return Conditions(tuple(_condition(document, data, name, sides, measured) for name in CONDITIONS))


def load_fair_conditions(document: Document, setting: Mapping[str, Any], place: str) -> Conditions:
    """The conditions that a fair setting, the table ``place``, states again.

    Raises:
        ProblemError: one has no mark, or says less than its mark asks for.
    """
    data, place = setting.get(TABLE, {}), f"{place}.{TABLE}"
    if not isinstance(data, dict):
        raise document.error(f"'{place}' must be a table.", place.partition(".")[0], TABLE, f"Write it as [{place}].")
    document.known_keys(data, OF_FAIR, place)
    return Conditions(tuple(_condition(document, data, name, (), True, place) for name in OF_FAIR if name in data))


def further_keys(name: str, sides: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The keys that only this condition has, and must have, and their values; any text if there are none."""
    if name == TIMING:
        return dict.fromkeys(sides, STATISTICS)
    if name == CALL_PATH:
        return dict.fromkeys(sides, CALL_PATHS)
    return {"device": MACHINE_DEVICES, "threads": ()} if name == MACHINE else {}


def _condition(
    document: Document, data: dict[str, Any], name: str, sides: tuple[str, ...], measured: bool, place: str = TABLE
) -> Condition:
    entry = data.get(name)
    marks = [mark.value for mark in Mark if (mark is Mark.NOT_MEASURED) != measured or mark is Mark.UNKNOWN]
    example = f'Write `{name} = {{ mark = "{marks[0]}", source = "…" }}`.'
    if not isinstance(entry, dict):
        told = "is missing" if entry is None else "must be a table"
        raise document.error(f"the condition '{name}' {told}.", place, name, example)
    further = further_keys(name, sides)
    document.known_keys(entry, (*CONDITION_KEYS, *further), f"{place}.{name}")
    if "mark" not in entry:
        raise document.error(f"the condition '{name}' has no mark.", place, name, f"One of {', '.join(marks)}.")
    if entry["mark"] not in marks:
        beside = "" if measured else ", as no setting is measured"
        raise document.error(
            f"the condition '{name}' cannot be '{entry['mark']}'{beside}.", place, name, f"One of {', '.join(marks)}."
        )
    mark = Mark(entry["mark"])
    source, ours, effect = (_text(document, entry, name, key, place) for key in ("source", "ours", "effect"))
    effects = [key for key in ("ratio", "larger", "smaller") if key in entry]
    if mark is Mark.DIFFERS and not (source and ours and effect and effects):
        cure = (
            "Add 'source', 'ours', 'effect' (what the difference does), and by which factor our ratio is 'larger' or "
            "'smaller' for it, or `ratio = false`."
        )
        raise document.error(f"the condition '{name}' differs, and does not say how.", place, name, cure)
    if mark is not Mark.DIFFERS and (effect or effects):
        cure = f"Mark it 'differs', or leave out {', '.join(['effect'] if effect else effects)}."
        raise document.error(f"the condition '{name}' is marked '{mark}', which has no effect.", place, name, cure)
    if (effects != ["ratio"] and "ratio" in effects) or entry.get("ratio", False) is not False:
        cure = "Write `ratio = false`, or by which factor our ratio is 'larger' or 'smaller'."
        raise document.error(f"'ratio' of the condition '{name}' can only be false.", place, name, cure)
    if not source and mark is not Mark.UNKNOWN:
        raise document.error(f"the condition '{name}' does not say what the source did.", place, name, example)
    special = {key: _one(document, entry, name, key, values, place) for key, values in further.items()}
    return Condition(
        name, mark, source or NOT_SAID, ours, effect,
        *(_factor(document, entry, name, key, place) for key in ("larger", "smaller")),
        sides={key: special[key] for key in sides if key in special},
        device=special.get("device", ""),
        threads=special.get("threads", ""),
    )  # fmt: skip


def _one(document: Document, entry: dict[str, Any], name: str, key: str, values: tuple[str, ...], place: str) -> str:
    """A key that a condition must have, with one of these values, or any text without them."""
    value = _text(document, entry, name, key, place)
    allowed = f"One of {', '.join(values)}." if values else f"A text, such as '{NOT_SAID}'."
    if not value:
        raise document.error(f"the condition '{name}' does not say '{key}' of the source.", place, name, allowed)
    if values and value not in values:
        raise document.error(f"'{key}' of the condition '{name}' cannot be '{value}'.", place, name, allowed)
    return value


def _factor(document: Document, entry: dict[str, Any], name: str, key: str, place: str) -> float:
    """The factor of an effect: 1 without one, ∞ for an unknown one."""
    if entry.get(key) == UNKNOWN_FACTOR:
        return math.inf
    cure = f"Write the largest factor that was measured, or '{UNKNOWN_FACTOR}'."
    return Number(key, above=1, cure=cure).read(document, entry, f"{place}.{name}") or 1.0


def _text(document: Document, entry: dict[str, Any], name: str, key: str, place: str) -> str:
    value = entry.get(key, "")
    if not isinstance(value, str) or (key in entry and not value.strip()):
        raise document.error(f"'{key}' of the condition '{name}' must be a non-empty string.", place, name)
    return " ".join(value.split())

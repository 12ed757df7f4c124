"""Keys of a file's tables, declared once: what the loader takes, and what the schema tells editors.

A key whose values can be described has a kind that reads it: a number between bounds, one of some words, a text of some
form, true or false. What else a table must keep, its loader checks.
"""

from __future__ import annotations

import math
import operator
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from sciml_bench.record.text import printable
from sciml_bench.spec.document import Document

Schema = dict[str, Any]

LARGEST_SEED = 2**32 - 1

A_NUMBER: Schema = {"type": ["number", "string"], "description": "a number, or an expression in quotes"}
NUMBERS: Schema = {"anyOf": [A_NUMBER, {"type": "array", "items": A_NUMBER, "minItems": 1}]}
EXPRESSION: Schema = {"type": ["number", "string"], "description": "an expression of names declared above"}
TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}
_NOT_BLANK = r"\S"
SHA256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
CSV: Schema = {"type": "string", "pattern": "\\.csv$"}


@dataclass(frozen=True)
class Key:
    """A key by its name; ``schema`` describes its values; the loader reads kinds not listed below."""

    name: str
    schema: Schema
    required: bool = field(default=False, kw_only=True)


class Kind(Key, ABC):
    """A key that reads its values from a table of a file."""

    @abstractmethod
    def read(self, document: Document, data: dict[str, Any], table: str) -> Any:
        """The value, or the default if there is one and the key is absent.

        Raises:
            ProblemError: it is absent without a default, or of another kind.
        """


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number between two bounds."""

    schema: Schema = field(init=False)
    low: int
    high: int
    default: int | None = None

    def __post_init__(self):
        object.__setattr__(self, "schema", {"type": "integer", "minimum": self.low, "maximum": self.high})

    def read(self, document: Document, data: dict[str, Any], table: str, default: int | None = None) -> int:
        """The number, or the default if there is one and the key is absent.

        Raises:
            ProblemError: it is not a whole number, or not between the bounds.
        """
        default = self.default if default is None else default
        known = {} if default is None else {self.name: default}
        return document.integer({**known, **data}, self.name, table, self.low, self.high)


@dataclass(frozen=True)
class Choice(Kind):
    """One of some words; ``noun`` says what another one is not."""

    schema: Schema = field(init=False)
    options: tuple[str, ...]
    noun: str
    default: str | None = None

    def __post_init__(self):
        object.__setattr__(self, "schema", {"enum": list(self.options)})

    def read(
        self, document: Document, data: dict[str, Any], table: str, default: str | None = None, at: str = ""
    ) -> str:
        """The word, or the default; a mistake is shown ``at`` another key if the table is on one line.

        Raises:
            ProblemError: it is an unknown word.
        """
        word = document.string(data, self.name, table, self.default if default is None else default)
        if word not in self.options and (self.name in data or word != self.default):
            cure = f"One of {', '.join(self.options)}."
            raise document.error(f"'{word}' is no {self.noun}.", table, at or self.name, cure)
        return word


@dataclass(frozen=True)
class Flag(Kind):
    """True or false; false if absent."""

    schema: Schema = field(init=False, default_factory=lambda: {"type": "boolean"})

    def read(self, document: Document, data: dict[str, Any], table: str) -> bool:
        """Return whether it is set.

        Raises:
            ProblemError: it is neither true nor false.
        """
        value = data.get(self.name, False)
        if not isinstance(value, bool):
            raise document.error(f"'{self.name}' must be true or false.", table, self.name)
        return value


@dataclass(frozen=True)
class Text(Kind):
    """A text, required without a default. All of it matches ``pattern``, which has no alternatives; one that does not
    ``cannot`` be something."""

    schema: Schema = field(init=False)
    default: str | None = None
    pattern: str = ""
    cannot: str = ""
    cure: str = ""

    def __post_init__(self):
        pattern = f"^{self.pattern}$" if self.pattern else _NOT_BLANK if self.default is None else ""
        object.__setattr__(self, "schema", {**TEXT, **({"pattern": pattern} if pattern else {})})
        object.__setattr__(self, "required", self.default is None)

    def read(self, document: Document, data: dict[str, Any], table: str) -> str:
        """The text without blanks around it, or the default.

        Raises:
            ProblemError: it is absent without a default, not a text, or has another form.
        """
        text = document.string(data, self.name, table, self.default)
        if self.pattern and self.name in data and not re.fullmatch(self.pattern, text):
            raise document.error(f"'{text}' cannot be {self.cannot}.", table, self.name, self.cure)
        return text.strip()


@dataclass(frozen=True)
class Texts(Kind):
    """A list of texts, empty if absent."""

    schema: Schema = field(
        init=False, default_factory=lambda: {"type": "array", "items": {**TEXT, "pattern": _NOT_BLANK}}
    )

    def read(self, document: Document, data: dict[str, Any], table: str) -> tuple[str, ...]:
        """The texts, each on one line.

        Raises:
            ProblemError: it is not a list of non-empty texts.
        """
        texts = data.get(self.name, [])
        if not isinstance(texts, list) or not all(isinstance(text, str) and text.strip() for text in texts):
            raise document.error(f"'{self.name}' must be a list of texts.", table, self.name)
        return tuple(printable(" ".join(text.split())) for text in texts)


@dataclass(frozen=True)
class Number(Kind):
    """A literal number: ``above`` a bound or at ``least`` one, and ``below`` or at ``most`` another."""

    schema: Schema = field(init=False)
    above: float | None = None
    least: float | None = None
    below: float | None = None
    most: float | None = None
    cure: str = ""

    def __post_init__(self):
        bounds = {
            "exclusiveMinimum": self.above, "minimum": self.least, "exclusiveMaximum": self.below, "maximum": self.most,
        }  # fmt: skip
        known = {key: bound for key, bound in bounds.items() if bound is not None}
        object.__setattr__(self, "schema", {"type": "number", **known})

    def read(self, document: Document, data: dict[str, Any], table: str) -> float | None:
        """The number; ``None`` if the key is absent and not required.

        Raises:
            ProblemError: it is absent and required, not a number, or outside the bounds.
        """
        if self.name not in data and not self.required:
            return None
        value = data.get(self.name)
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise document.error(f"'{self.name}' must be a number.", table, self.name, self.cure)
        try:
            number = float(value)
        except OverflowError:
            number = math.inf if value > 0 else -math.inf
        bounds = self._bounds(number)
        if not all(holds for _, holds in bounds) or not math.isfinite(number):
            words = " and ".join(words for words, _ in bounds) or "finite"
            raise document.error(f"'{self.name}' is {number:g}; it must be {words}.", table, self.name, self.cure)
        return number

    def _bounds(self, value: float) -> list[tuple[str, bool]]:
        bounds = (
            ("above", self.above, operator.gt), ("at least", self.least, operator.ge),
            ("below", self.below, operator.lt), ("at most", self.most, operator.le),
        )  # fmt: skip
        return [(f"{word} {bound:g}", holds(value, bound)) for word, bound, holds in bounds if bound is not None]


def number_key(name: str, *, required: bool = False) -> Key:
    """A number, or an expression of constants in quotes."""
    return Key(name, A_NUMBER, required=required)


def seed_key() -> Whole:
    """The seed of random draws."""
    return Whole("seed", 0, LARGEST_SEED, 0)


class Table:
    """The keys of one table."""

    def __init__(self, *keys: Key):
        self.keys = keys
        self.names = tuple(key.name for key in keys)

    def check(self, document: Document, data: dict[str, Any], table: str) -> None:
        """Refuse keys that mean nothing.

        Raises:
            ProblemError: there is one; a similar name is suggested.
        """
        document.known_keys(data, self.names, table)

    def read(self, document: Document, data: dict[str, Any], table: str) -> dict[str, Any]:
        """The values of all keys that read their own, by their names.

        Raises:
            ProblemError: a key means nothing, or a value is wrong.
        """
        self.check(document, data, table)
        return self.values(document, data, table)

    def values(self, document: Document, data: dict[str, Any], table: str) -> dict[str, Any]:
        """Read the keys of a table that may hold others.

        Raises:
            ProblemError: a value is wrong.
        """
        return {key.name: key.read(document, data, table) for key in self.keys if isinstance(key, Kind)}

    @property
    def schema(self) -> Schema:
        """The completions for an editor."""
        properties = {key.name: key.schema for key in self.keys}
        found: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
        required = [key.name for key in self.keys if key.required]
        return {**found, "required": required} if required else found

"""Keys of a file's tables, declared once: what the loader takes, and what the schema tells editors.

A key whose values can be described has a kind that reads it: a whole number between bounds, one of some words, true or
false. What else a table must keep, its loader checks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sciml_bench.spec.document import Document

Schema = dict[str, Any]

LARGEST_SEED = 2**32 - 1

A_NUMBER: Schema = {"type": ["number", "string"], "description": "a number, or an expression in quotes"}
NUMBERS: Schema = {"anyOf": [A_NUMBER, {"type": "array", "items": A_NUMBER, "minItems": 1}]}
EXPRESSION: Schema = {"type": ["number", "string"], "description": "an expression of names declared above"}
TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}
SHA256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
CSV: Schema = {"type": "string", "pattern": "\\.csv$"}


@dataclass(frozen=True)
class Key:
    """A key by its name; ``schema`` describes its values; the loader reads kinds not listed below."""

    name: str
    schema: Schema
    required: bool = field(default=False, kw_only=True)


@dataclass(frozen=True)
class Whole(Key):
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
class Choice(Key):
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
        if word not in self.options:
            cure = f"One of {', '.join(self.options)}."
            raise document.error(f"'{word}' is no {self.noun}.", table, at or self.name, cure)
        return word


@dataclass(frozen=True)
class Flag(Key):
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

    @property
    def schema(self) -> Schema:
        """The completions for an editor."""
        properties = {key.name: key.schema for key in self.keys}
        found: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
        required = [key.name for key in self.keys if key.required]
        return {**found, "required": required} if required else found

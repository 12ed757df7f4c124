"""The rules, read from their file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path


class Severity(StrEnum):
    """The consequence of a violation: the record does not count, or its reader should know."""

    INVALID = "invalid"
    WARNING = "warning"


@dataclass(frozen=True)
class Rule:
    """A rule: its requirement and how to fix a violation."""

    id: str
    title: str
    demand: str
    cure: str
    severity: Severity


@dataclass(frozen=True)
class Edition:
    """A set of rules under one name. ``rules`` by id, in the order of the file."""

    name: str
    rules: dict[str, Rule]


@cache
def edition() -> Edition:
    """The rules of this version."""
    text = Path(__file__).with_name("rules.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    rules = [Rule(**{**entry, "severity": Severity(entry["severity"])}) for entry in data["rule"]]
    return Edition(data["edition"], {rule.id: rule for rule in rules})

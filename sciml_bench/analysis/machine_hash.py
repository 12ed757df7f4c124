"""The machine behind an environment: what makes times comparable at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

# Parts of the environment that make the machine. Everything else is software, whose changes are what users compare.
PARTS = (
    "cpu",
    "numa",
    "memory_gib",
    "container",
    "virtual_machine",
    "kernel_settings",
    "gpus",
    "system.machine",
    "system.name",
    "threads",
)


def flat(data: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of nested mappings with their dotted names."""
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def is_machine(name: str) -> bool:
    """Return whether a dotted name of the environment belongs to the machine."""
    return any(name == part or name.startswith(f"{part}.") for part in PARTS)


def machine_hash(environment: Mapping[str, Any]) -> str:
    """Twelve hexadecimal digits that change with the machine and not with its software.

    The number of threads is left out: it is a choice, not a property.
    """
    parts = {name: value for name, value in flat(environment) if is_machine(name) and name != "threads"}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]

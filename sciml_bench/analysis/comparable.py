"""Permission to name winners among the cells of a run, and the number of disturbed processes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sciml_bench.analysis.summary import CellSummary, RunSummary

# The machine behind an environment: what makes times comparable at all.

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


@dataclass(frozen=True)
class Disturbed:
    """Of ``total`` processes, the number disturbed by other work on the machine."""

    count: int
    total: int

    @property
    def all(self) -> bool:
        """Return whether every process was."""
        return 0 < self.total == self.count

    @property
    def mark(self) -> str:
        """The mark after a verdict that rests on them; empty if none was disturbed."""
        return f" (disturbed: {self.count} of {self.total} processes)" if self.count else ""


def disturbed(cells: Iterable[CellSummary]) -> Disturbed:
    """Of the processes that count; each cell counts once."""
    different = {id(cell): cell for cell in cells}.values()
    noisy = [bool(process.noisy) for cell in different for process in cell.processes]
    return Disturbed(sum(noisy), len(noisy))


def why_not_comparable(summary: RunSummary) -> str:
    """Return why no winner is named in a run; empty where winners may be."""
    profile = summary.plan["profile"]
    if not profile["comparable"]:
        return f"profile {profile['name']} runs one process per cell; use quick or more"
    found = disturbed(summary.cells.values())
    if found.all:
        return (
            f"other work on the machine disturbed all {found.total} processes, so a winner is at most provisional; "
            "measure again when `sciml-bench doctor` finds the machine quiet"
        )
    return ""


def comparable(summary: RunSummary) -> bool:
    """Return whether winners may be named."""
    return not why_not_comparable(summary)

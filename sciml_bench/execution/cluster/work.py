"""The work of the engine of clusters: units that wait or run, and nodes that get nothing more."""

from __future__ import annotations

from dataclasses import dataclass, field

from sciml_bench.engine.unit import Unit


@dataclass
class Work:
    """A unit that waits or runs: the scheduler's name of its task, and why earlier ones of this command failed.

    ``known`` are its records that an earlier command took into the run; ``earlier`` tasks ended before this one.
    """

    unit: Unit
    task: str = ""
    due_s: float = 0.0
    earlier: int = 0
    known: frozenset[str] = frozenset()
    silent_since_s: float | None = None
    held_since_s: float | None = None
    unreadable_since_s: float | None = None
    failures: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Refusal:
    """A node that gets nothing more until a time, with the reason."""

    reason: str
    until_s: float

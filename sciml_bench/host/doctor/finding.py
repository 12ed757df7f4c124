"""A finding: one property of the machine, judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from sciml_bench.host.doctor.readings import Readings


class Status(StrEnum):
    """The importance of a finding for timings."""

    DISTURBS = "disturbs"
    NOTE = "note"
    FINE = "fine"
    UNKNOWN = "unknown"

    @property
    def sentence(self) -> str:
        """The meaning of the status, in words."""
        return _SENTENCES[self]


_SENTENCES = {
    Status.DISTURBS: "makes timings noisier or slower than they need be",
    Status.NOTE: "good to know; measurements are sound with it",
    Status.FINE: "as it should be",
    Status.UNKNOWN: "cannot be seen from here",
}


@dataclass(frozen=True)
class Cure:
    """The exact command that removes a disturbance. ``root`` is true if it needs root; ``undo`` takes it back.

    ``command`` is empty if no command on this machine helps; ``advice`` then says what does.
    """

    command: str = ""
    root: bool = False
    undo: str = ""
    advice: str = ""


@dataclass(frozen=True)
class Finding:
    """The finding on one property, why it disturbs, and its fix if there is one."""

    id: str
    title: str
    status: Status
    found: str
    why: str = ""
    cure: Cure | None = None


def check(
    id: str, title: str
) -> Callable[[Callable[[Readings], Finding | None]], Callable[[Readings], Iterator[Finding]]]:
    """Gives the finding of a function its ``id`` and title; ``None`` is a property that the machine does not have."""

    def named(judge: Callable[[Readings], Finding | None]) -> Callable[[Readings], Iterator[Finding]]:
        def findings(readings: Readings) -> Iterator[Finding]:
            found = judge(readings)
            if found is not None:
                yield replace(found, id=id, title=title)

        return findings

    return named


def fine(found: str, why: str = "") -> Finding:
    """A finding for :func:`check` that nothing is wrong."""
    return Finding("", "", Status.FINE, found, why)


def unknown(found: str) -> Finding:
    """A finding for :func:`check` of something that cannot be seen."""
    return Finding("", "", Status.UNKNOWN, found)


def note(found: str, why: str, cure: Cure | None = None) -> Finding:
    """A finding for :func:`check` that is good to know."""
    return Finding("", "", Status.NOTE, found, why, cure)


def disturbs(found: str, why: str, cure: Cure | None = None) -> Finding:
    """A finding for :func:`check` of what disturbs timings."""
    return Finding("", "", Status.DISTURBS, found, why, cure)


def written(value: str, path: str, before: str, advice: str = "") -> Cure:
    """The cure that writes a value to a file of the system."""
    return Cure(f"echo {value} | sudo tee {path}", True, f"echo {before} | sudo tee {path}", advice)

"""A finding: one property of the machine, judged."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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

"""What one conformance check found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How a check ended. A cell that the adapter refuses, with a reason, is neither right nor wrong."""

    PASSED = "passed"
    FAILED = "failed"
    REFUSED = "refused"


@dataclass(frozen=True)
class Check:
    """One check of one cell; ``message`` says what was measured, or what is wrong."""

    cell: str
    name: str
    status: Status
    message: str

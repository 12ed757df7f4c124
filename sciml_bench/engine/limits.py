"""What a worker may use before it is ended."""

from __future__ import annotations

from dataclasses import dataclass

import psutil

_DEFAULT_MEMORY_SHARE = 0.8


@dataclass(frozen=True)
class Limits:
    """Limits of one worker.

    ``timeout_s`` bounds each phase, and each loop of calls at a point, by wall clock. ``memory_bytes`` bounds the
    resident memory of the worker and its children; ``None`` for no limit but the machine's.
    ``import_s`` bounds the import of the framework where it is larger: from a cold disk or on a busy machine that
    takes long, and says nothing about a solver.
    """

    timeout_s: float
    memory_bytes: int | None = None
    import_s: float = 60.0

    def of_phase(self, phase: str) -> float:
        """The limit of this phase in seconds."""
        return max(self.timeout_s, self.import_s) if phase == "import" else self.timeout_s


def memory_limit_bytes() -> int:
    """The limit to take when the user names none: most of this host's memory, so that the host itself lives on."""
    return int(_DEFAULT_MEMORY_SHARE * psutil.virtual_memory().total)

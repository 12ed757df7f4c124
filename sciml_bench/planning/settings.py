"""Settings that all workers of a run share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """``timeout_s`` limits a phase. ``memory_limit_bytes`` is ``None`` for the engine's own default."""

    seed: int = 0
    threads: int = 1
    timeout_s: float = 0.0
    memory_limit_bytes: int | None = None

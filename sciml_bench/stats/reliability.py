"""The reliability of a solver: right, honest about failing, or silently wrong."""

from __future__ import annotations

from dataclasses import dataclass

from sciml_bench.stats.proportion import Proportion, share


@dataclass(frozen=True)
class Stability:
    """Shares of the solves of one cell over the tolerance grid and the perturbed parameters; they add up to 1.

    ``right``: success reported, and the error is within bounds. ``honest``: a typed failure. ``silent``: success
    reported, and the error is far beyond the tolerance; the only one of the three that misleads.
    """

    right: Proportion
    honest: Proportion
    silent: Proportion


def stability(right: int, honest: int, silent: int, confidence: float = 0.95) -> Stability:
    """Shares with Wilson intervals (see :func:`sciml_bench.stats.proportion.share`) from the three counts.

    Raises:
        ValueError: a count is negative, or all are 0.
    """
    if min(right, honest, silent) < 0:
        raise ValueError(f"counts must not be negative, got {right!r}, {honest!r}, {silent!r}")
    total = right + honest + silent
    return Stability(*(share(count, total, confidence) for count in (right, honest, silent)))

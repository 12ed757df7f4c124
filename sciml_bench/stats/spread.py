"""Per-process medians and how they spread."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Spread:
    """Median, smallest and largest of one number per process, in the unit of the input."""

    processes: int
    median: float
    minimum: float
    maximum: float


def process_median(samples: Sequence[float]) -> float | None:
    """The median of the iterations of one process; ``None`` without samples.

    Raises:
        ValueError: a sample is negative or not finite, so it is not a duration.
    """
    ordered = sorted(samples)
    if not ordered:
        return None
    if ordered[0] < 0 or not finite(ordered):
        bad = next(sample for sample in samples if not 0 <= sample < math.inf)
        raise ValueError(f"a duration must be finite and not negative, got {bad!r}")
    middle = len(ordered) // 2
    return (ordered[middle] + ordered[-middle - 1]) / 2


def finite(values: Sequence[float]) -> bool:
    """Return whether all are finite; one sum tells, unless it overflows."""
    return math.isfinite(sum(values)) or all(map(math.isfinite, values))


def spread(values: Iterable[float | None]) -> Spread | None:
    """Return how one number per process spreads; processes without a number (``None``) are left out.

    Returns ``None`` when no process has one.
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Spread(processes=len(known), median=float(median(known)), minimum=min(known), maximum=max(known))

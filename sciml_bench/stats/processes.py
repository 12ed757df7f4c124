"""Per-process medians and how they spread.

The process is the unit of replication: iterations inside one process share its memory layout, its compiled code and
its machine state, so they are first reduced to one number, and only those numbers are compared.
"""

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
    for sample in samples:
        if not math.isfinite(sample) or sample < 0:
            raise ValueError(f"a duration must be finite and not negative, got {sample!r}")
    return float(median(samples)) if samples else None


def spread(values: Iterable[float | None]) -> Spread | None:
    """How one number per process spreads; processes without a number (``None``) are left out.

    Returns ``None`` when no process has one.
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Spread(processes=len(known), median=float(median(known)), minimum=min(known), maximum=max(known))


def geometric_mean(values: Iterable[float]) -> float:
    """The geometric mean of positive numbers, the only mean under which ratios can be averaged.

    Raises:
        ValueError: there are no values, or one is not positive.
    """
    logs: list[float] = []
    for value in values:
        if not value > 0 or not math.isfinite(value):
            raise ValueError(f"a geometric mean needs positive finite values, got {value!r}")
        logs.append(math.log(value))
    if not logs:
        raise ValueError("a geometric mean needs at least one value")
    return math.exp(math.fsum(logs) / len(logs))

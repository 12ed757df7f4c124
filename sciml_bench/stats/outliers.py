"""Labels for the odd samples. Nothing is ever dropped: a label is shown beside the sample that stays."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sciml_bench.stats.centre import finite


class Label(StrEnum):
    """Where a sample lies with respect to Tukey's fences."""

    LOW_SEVERE = "low severe"
    LOW_MILD = "low mild"
    ORDINARY = "ordinary"
    HIGH_MILD = "high mild"
    HIGH_SEVERE = "high severe"


@dataclass(frozen=True)
class Outliers:
    """How many samples of a process carry each label."""

    samples: int
    low_severe: int
    low_mild: int
    high_mild: int
    high_severe: int

    @property
    def total(self) -> int:
        """All samples outside the inner fences."""
        return self.low_severe + self.low_mild + self.high_mild + self.high_severe


def label(samples: Sequence[float]) -> tuple[Label, ...]:
    """A label for each sample, in their order.

    Mild is outside the inner fences, 1.5 interquartile ranges beyond the quartiles; severe is outside the outer ones,
    3 ranges beyond (Tukey 1977, *Exploratory Data Analysis*, chapter 2). Of normal samples 0.7 % are mild and some 2
    in a million severe. Fewer than 4 samples have no quartiles worth the name: all are ordinary.

    Raises:
        ValueError: a sample is not finite.
    """
    low_severe, low_mild, high_mild, high_severe = _fences(_ordered(samples))

    def of(sample: float) -> Label:
        if sample < low_mild:
            return Label.LOW_SEVERE if sample < low_severe else Label.LOW_MILD
        if sample > high_mild:
            return Label.HIGH_SEVERE if sample > high_severe else Label.HIGH_MILD
        return Label.ORDINARY

    return tuple(map(of, samples))


def count(samples: Sequence[float]) -> Outliers:
    """Count the labels of :func:`label`.

    Raises:
        ValueError: a sample is not finite.
    """
    ordered = _ordered(samples)
    low_severe, low_mild, high_mild, high_severe = _fences(ordered)
    n, below, above = len(ordered), bisect_left(ordered, low_severe), bisect_right(ordered, high_severe)
    return Outliers(
        n, below, bisect_left(ordered, low_mild) - below, above - bisect_right(ordered, high_mild), n - above
    )


def _ordered(samples: Sequence[float]) -> list[float]:
    if not finite(samples):
        raise ValueError("outliers are labelled among finite samples only")
    return sorted(samples)


def _fences(ordered: Sequence[float]) -> tuple[float, float, float, float]:
    """Outer and inner fence below, inner and outer fence above; infinitely far for fewer than 4 samples."""
    if len(ordered) < 4:
        return -math.inf, -math.inf, math.inf, math.inf
    first, third = _quantile(ordered, 0.25), _quantile(ordered, 0.75)
    reach = third - first
    return first - 3 * reach, first - 1.5 * reach, third + 1.5 * reach, third + 3 * reach


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    return ordered[below] + (place - below) * (ordered[min(below + 1, len(ordered) - 1)] - ordered[below])

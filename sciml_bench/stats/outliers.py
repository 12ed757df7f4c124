"""Labels for the odd samples. Nothing is ever dropped: a label is shown beside the sample that stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np


class Label(StrEnum):
    """Where a sample lies with respect to Tukey's fences."""

    LOW_SEVERE = "low severe"
    LOW_MILD = "low mild"
    ORDINARY = "ordinary"
    HIGH_MILD = "high mild"
    HIGH_SEVERE = "high severe"


_LABELS = tuple(Label)


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
    return tuple(_LABELS[place] for place in _places(samples))


def count(samples: Sequence[float]) -> Outliers:
    """Count the labels of :func:`label`.

    Raises:
        ValueError: a sample is not finite.
    """
    low_severe, low_mild, _, high_mild, high_severe = np.bincount(_places(samples), minlength=5).tolist()
    return Outliers(len(samples), low_severe, low_mild, high_mild, high_severe)


def _places(samples: Sequence[float]) -> list[int]:
    values = np.asarray(samples, dtype=np.float64)
    if not np.all(np.isfinite(values)):
        raise ValueError("outliers are labelled among finite samples only")
    if values.size < 4:
        return [2] * values.size
    first, third = np.quantile(values, (0.25, 0.75))
    reach = third - first
    high = (values > third + 1.5 * reach).astype(np.intp) + (values > third + 3 * reach)
    low = (values < first - 1.5 * reach).astype(np.intp) + (values < first - 3 * reach)
    return (2 + high - low).tolist()

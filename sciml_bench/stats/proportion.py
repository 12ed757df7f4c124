"""A share of counted cases, with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from sciml_bench.stats.student import check_confidence


@dataclass(frozen=True)
class Proportion:
    """``count`` of ``total`` cases, and the interval [low, high] of the share behind them."""

    count: int
    total: int
    low: float
    high: float
    confidence: float = 0.95

    @property
    def share(self) -> float:
        """``count`` / ``total``."""
        return self.count / self.total


def share(count: int, total: int, confidence: float = 0.95) -> Proportion:
    """The share with Wilson's score interval.

    Wilson 1927 (J. Am. Stat. Assoc. 22, 209–212); recommended over the textbook interval, which is empty at 0 and at
    1 and too narrow for small ``total``, by Brown, Cai and DasGupta 2001 (Statistical Science 16, 101–133).
    The cases are taken as independent: shares of overlapping trials are known less well than this says.

    Raises:
        ValueError: ``total`` is not positive, ``count`` is not within 0 … ``total``, or ``confidence`` is not a share.
    """
    check_confidence(confidence)
    if total < 1 or not 0 <= count <= total:
        raise ValueError(f"a share needs a count between 0 and a positive total, got {count!r} of {total!r}")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    observed = count / total
    centre = (observed + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(observed * (1 - observed) / total + (z / (2 * total)) ** 2)
    # Rounding must not keep 0 of n from starting at 0, nor n of n from ending at 1.
    low = 0.0 if count == 0 else max(0.0, centre - half)
    high = 1.0 if count == total else min(1.0, centre + half)
    return Proportion(count, total, low, high, confidence)

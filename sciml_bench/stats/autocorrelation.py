"""Blocks that resemble their neighbours: what a slow drift of a difference takes from the proof of it.

Student's t takes the blocks' log differences as independent. If neighbours are correlated it finds false differences:
with an autocorrelation of 0.5 in 20 to 25 % of trials, with 0.9 in 60 to 70 %. One short series hardly determines the
coefficient, but all series of a family together do, with a margin for the remaining uncertainty.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sciml_bench.stats.log_means import mean_and_sd

FEWEST = 5
"""Shorter series do not determine an autocorrelation."""

# Standard errors that are added to an estimate. By simulation, with MOST, winners are named in at most 5 % of trials of
# a first-order autoregression with 0, 0.5 and 0.9, at 5, 10 and 20 blocks and 2 to 8 cells.
_MARGIN = 1.1
MOST = 0.7
"""A larger coefficient cannot be distinguished from one that leaves a single observation: then :data:`WORST` is used.
"""
WORST = 0.95
# A series that is this many standard errors above independence keeps its own coefficient.
_ODD = 1.64


@dataclass(frozen=True)
class Earlier:
    """The coefficient that earlier series of the same machine show on average, with its standard error."""

    coefficient: float
    error: float


def autocorrelation(values: Sequence[float]) -> float | None:
    """The autocorrelation of neighbours in a series; ``None`` for fewer than 5 values, or without any spread."""
    if len(values) < FEWEST:
        return None
    mean, sd = mean_and_sd(values)
    if not sd > 1e-12 * max(1.0, abs(mean)):
        return None
    apart = [value - mean for value in values]
    together = math.fsum(a * b for a, b in pairwise(apart))
    return together / math.fsum(a * a for a in apart)


def unbiased(found: float, n: int) -> float:
    """The coefficient that gives such an autocorrelation of ``n`` values on average: −1/n belongs to independent ones.

    To first order (Kendall 1954, Biometrika 41, 403–404): E(r) = ρ − (1 + 4ρ)/n.
    """
    return (found + 1 / n) / (1 - 4 / n)


def error(n: int) -> float:
    """The standard error of the autocorrelation of ``n`` values, by simulation with 0 to 0.9."""
    return min(0.3, 0.95 / math.sqrt(n + 2))


def allowed(found: Sequence[tuple[float, int]], independent: int, earlier: Earlier | None = None) -> list[float]:
    """The coefficient, 0 to 0.95, that is allowed for in each of the series of a family.

    ``found`` holds the autocorrelation of each and its number of blocks, ``independent`` the number of mutually
    independent series: k − 1 for the pairs among k cells. The family's mean with a margin serves all; a series far
    above independence keeps its own, if that is more.
    """
    if not found:
        return []
    shared = common(central(found), margin(found, independent), earlier)
    return [capped(max(shared, _own(r, n))) for r, n in found]


def common(own: float, own_margin: float, earlier: Earlier | None) -> float:
    """The coefficient of a family with its margin, and with what earlier series of the machine add to it.

    Both are weighted by their variances, unless the family lies above the earlier ones beyond chance: then the machine
    is another now, and the family counts alone.
    """
    own_error = own_margin / _MARGIN
    if earlier is None or own - _ODD * math.hypot(own_error, earlier.error) > earlier.coefficient:
        return own + own_margin
    weights = own_error**-2, earlier.error**-2
    mean = (weights[0] * own + weights[1] * earlier.coefficient) / sum(weights)
    return mean + _MARGIN / math.sqrt(sum(weights))


def central(found: Sequence[tuple[float, int]]) -> float:
    """The coefficient that a family of series shows on average."""
    share = math.fsum(1 / n for _, n in found) / len(found)
    return (math.fsum(r for r, _ in found) / len(found) + share) / (1 - 4 * share)


def margin(found: Sequence[tuple[float, int]], independent: int, n: int | None = None) -> float:
    """The margin for uncertainty of the coefficient; ``n`` blocks replace the actual number."""
    share = 1 / n if n else math.fsum(1 / each for _, each in found) / len(found)
    spread = error(n) if n else math.fsum(error(each) for _, each in found) / len(found)
    return _MARGIN * spread / math.sqrt(max(1, min(independent, len(found)))) / (1 - 4 * share)


def widening(coefficient: float) -> float:
    """By how much t is too large when neighbours have this coefficient.

    √((1 + ρ)/(1 − ρ)) for many blocks; the exponent 0.59 in place of 0.5 also covers 3 to 30 blocks, where the spread
    is understated too (within 5 % of the simulated 95 % points of |t| for 0.5 and 0.9).
    """
    return ((1 + coefficient) / (1 - coefficient)) ** 0.59


def _own(found: float, n: int) -> float:
    odd = unbiased(found - _ODD * error(n), n) > 0
    return unbiased(found, n) if odd else 0.0


def capped(coefficient: float) -> float:
    """The coefficient to use: :data:`WORST` if it cannot be distinguished from a single observation."""
    return WORST if coefficient > MOST else max(0.0, coefficient)

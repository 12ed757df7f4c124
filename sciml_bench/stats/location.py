"""The interval of a median over the processes of one cell, as tables show it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cache

from sciml_bench.stats.log_means import logs, t_interval

CONFIDENCE = 0.95


def median_interval(processes: Iterable[float]) -> tuple[float, float]:
    """The 95 % interval of the median of one number per process, in the unit of the input.

    It is distribution-free if the number of processes allows one: the ranks come from the binomial distribution
    (Le Boudec 2010, *Performance Evaluation of Computer and Communication Systems*, theorem 2.1; recommended by Hoefler
    & Belli 2015, "Scientific benchmarking of parallel computing systems", rules 5 and 6), so its level is at least the
    nominal one for every distribution. That takes 6 processes. With 2 to 5 it is a t interval of the mean of the
    logs, which takes them as normal. Without two positive numbers it is (0, ∞).
    """
    ordered = sorted(processes)
    rank = _rank(len(ordered))
    if rank:
        return ordered[rank - 1], ordered[-rank]
    if len(ordered) < 2 or ordered[0] <= 0:  # A median of 0 lies below the clock's resolution; it has no logarithm.
        return 0.0, math.inf
    _, low, high = t_interval(logs(ordered, "medians"), CONFIDENCE)
    return low, high


@cache
def _rank(n: int) -> int:
    """The largest r for which [r-th smallest, r-th largest] of n holds the median with the confidence, or 0."""
    allowed = (1 - Fraction(CONFIDENCE)) / 2 * 2**n
    outside = rank = 0
    while 2 * rank < n and (outside := outside + math.comb(n, rank)) <= allowed:
        rank += 1
    return rank

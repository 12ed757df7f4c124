"""A table's numbers of one cell: the median over its processes, with an interval, and the variation of the times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from statistics import median

from sciml_bench.stats.log_means import logs, t_interval
from sciml_bench.stats.spread import Iterations, variation
from sciml_bench.stats.student import check_confidence


class Method(StrEnum):
    """The source of a median's interval."""

    ORDER = "order statistics"
    T = "t on log medians"
    NONE = "none"


@dataclass(frozen=True)
class Centre:
    """The time of one cell over ``n`` processes, in the unit of the input.

    ``median`` is the median of the per-process medians and [low, high] its interval, by ``method``.
    ``variation_between`` is the coefficient of variation of the per-process medians, ``variation_within`` the
    iterations' inside a process (root mean square over the processes, weighted by their degrees of freedom); ``None``
    if there are too few of either.
    """

    n: int
    median: float
    low: float
    high: float
    minimum: float
    maximum: float
    variation_between: float | None
    variation_within: float | None
    method: Method
    confidence: float = 0.95


def centre(processes: Iterable[Iterations | None], confidence: float = 0.95) -> Centre | None:
    """Summarise the processes of one cell; those without a number (``None``) are left out.

    The interval is distribution-free if the number of processes allows one: the ranks come from the binomial
    distribution (Le Boudec 2010, *Performance Evaluation of Computer and Communication Systems*, theorem 2.1;
    recommended by Hoefler & Belli 2015, "Scientific benchmarking of parallel computing systems", rules 5 and 6), so
    its level is at least the nominal one for every distribution. At 95 % that takes 6 processes. With 2 to 5 it is a t
    interval of the mean of the log medians, which takes these logs as normal. One process gives (0, ∞). Returns
    ``None`` if no process has a number.

    Raises:
        ValueError: ``confidence`` is not between 0 and 1.
    """
    check_confidence(confidence)
    known = [process for process in processes if process is not None]
    if not known:
        return None
    medians = sorted(process.median for process in known)
    low, high, method = _interval(medians, confidence)
    return Centre(
        n=len(medians),
        median=float(median(medians)),
        low=low,
        high=high,
        minimum=medians[0],
        maximum=medians[-1],
        variation_between=variation(medians),
        variation_within=_pooled(known),
        method=method,
        confidence=confidence,
    )


def _interval(medians: Sequence[float], confidence: float) -> tuple[float, float, Method]:
    n = len(medians)
    rank = _rank(n, confidence)
    if rank:
        return medians[rank - 1], medians[n - rank], Method.ORDER
    if n == 1 or medians[0] <= 0:  # A median of 0 lies below the clock's resolution; it has no logarithm.
        return 0.0, math.inf, Method.NONE
    _, low, high = t_interval(logs(medians, "medians"), confidence)
    return low, high, Method.T


@lru_cache(maxsize=4096)
def _rank(n: int, confidence: float) -> int:
    """The largest r for which [r-th smallest, r-th largest] of n holds the median with ``confidence``, or 0."""
    allowed = (1 - Fraction(confidence)) / 2 * 2**n
    outside = rank = 0
    while 2 * rank < n and (outside := outside + math.comb(n, rank)) <= allowed:
        rank += 1
    return rank


def _pooled(processes: Sequence[Iterations]) -> float | None:
    known = [(process.count - 1, process.variation) for process in processes if process.variation is not None]
    freedom = sum(weight for weight, _ in known)
    if not freedom:
        return None
    return math.sqrt(math.fsum(weight * value**2 for weight, value in known) / freedom)

"""A table's numbers of one cell: the median over its processes, with an interval, and the variation of the times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from statistics import median

from sciml_bench.stats.student import check_confidence, critical_t

# Means of logarithms: what disturbs a time multiplies it, so times and ratios are averaged and compared in logs.


def logs(values: Iterable[float], what: str) -> list[float]:
    """Natural logarithms; ``what`` names the values in the message.

    Raises:
        ValueError: a value is not positive and finite.
    """
    result: list[float] = []
    for value in values:
        if not 0 < value < math.inf:
            raise ValueError(f"{what} must be positive and finite, got {value!r}")
        result.append(math.log(value))
    return result


def mean_and_sd(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation (n − 1; 0 for a single value) of at least one value."""
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return mean, 0.0
    return mean, math.dist(values, [mean] * n) / math.sqrt(n - 1)


def t_interval(values: Sequence[float], confidence: float) -> tuple[float, float, float]:
    """Geometric mean, low and high from at least one logarithm; a single one leaves (0, ∞)."""
    n = len(values)
    mean, sd = mean_and_sd(values)
    if n == 1:
        return exp(mean), 0.0, math.inf
    half = critical_t(confidence, n - 1) * sd / math.sqrt(n)
    return exp(mean), exp(mean - half), exp(mean + half)


def exp(value: float) -> float:
    """e to the power of ``value``, ∞ if that overflows: the interval of two wild processes reaches that far."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


# Per-process medians and how they spread.


@dataclass(frozen=True)
class Spread:
    """Median, smallest and largest of one number per process, in the unit of the input."""

    processes: int
    median: float
    minimum: float
    maximum: float


@dataclass(frozen=True)
class Iterations:
    """The iterations of one process, reduced: how many, their median in the unit of the input, and how they vary.

    ``variation`` is their coefficient of variation (standard deviation over mean); ``None`` for a single iteration.
    """

    count: int
    median: float
    variation: float | None


def iterations(samples: Sequence[float]) -> Iterations | None:
    """Reduce the iterations of one process; ``None`` without samples.

    Raises:
        ValueError: a sample is negative or not finite, so it is not a duration.
    """
    middle = process_median(samples)
    return None if middle is None else Iterations(len(samples), middle, variation(samples))


def variation(values: Sequence[float]) -> float | None:
    """The coefficient of variation: standard deviation (n − 1) over mean; ``None`` for fewer than two values.

    The values are durations; when all of them are 0, so is their variation.
    """
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    if mean == 0:
        return 0.0
    # A distance is scaled inside, so that the squares of very long or short times neither overflow nor vanish.
    return math.dist(values, [mean] * len(values)) / math.sqrt(len(values) - 1) / mean


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

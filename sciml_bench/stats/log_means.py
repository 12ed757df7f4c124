"""Means of logarithms: what disturbs a time multiplies it, so times and ratios are averaged and compared in logs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from sciml_bench.stats.student import critical_t


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

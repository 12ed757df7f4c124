"""Effects on log ratios by least squares: what a label adds, what a position adds, what drifts.

With one regressor x the model is d = a + b x + noise (Draper & Smith, *Applied Regression Analysis*, 3rd ed., chapter
1). Errors are widened by what the autocorrelation of the residuals, as it is estimated, takes from them
(:mod:`sciml_bench.stats.autocorrelation`); a negative one narrows nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sciml_bench.stats import autocorrelation
from sciml_bench.stats.log_means import exp
from sciml_bench.stats.student import critical_t, two_sided_p


@dataclass(frozen=True)
class Effect:
    """An effect in logs with its standard error, ``df`` degrees of freedom, and its p against none."""

    log: float
    error: float
    df: float

    @property
    def p(self) -> float:
        """The two-sided probability of an effect this large if there were none."""
        return two_sided_p(self.log / self.error, self.df) if self.error > 0 else float(self.log == 0)

    def interval(self, confidence: float = 0.95) -> tuple[float, float, float]:
        """The effect as a factor: estimate, low, high."""
        half = critical_t(confidence, self.df) * self.error
        return exp(self.log), exp(self.log - half), exp(self.log + half)


@dataclass(frozen=True)
class Line:
    """A fitted line: its ``level`` at x = 0, its ``slope``, and the residuals in the order of the values."""

    level: Effect
    slope: Effect
    residuals: tuple[float, ...]


def fit(values: Sequence[float], x: Sequence[float]) -> Line:
    """The line through ``values``, which are in order of time, over ``x``.

    Raises:
        ValueError: the lengths differ, there are fewer than 4 values, or x does not vary.
    """
    n = len(values)
    if n != len(x):
        raise ValueError(f"a line needs an x for each value, got {n} values and {len(x)} of x")
    if n < 4:
        raise ValueError(f"a line with its error needs at least 4 values, got {n}")
    mean_x, mean = math.fsum(x) / n, math.fsum(values) / n
    square_x = math.fsum((at - mean_x) ** 2 for at in x)
    if not square_x > 0:
        raise ValueError("a line needs an x that varies")
    slope = math.fsum((at - mean_x) * (value - mean) for at, value in zip(x, values, strict=True)) / square_x
    level = mean - slope * mean_x
    residuals = tuple(value - level - slope * at for at, value in zip(x, values, strict=True))
    df = n - 2
    sd = math.sqrt(math.fsum(residual**2 for residual in residuals) / df) * autocorrelation.widening(
        coefficient(residuals)
    )
    return Line(
        Effect(level, sd * math.sqrt(1 / n + mean_x**2 / square_x), df),
        Effect(slope, sd / math.sqrt(square_x), df),
        residuals,
    )


def level(values: Sequence[float], rho: float | None = None) -> Effect:
    """The mean of ``values``, which are in order of time; ``rho`` is their autocorrelation, if it is known better than
    from these values.

    Raises:
        ValueError: there are fewer than 2 values.
    """
    n = len(values)
    if n < 2:
        raise ValueError(f"a mean with its error needs at least 2 values, got {n}")
    mean = math.fsum(values) / n
    residuals = [value - mean for value in values]
    widening = autocorrelation.widening(coefficient(residuals) if rho is None else rho)
    sd = math.sqrt(math.fsum(residual**2 for residual in residuals) / (n - 1)) * widening
    return Effect(mean, sd / math.sqrt(n), n - 1)


def coefficient(residuals: Sequence[float]) -> float:
    """The autocorrelation of neighbouring residuals, 0 to 0.95, without a margin; 0 if it cannot be estimated."""
    found = autocorrelation.autocorrelation(residuals)
    return 0.0 if found is None else autocorrelation.capped(autocorrelation.unbiased(found, len(residuals)))

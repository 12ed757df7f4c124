"""The resolution of a number of processes: the smallest change, and how many processes a change needs."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

from sciml_bench.stats.log_means import exp
from sciml_bench.stats.student import critical_t
from sciml_bench.stats.verdict import FEW_PROCESSES, LEAST_RATIO_OF_FEW, Rule

_MOST = 10_000_000


def smallest_change(sd_log: float, n: int, power: float = 0.8, level: float = 0.05) -> float:
    """The smallest slowdown (0.05 is 5 %) that n block pairs find at ``level`` with ``power``; ∞ for fewer than two.

    The two-sided paired t test of log ratios, by the noncentral t distribution (Cohen 1988, *Statistical Power
    Analysis*, chapter 2). ``sd_log`` is the one of :class:`sciml_bench.stats.ratio.Ratio`: of the log ratio of one
    pair, which is √2 times the spread of one side if blocks have no drift to remove. This is only the test; a verdict
    also needs an estimate outside the band.

    Raises:
        ValueError: ``sd_log`` is not positive, or ``power`` or ``level`` is not a share with ``level`` < ``power``.
    """
    _check(sd_log, level, power)
    return exp(_noncentrality(n - 1, power, level) * sd_log / math.sqrt(n)) - 1 if n > 1 else math.inf


def smallest_named(sd_log: float, n: int, power: float = 0.8, level: float = 0.05, band: float = Rule.band) -> float:
    """The smallest slowdown that a verdict of n block pairs calls slower with ``power``; ∞ for fewer than two.

    The test must find it, and the estimate must leave the band of equal ratios; fewer than 5 pairs name nothing below
    a factor of 2. Among few cells a verdict asks for more, as neighbouring blocks may be correlated.

    Raises:
        ValueError: as :func:`smallest_change`.
    """
    found = smallest_change(sd_log, n, power, level)
    if n < FEW_PROCESSES:
        return max(found, LEAST_RATIO_OF_FEW - 1)
    outside = math.log1p(band) + NormalDist().inv_cdf(power) * sd_log / math.sqrt(n)
    return max(found, exp(outside) - 1)


def processes_for(change: float, sd_log: float, power: float = 0.8, level: float = 0.05) -> int:
    """Return how many block pairs find a relative ``change`` with ``power``: the inverse of :func:`smallest_change`.

    Raises:
        ValueError: ``change`` is 0 or not above −1, or so small that more than ten million would be needed; and as
            there.
    """
    _check(sd_log, level, power)
    if not -1 < change < math.inf or change == 0:
        raise ValueError(f"a change must be above −1, finite and not 0, got {change!r}")
    wanted = abs(math.log1p(change)) / sd_log

    def enough(n: int) -> bool:
        return wanted * math.sqrt(n) >= _noncentrality(n - 1, power, level)

    low, high = 1, 2
    while not enough(high):
        low, high = high, 2 * high
        if high > _MOST:
            raise ValueError(f"a change of {change!r} takes more than {_MOST} processes at this spread")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _power(shift: float, df: int, level: float) -> float:
    """P(|T| > critical value) for a noncentral t: a normal tail, averaged over the spread that is estimated."""
    edge = critical_t(1 - level, df)
    return min(1.0, math.fsum(weight * _outside(edge * spread, shift) for spread, weight in _spreads(df)))


def _outside(edge: float, shift: float) -> float:
    """P(|Z + shift| > edge) for a standard normal Z."""
    return (math.erfc((edge - shift) / math.sqrt(2)) + math.erfc((edge + shift) / math.sqrt(2))) / 2


@lru_cache(maxsize=256)
def _spreads(df: int) -> tuple[tuple[float, float], ...]:
    """Nodes and weights of estimated over true standard deviation: √(χ²/df), by Gauss–Legendre quadrature."""
    # NumPy is only imported for users of power.
    import numpy as np
    from numpy.polynomial.legendre import leggauss

    nodes, weights = leggauss(96)
    reach = 9 / math.sqrt(2 * df)
    low, high = max(0.0, 1 - reach), 1 + reach
    spreads = low + (high - low) * (nodes + 1) / 2
    weights = weights * np.exp((df - 1) * np.log(spreads) - df * (spreads**2 - 1) / 2)
    return tuple(zip(spreads.tolist(), (weights / weights.sum()).tolist(), strict=True))


@lru_cache(maxsize=4096)
def _noncentrality(df: int, power: float, level: float) -> float:
    """By how many standard errors a change must exceed 0 to be found with ``power``, by bisection."""
    low, high = 0.0, 1.0
    while _power(high, df, level) < power:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _power(middle, df, level) >= power else (middle, high)
    return high


def _check(sd_log: float, level: float, power: float = 0.9999) -> None:
    if not 0 < sd_log < math.inf:
        raise ValueError(f"the spread must be positive and finite, got {sd_log!r}")
    if not 0 < level < power < 1:
        raise ValueError(f"level and power must be shares with level < power, got {level!r} and {power!r}")

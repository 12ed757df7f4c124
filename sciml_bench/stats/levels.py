"""Where the noise comes from, and what that means for the plan: how many processes, how many iterations in each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from sciml_bench.stats.centre import exp, logs, mean_and_sd
from sciml_bench.stats.student import check_confidence, critical_t

_MOST = 10_000_000


@dataclass(frozen=True)
class Components:
    """Variances of log times: ``between`` processes, and ``within`` one (between its iterations).

    ``processes`` and ``iterations`` say how many of each (all processes together) they were estimated from.
    """

    between: float
    within: float
    processes: int
    iterations: int

    @property
    def sd_between(self) -> float:
        """Relative spread between processes, were each known exactly."""
        return math.sqrt(self.between)

    @property
    def sd_within(self) -> float:
        """Relative spread between the iterations of a process."""
        return math.sqrt(self.within)


def components(processes: Sequence[Sequence[float]]) -> Components:
    """Variance components of processes × iterations, from the iterations of each process of a pilot.

    For equal numbers of iterations this is T² of Kalibera & Jones 2013 ("Rigorous benchmarking in reasonable time"):
    the variance of the process means less that which their iterations explain. Else it is the analysis-of-variance
    estimator of the unbalanced random model (Searle, Casella & McCulloch 1992, *Variance Components*, §3.6). An
    estimate ``between`` below 0 is given as 0, which is how Kalibera & Jones read it: processes do not differ beyond
    their iterations. It is known badly from few processes: with 5 its own standard error is some 70 %.

    Raises:
        ValueError: there are fewer than two processes, no process has two iterations, one has none, or a time is not
            positive and finite.
    """
    if len(processes) < 2:
        raise ValueError(f"variance between processes needs at least two, got {len(processes)}")
    if any(len(process) == 0 for process in processes):
        raise ValueError("a process has no iterations")
    iterations = sum(len(process) for process in processes)
    if iterations == len(processes):
        raise ValueError("variance within a process needs one with at least two iterations")
    groups = [(len(process), *mean_and_sd(logs(process, "times"))) for process in processes]
    mean = math.fsum(count * middle for count, middle, _ in groups) / iterations
    within = math.fsum((count - 1) * sd**2 for count, _, sd in groups) / (iterations - len(groups))
    between_square = math.fsum(count * (middle - mean) ** 2 for count, middle, _ in groups) / (len(groups) - 1)
    typical = (iterations - math.fsum(count**2 for count, _, _ in groups) / iterations) / (len(groups) - 1)
    return Components(max(0.0, (between_square - within) / typical), within, len(groups), iterations)


def optimal_repeats(variances: Sequence[float], costs: Sequence[float]) -> tuple[float, ...]:
    """How often to repeat each level but the highest within one repetition of the next, for the least total time.

    √((cᵢ₊₁/cᵢ)·(Tᵢ²/Tᵢ₊₁²)) of Kalibera & Jones 2013. Both sequences begin with the lowest level: for processes ×
    iterations ``variances`` is (within, between) and ``costs`` the seconds of (one more iteration, one more process
    without its iterations). At least 1 each; ∞ where the next level adds no variance, so that repeating it is waste.

    Raises:
        ValueError: the sequences differ in length, have fewer than two levels, or hold what is no variance or cost.
    """
    if len(variances) != len(costs) or len(variances) < 2:
        raise ValueError(f"levels need a variance and a cost each, got {len(variances)} and {len(costs)}")
    if not all(0 <= variance < math.inf for variance in variances) or not all(0 < cost < math.inf for cost in costs):
        raise ValueError("variances must not be negative and costs must be positive")
    pairs = zip(variances, variances[1:], costs, costs[1:], strict=False)
    return tuple(
        max(1.0, math.sqrt(above_cost / cost * variance / above)) if above > 0 else math.inf
        for variance, above, cost, above_cost in pairs
    )


def half_width(found: Components, processes: int, iterations: int, confidence: float = 0.95) -> float:
    """The relative half-width (0.05 is 5 %) to expect of one cell's interval with so many processes × iterations.

    Student's t of the mean log time. Medians, which we print, are a little worse where noise is normal (their part
    from iterations is π/2 times as large) and much better where iterations are disturbed. ∞ for one process.

    Raises:
        ValueError: ``processes`` or ``iterations`` is below 1.
    """
    check_confidence(confidence)
    if processes < 1 or iterations < 1:
        raise ValueError(f"there is at least one process and one iteration, got {processes} and {iterations}")
    if processes == 1:
        return math.inf
    error = math.sqrt((found.between + found.within / iterations) / processes)
    return exp(critical_t(confidence, processes - 1) * error) - 1


def power_of(change: float, sd_log: float, n: int, level: float = 0.05) -> float:
    """The probability that n block pairs find a true relative ``change`` (0.05 is 5 % slower) at ``level``.

    The two-sided paired t test of log ratios, by the noncentral t distribution (Cohen 1988, *Statistical Power
    Analysis*, chapter 2). ``sd_log`` is that of :class:`sciml_bench.stats.ratio.Ratio`: of the log ratio of one pair,
    which is √2 times the spread of one side where blocks have no drift to take out. This is the test alone; a verdict
    also asks for an estimate outside the band.

    Raises:
        ValueError: ``change`` is not above −1, or ``sd_log`` is not positive, or ``level`` is not a share.
    """
    _check(sd_log, level)
    if not -1 < change < math.inf:
        raise ValueError(f"a change must be above −1 and finite, got {change!r}")
    return _power(abs(math.log1p(change)) * math.sqrt(n) / sd_log, n - 1, level) if n > 1 else 0.0


def smallest_change(sd_log: float, n: int, power: float = 0.8, level: float = 0.05) -> float:
    """The smallest slow-down (0.05 is 5 %) that n block pairs find with ``power``; ∞ for fewer than two.

    Raises:
        ValueError: ``sd_log`` is not positive, or ``power`` or ``level`` is not a share with ``level`` < ``power``.
    """
    _check(sd_log, level, power)
    return exp(_noncentrality(n - 1, power, level) * sd_log / math.sqrt(n)) - 1 if n > 1 else math.inf


def processes_for(change: float, sd_log: float, power: float = 0.8, level: float = 0.05) -> int:
    """How many block pairs find a relative ``change`` with ``power``: the inverse of :func:`smallest_change`.

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
    # NumPy is not imported for those who do not ask for power.
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

"""Evidence that one side is faster, which may be looked at after every block: e-values of paired log ratios.

An e-value is a bet against "there is no difference" that is fair if there is none. Its expectation is then at most 1
at every moment, and the probability that it *ever* reaches 1/α is at most α (Ville's inequality), however often and
for whatever reason one looks. Student's t has no such guarantee: looking after each block at a level of 5 % finds a
difference between a program and itself in about 25 % of trials after 20 blocks.

Two bets are held at once, with half of the stake each:

- *Known scatter.* Log ratios of blocks scatter by at most :data:`SCATTER`. A normal mixture over the difference
  (Robbins 1970, Annals of Mathematical Statistics 41, 1397–1409) then tells large differences after one or two blocks,
  if nothing is known yet of the scatter itself. A block in which a process was held up would fool it, so the one
  block that speaks most for a difference is left out, and a lone block must show :data:`ALONE`. What is left is never
  more than the evidence was one block earlier, so that the guarantee stays.
- *Any scatter.* The mixture of Student's t with the standard deviation unknown: the right Haar prior on it, a normal
  one on the difference in its units (Lai 1976, Annals of Statistics 4, 265–280; as an e-value Grünwald, de Heide &
  Koolen 2024, J. R. Stat. Soc. B 86, 1091–1128, and Wang & Ramdas 2025, "Anytime-valid t-tests"). It tells small
  differences after some blocks, at any scatter.

The second is exact for normal log ratios, the first for any that scatter by no more. Both take blocks as independent of
each other. Blocks that resemble their neighbours say less: below a factor of :data:`DRIFT` the scatter of their mean is
widened by what their autocorrelation, with a margin since it is hardly known, allows for
(``stats/autocorrelation.py``), and as fewer than :data:`SOON` blocks do not show any, these are evidence of a factor of
:data:`PLAIN` alone. What heavier tails, disturbed processes and autocorrelation leave of the promise is simulated in
``tests/stats/test_race.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sciml_bench.stats.autocorrelation import FEWEST, MOST, autocorrelation, error, widening
from sciml_bench.stats.log_means import mean_and_sd

SCATTER = 0.3
"""The standard deviation of a block's log ratio that is taken as known until a pair shows more. On quiet machines it is
0.02 to 0.1."""

ALONE = 10.0
"""The factor from which on a single block is evidence."""

SOON, PLAIN = FEWEST, 2.0
"""Before this many blocks only such a factor is evidence."""

DRIFT = 1.5
"""A factor this large is never attributed to slow drifts."""

_SERIAL_MARGIN = 0.7
"""Standard errors that are added to an autocorrelation."""

_OWN = 2.0
"""If this many standard deviations of a pair's own blocks are more, they are its scatter."""

_KNOWN_PRIOR, _UNKNOWN_PRIOR = 10.0, 10.0
"""Variances of the mixtures over the difference, in units of the variance of a block."""


def log_evidence(differences: Sequence[float]) -> float:
    """The natural logarithm of the e-value of log ratios of blocks, in order, against a mean of zero; two-sided.

    0 blocks are no evidence: 0.
    """
    n = len(differences)
    factor = math.exp(abs(math.fsum(differences)) / n) if n else 1.0
    if not n or (n < SOON and factor < PLAIN):
        return 0.0
    widened = 1.0 if factor >= DRIFT else _widening(differences)
    return _log_mean_exp(_known(differences, widened), _unknown(differences, widened))


def interval(differences: Sequence[float], error_rate: float) -> tuple[float, float]:
    """The means of log ratios with no evidence against them at this error rate, as [low, high].

    A confidence sequence: with a probability of at least 1 − ``error_rate`` it holds the true mean after *every* block.
    One block bounds nothing: (−∞, ∞).

    Raises:
        ValueError: ``error_rate`` is not within (0, 1).
    """
    if not 0 < error_rate < 1:
        raise ValueError(f"an error rate lies between 0 and 1, got {error_rate!r}")
    if len(differences) < 2:
        return -math.inf, math.inf
    mean = math.fsum(differences) / len(differences)
    threshold = -math.log(error_rate)
    return mean - _reach(differences, mean, threshold, -1.0), mean + _reach(differences, mean, threshold, 1.0)


def _reach(differences: Sequence[float], mean: float, threshold: float, sign: float) -> float:
    """Return how far from the mean, in one direction, evidence is first enough."""

    def enough(distance: float) -> bool:
        return log_evidence([value - mean - sign * distance for value in differences]) >= threshold

    near, far = 0.0, 1e-3
    while not enough(far):
        near, far = far, 2 * far
        if far > 1e3:
            return math.inf
    for _ in range(40):
        middle = (near + far) / 2
        near, far = (near, middle) if enough(middle) else (middle, far)
    return far


def _widening(differences: Sequence[float]) -> float:
    """The factor by which the mean of blocks scatters more than for independent blocks."""
    found = autocorrelation(differences)
    if found is None:
        return 1.0
    n = len(differences)
    return widening(min(MOST, max(0.0, found + 1 / n) + _SERIAL_MARGIN * error(n)))


def _known(differences: Sequence[float], widened: float = 1.0) -> float:
    """The log e-value where the scatter is at most :data:`SCATTER`, without the block that speaks most for it."""
    total = math.fsum(differences)
    if len(differences) == 1:
        used = differences if abs(total) >= math.log(ALONE) else ()
    else:
        most = max(differences) if total > 0 else min(differences)
        rest = total - most
        # The others must point the same way.
        used = (rest,) if rest * total > 0 else ()
    if not used:
        return -math.inf
    n = max(1, len(differences) - 1)
    sd = mean_and_sd(differences)[1] if len(differences) > 1 else 0.0
    scatter = max(SCATTER, _OWN * sd) * widened
    shrunk = 1 + n * _KNOWN_PRIOR
    return _KNOWN_PRIOR * math.fsum(used) ** 2 / (2 * scatter**2 * shrunk) - math.log(shrunk) / 2


def _unknown(differences: Sequence[float], widened: float = 1.0) -> float:
    """The log e-value whatever the scatter is; blocks that resemble each other count as fewer."""
    if len(differences) < 2:
        return 0.0
    mean, sd = mean_and_sd(differences)
    n = max(2.0, len(differences) / widened**2)
    df, shrunk = n - 1, 1 + n * _UNKNOWN_PRIOR
    if not sd > 0:
        # No scatter at all: t is infinite, or the difference is zero.
        return (df * math.log(shrunk) if mean else -math.log(shrunk)) / 2
    square = n * (mean / sd) ** 2 / df
    return (n * (math.log1p(square) - math.log1p(square / shrunk)) - math.log(shrunk)) / 2


def _log_mean_exp(a: float, b: float) -> float:
    large, small = max(a, b), min(a, b)
    return large + math.log1p(math.exp(small - large)) - math.log(2)

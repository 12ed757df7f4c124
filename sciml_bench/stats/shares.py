"""How dependable a solver is: right, honest about failing, or silently wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from sciml_bench.stats.centre import logs
from sciml_bench.stats.student import check_confidence, critical_t

# A share of counted cases, with its interval.


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
        ValueError: ``total`` is not positive, ``count`` is not within 0 … ``total``, or ``confidence`` is no share.
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


@dataclass(frozen=True)
class Stability:
    """Shares of the solves of one cell over the tolerance grid and the perturbed parameters; they add up to 1.

    ``right``: success reported, and the error is within bounds. ``honest``: a typed failure. ``silent``: success
    reported, and the error is far beyond the tolerance; the only one of the three that misleads.
    """

    right: Proportion
    honest: Proportion
    silent: Proportion


def stability(right: int, honest: int, silent: int, confidence: float = 0.95) -> Stability:
    """Shares with Wilson intervals (see :func:`sciml_bench.stats.shares.share`) from the three counts.

    Raises:
        ValueError: a count is negative, or all are 0.
    """
    if min(right, honest, silent) < 0:
        raise ValueError(f"counts must not be negative, got {right!r}, {honest!r}, {silent!r}")
    total = right + honest + silent
    return Stability(*(share(count, total, confidence) for count in (right, honest, silent)))


# How often the comparison rule speaks up, tried on measured processes: the statistics of a self-test.


@dataclass(frozen=True)
class Trials:
    """Of so many trials: ``significant`` had p below the level, ``winners`` also an estimate outside the band."""

    significant: Proportion
    winners: Proportion


def trials(
    base: Sequence[float],
    new: Sequence[float],
    n: int,
    count: int = 1000,
    seed: int = 0,
    level: float = 0.05,
    band: float = 0.05,
    swap: bool = False,
) -> Trials:
    """Draw n of the measured blocks without replacement, ``count`` times, and apply the paired t rule to each draw.

    ``base[i]`` and ``new[i]`` are per-process medians of block i. With ``swap`` the two sides of every drawn block are
    exchanged by the toss of a coin: right when both sides are the same cell, whose labels mean nothing, and then the
    share of significant trials is the rate of false positives on this machine's own noise (a randomisation
    distribution: Edgington & Onghena 2007, *Randomization Tests*, chapter 5). Without, it is the rate at which the
    difference between the sides is found.

    Draws from the same blocks overlap, so the shares' intervals cover the drawing of trials only, not the choice of
    the blocks: measure several times n blocks.

    Raises:
        ValueError: the sides differ in length, n is below 2 or above the number of blocks, ``count`` is below 1, or a
            time is not positive and finite.
    """
    if len(base) != len(new):
        raise ValueError(f"paired sides need a time each per block, got {len(base)} of base and {len(new)} of new")
    if not 2 <= n <= len(base):
        raise ValueError(f"a trial needs 2 to {len(base)} blocks, the number measured, got {n}")
    if count < 1:
        raise ValueError(f"there must be at least one trial, got {count}")
    differences = np.array(logs(new, "times of new")) - np.array(logs(base, "times of base"))
    random = np.random.default_rng(seed)
    drawn = random.permuted(np.tile(differences, (count, 1)), axis=1)[:, :n]
    if swap:
        drawn = drawn * random.choice((-1.0, 1.0), size=drawn.shape)
    means = np.abs(drawn.mean(axis=1))
    significant = means > critical_t(1 - level, n - 1) * drawn.std(axis=1, ddof=1) / math.sqrt(n)
    winners = significant & (means > math.log1p(band))
    return Trials(share(int(significant.sum()), count), share(int(winners.sum()), count))

"""The error rates of the comparison rule, on measured processes: the statistics of a self-test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sciml_bench.stats.log_means import logs
from sciml_bench.stats.proportion import Proportion, share
from sciml_bench.stats.student import critical_t


@dataclass(frozen=True)
class Trials:
    """Of ``n`` trials: ``significant`` had p below the level, ``winners`` also an estimate outside the band."""

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

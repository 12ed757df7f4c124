"""The check next to the t interval: resample in the order of the real sampling, blocks first, then iterations.

The interval needs no normal distribution, and it falls apart visibly where a few odd processes carry a result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciml_bench.stats.problem_resampling import FEWEST
from sciml_bench.stats.student import check_confidence, critical_t

# Equally likely representatives of the law of one block's resampled ratio.
_STRATA = 256
# Steps of sequences that cover the unit interval evenly, one for each random number behind a representative: no two
# of them are related by small whole numbers.
_STEPS = tuple(root % 1 for root in map(math.sqrt, (2, 3, 5, 7)))

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Check:
    """new / base with its bootstrap interval [low, high] over ``n`` block pairs."""

    estimate: float
    low: float
    high: float
    n: int
    resamples: int
    confidence: float = 0.95


def hierarchical_ratio(
    base: Sequence[Sequence[float]],
    new: Sequence[Sequence[float]],
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Check | None:
    """The geometric mean over blocks of new/base per-process medians, with a two-level bootstrap interval.

    ``base[i]`` and ``new[i]`` are the iterations of the two processes of one block; their numbers may differ. Each
    resample draws n blocks with replacement, then the iterations of each drawn process with replacement: at every
    level at which the experiment repeats (Kalibera & Jones 2013, "Rigorous benchmarking in reasonable time", and 2020,
    "Quantifying performance changes with effect size confidence intervals", arXiv 2007.10899).

    *Iterations.* A resampled median is an order statistic of ranks drawn at random, whose law is known exactly (Efron
    1979, "Bootstrap methods", Annals of Statistics 7, 1–26, §3). So no iterations are drawn: each block is replaced by
    256 equally likely values from the law of its resampled ratio, and one of them is drawn. This takes iterations as
    independent of each other. If neighbours are correlated their part is understated, but not the blocks' part, which
    decides.

    *Interval.* Percentiles, expanded so that for few blocks the level is right when log ratios are normal: the tail
    is Φ(−√(n/(n−1))·t) rather than α/2 (the expanded percentile interval of Hesterberg 2015, "What teachers should
    know about the bootstrap", The American Statistician 69, 371–386, arXiv 1411.5279). A plain percentile interval of
    5 blocks is wrong in 16 % of trials at a nominal 5 %, this one in 5 to 7 % with 5 to 10 blocks and in 4 to 5 % with
    20 (two-level noise, 2000 trials each). Below 5 there is no interval: ``None``.

    The seed fixes the draws, so the same samples give the same interval.

    Raises:
        ValueError: the sides differ in their number of blocks, a process has no iterations or one that is not
            positive and finite, or there are fewer than 1000 resamples, too few for a tail.
    """
    check_confidence(confidence)
    if len(base) != len(new):
        raise ValueError(f"paired sides need a process each per block, got {len(base)} of base and {len(new)} of new")
    if resamples < 1000:
        raise ValueError(f"an interval needs at least 1000 resamples, got {resamples}")
    of_base, of_new = ([_ordered(process, side) for process in of] for of, side in ((base, "base"), (new, "new")))
    n = len(base)
    if n < FEWEST:
        return None
    pairs = list(zip(of_base, of_new, strict=True))
    table = np.concatenate([_resampled_medians(b, 1) / _resampled_medians(a, 0) for a, b in pairs])
    # All places are within the table; not to check them saves a quarter of the time.
    means = np.sort(np.log(table).take(_draws(n, resamples, seed), mode="clip").sum(axis=0) / n)
    tail = NormalDist().cdf(-math.sqrt(n / (n - 1)) * critical_t(confidence, n - 1))
    low, high = (math.exp(_quantile(means, share)) for share in (tail, 1 - tail))
    mean = math.fsum(math.log(_median(b)) - math.log(_median(a)) for a, b in pairs) / n
    return Check(math.exp(mean), low, high, n, resamples, confidence)


def _ordered(process: Sequence[float], side: str) -> Floats:
    times = np.array(process, dtype=np.float64)
    if not times.size:
        raise ValueError(f"a process of the {side} side has no iterations")
    times.sort()
    # NaN comes last.
    first, last = times.item(0), times.item(-1)
    if not (first > 0 and math.isfinite(last)):
        raise ValueError(f"a ratio needs positive finite times, the {side} side has {first!r} to {last!r}")
    return times


def _quantile(ordered: Floats, share: float) -> float:
    """Linear between order statistics; numpy's own takes longer than all the rest of an interval."""
    place = share * (ordered.size - 1)
    below = int(place)
    left, right = ordered[below : below + 2].tolist()
    return left + (place - below) * (right - left)


def _median(ordered: Floats) -> float:
    middle = ordered.size // 2
    return (ordered.item(middle) + ordered.item(-middle - 1)) / 2


def _resampled_medians(times: Floats, side: int) -> Floats:
    """Equally likely medians (shape: strata) of a process, its ordered iterations, when they are drawn again."""
    lower, upper = _median_ranks(times.size, side)
    return times.take(lower) if lower is upper else (times.take(lower) + times.take(upper)) / 2


@lru_cache(maxsize=1024)
def _median_ranks(count: int, side: int) -> tuple[Indices, Indices]:
    """The ranks of the two middle values of ``count`` ranks drawn with replacement (the same twice, if odd).

    The k-th smallest of ``count`` uniform numbers has the distribution Beta(k, count + 1 − k); given it, the next one
    is the smallest of those above. The two sides (0 and 1) of a block are drawn independently.
    """
    special: Any = import_module("scipy.special")
    first, second = (np.arange(1, _STRATA + 1) * step % 1 for step in _STEPS[2 * side : 2 * side + 2])
    k = (count + 1) // 2
    lower: Floats = special.betaincinv(k, count + 1 - k, first)
    ranks = _rank(lower, count)
    return ranks, ranks if count % 2 else _rank(1 - (1 - lower) * second ** (1 / (count - k)), count)


def _rank(uniform: Floats, count: int) -> Indices:
    # A number that rounds to 1 would be the rank behind the last.
    return np.minimum((uniform * count).astype(np.intp), count - 1)


@lru_cache(maxsize=8)
def _draws(n: int, resamples: int, seed: int) -> Indices:
    """The reads of resamples in the table of n × strata values (n × resamples): a block each, a stratum of it each."""
    random = np.random.default_rng(seed)
    blocks, strata = random.integers((n, _STRATA), size=(n, resamples, 2), dtype=np.intp).transpose(2, 0, 1)
    return blocks * _STRATA + strata

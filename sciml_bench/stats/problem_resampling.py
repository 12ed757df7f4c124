"""Problems drawn again: how far a mean over the problems of a run would move with other ones like these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from statistics import NormalDist
from typing import Any

from sciml_bench.stats.log_means import logs
from sciml_bench.stats.student import check_confidence, critical_t

FEWEST = 5
"""Resampling needs this many problems."""

_RESAMPLES = 10_000


def resampled_mean(ratios: Sequence[float], confidence: float = 0.95, seed: int = 0) -> tuple[float, float] | None:
    """The interval of the geometric mean when problems are drawn again, with replacement; ``None`` for fewer than 5.

    Percentiles, expanded for few problems (Hesterberg 2015, "What teachers should know about the bootstrap", The
    American Statistician 69, 371–386). The seed fixes the draws.

    Raises:
        ValueError: a ratio is not positive and finite.
    """
    check_confidence(confidence)
    known = logs(ratios, "the ratios of problems")
    n = len(known)
    if n < FEWEST:
        return None
    numpy: Any = import_module("numpy")
    means = numpy.array(known)[_problem_draws(n, seed)].mean(axis=1)
    tail = NormalDist().cdf(-math.sqrt(n / (n - 1)) * critical_t(confidence, n - 1))
    low, high = numpy.quantile(means, [tail, 1 - tail]).tolist()
    return math.exp(low), math.exp(high)


@lru_cache(maxsize=8)
def _problem_draws(n: int, seed: int) -> Any:
    """The problems that each resample draws (resamples × n). NumPy is imported only if something is resampled."""
    numpy: Any = import_module("numpy")
    return numpy.random.default_rng(seed).integers(n, size=(_RESAMPLES, n))

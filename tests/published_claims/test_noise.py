"""More noise never makes a claim look better: simulated through the rule as it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from sciml_bench.published_claims.claim import AT_LEAST, Figure
from sciml_bench.published_claims.ruling import Ruling, rule
from sciml_bench.stats.ratio import paired_ratio
from sciml_bench.stats.verdict import judge

NOISES = (0.02, 0.1, 0.25, 0.5)
REPEATS = 1500
TEN = Figure("ten times", "solve", 10.0)
LEAST = Figure("more than ten times", "solve", 10.0, kind=AT_LEAST)


def rulings(figure: Figure, true: float, sd: float, n: int) -> Counter[Ruling]:
    """How often each ruling comes out where a true ratio is measured in n pairs whose logs differ by sd."""
    random = np.random.default_rng([n, int(1000 * sd), int(1000 * true)])
    found: Counter[Ruling] = Counter()
    for logs in random.normal(np.log(true), sd, (REPEATS, n)):
        slow: Sequence[float] = np.exp(logs).tolist()
        found[rule(figure, judge({"": paired_ratio([1.0] * n, slow)})[""]).ruling] += 1
    return found


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("true", [3.0, 6.0, 16.0, 40.0])
def test_what_is_not_so_is_rarely_confirmed_at_any_noise(n: int, true: float):
    for sd in NOISES:
        # 2.5 % is the error of one end of a 95 % interval; 3.7 % is three standard errors above it.
        assert rulings(TEN, true, sd, n)[Ruling.CONFIRMED] / REPEATS < 0.037, sd


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("true", [10.0, 8.0, 7.0])
def test_what_is_so_is_confirmed_less_often_with_more_noise(n: int, true: float):
    shares = [rulings(TEN, true, sd, n)[Ruling.CONFIRMED] / REPEATS for sd in NOISES]
    # Five blocks of a single claim hardly show whether neighbours are correlated: their interval is wide.
    assert shares[0] > (0.2 if n == 5 else 0.5)
    assert all(noisier <= quieter + 0.02 for quieter, noisier in pairwise(shares)), shares
    assert shares[-1] < shares[0] / 2


def test_the_earlier_rule_would_fail_here():
    """It held wherever the interval's upper end reached the claimed ratio: half of the claim was enough, with noise."""
    random = np.random.default_rng(1)
    held = sum(
        paired_ratio([1.0] * 3, np.exp(logs).tolist()).high >= 10.0
        for logs in random.normal(np.log(6.0), 0.25, (REPEATS, 3))
    )
    assert held / REPEATS > 0.3
    assert rulings(TEN, 6.0, 0.25, 3)[Ruling.CONFIRMED] / REPEATS < 0.037


@pytest.mark.parametrize("n", [3, 10])
def test_a_lower_bound_is_not_reached_by_noise(n: int):
    for sd in NOISES:
        assert rulings(LEAST, 6.0, sd, n)[Ruling.CONFIRMED] / REPEATS < 0.037, sd


@pytest.mark.parametrize("n", [3, 5, 10])
def test_a_winner_is_rarely_turned_round_by_noise(n: int):
    for sd in NOISES:
        assert rulings(TEN, 1.1, sd, n)[Ruling.REVERSED] / REPEATS < 0.037, sd

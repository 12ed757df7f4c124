"""The statistics of the self-test."""

from __future__ import annotations

import math

import numpy as np
import pytest
from stats.noise import process_medians

from sciml_bench.stats.error_rates import trials
from sciml_bench.stats.ratio import paired_ratio

RANDOM = np.random.default_rng(12)
BASE, SAME = (process_medians(RANDOM, 1, 40)[0].tolist() for _ in range(2))


def test_false_positives_on_measured_noise_stay_at_the_level():
    result = trials(BASE, SAME, n=10, count=4000, swap=True)
    assert 0.03 < result.significant.share < 0.07
    assert result.winners.share < 0.02, "few of them are outside the band"
    assert result.significant.total == 4000


def test_exchanged_labels_forgive_a_block_that_favours_one_side():
    """What the first of two workers gains is no difference between the cells, and the coin knows that."""
    favoured = [time * 1.03 for time in SAME]
    assert trials(BASE, favoured, n=10, swap=False).significant.share > 0.5
    assert trials(BASE, favoured, n=10, swap=True).significant.share < 0.08
    doubled = [time * 2 for time in SAME]
    assert trials(BASE, doubled, n=30, swap=True).significant.share < 0.08, "neither label weighs more"


def test_an_injected_slow_down_is_found():
    slowed = [time * 1.10 for time in SAME]
    result = trials(BASE, slowed, n=10)
    assert result.significant.share > 0.99
    assert result.winners.share > 0.95


def test_it_is_the_paired_rule():
    """All blocks in every trial: each is the same single comparison."""
    slowed = [time * 1.02 for time in SAME]
    result = trials(BASE, slowed, n=40, count=7)
    assert result.significant.count == 7 * (paired_ratio(BASE, slowed).p < 0.05)
    result = trials(BASE, SAME, n=40, count=7)
    assert result.significant.count == 7 * (paired_ratio(BASE, SAME).p < 0.05)


def test_a_seed_fixes_the_draws():
    assert trials(BASE, SAME, 5, seed=1) == trials(BASE, SAME, 5, seed=1)
    assert trials(BASE, SAME, 5, seed=1) != trials(BASE, SAME, 5, seed=2)


@pytest.mark.parametrize(
    ("base", "new", "n", "count", "message"),
    [
        ([1.0, 1.0], [1.0], 2, 10, "got 2 of base and 1 of new"),
        ([1.0, 1.0], [1.0, 1.0], 1, 10, "2 to 2 blocks"),
        ([1.0, 1.0], [1.0, 1.0], 3, 10, "2 to 2 blocks"),
        ([1.0, 1.0], [1.0, 1.0], 2, 0, "at least one trial"),
        ([1.0, 0.0], [1.0, 1.0], 2, 10, "times of base"),
        ([1.0, 1.0], [1.0, math.nan], 2, 10, "times of new"),
    ],
)
def test_what_cannot_be_tried(base, new, n, count, message):
    with pytest.raises(ValueError, match=message):
        trials(base, new, n, count)

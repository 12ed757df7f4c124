"""The interval of a median over processes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stats.noise import process_medians

from sciml_bench.stats.location import median_interval

processes = st.lists(st.floats(min_value=1e-9, max_value=1e9), min_size=1, max_size=14)


def test_ten_processes_have_a_distribution_free_interval():
    """The ranks 2 and 9 of 10 hold the median with 97.9 % (every table of the sign test)."""
    assert median_interval([5, 1, 2, 3, 4, 6, 7, 8, 9, 100]) == (2, 9)


@pytest.mark.parametrize(("n", "rank"), [(6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (20, 6), (30, 10), (2000, 956)])
def test_the_ranks_are_those_of_the_tables(n, rank):
    assert median_interval(range(1, n + 1)) == (rank, n + 1 - rank)


def test_few_processes_have_an_interval_of_logs():
    low, high = median_interval([1.0, 1.0, math.e**3])
    assert math.log(low) == pytest.approx(1 - 4.302653)
    assert math.log(high) == pytest.approx(1 + 4.302653)


@pytest.mark.parametrize("times", [[], [3.0], [0.0, 1.0]], ids=["none", "one", "a clock that shows nothing"])
def test_too_little_has_no_interval(times):
    assert median_interval(times) == (0, math.inf)


@settings(max_examples=50)
@given(processes, st.randoms(use_true_random=False), st.sampled_from([2.0**-20, 4.0, 2.0**25]))
def test_it_holds_the_median_and_neither_order_nor_unit_matter(measured, random, factor):
    low, high = median_interval(measured)
    assert low * (1 - 1e-9) <= np.median(measured) <= high * (1 + 1e-9)
    shuffled = random.sample(measured, len(measured))
    assert median_interval(factor * time for time in shuffled) == pytest.approx((factor * low, factor * high))


@pytest.mark.parametrize("n", [3, 5, 6, 10, 15])
def test_the_interval_holds_the_true_median(n):
    """At least 95 % at every n, less three standard errors of the simulation."""
    truth = float(np.median(process_medians(np.random.default_rng(0), 1, 20000)))
    intervals = [median_interval(row) for row in process_medians(np.random.default_rng(n), 1500, n)]
    held = np.mean([low <= truth <= high for low, high in intervals])
    assert held > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 1500)

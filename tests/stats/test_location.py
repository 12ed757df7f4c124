"""What a table prints of one cell."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stats.noise import process_medians

from sciml_bench.stats.location import Method, centre
from sciml_bench.stats.spread import Iterations, iterations

durations = st.floats(min_value=1e-9, max_value=1e9)
processes = st.lists(st.lists(durations, min_size=1, max_size=6).map(iterations), min_size=1, max_size=14)


def of_medians(medians):
    return centre(Iterations(1, float(value), None) for value in medians)


def test_ten_processes_have_a_distribution_free_interval():
    """The ranks 2 and 9 of 10 hold the median with 97.9 % (every table of the sign test)."""
    result = of_medians([5, 1, 2, 3, 4, 6, 7, 8, 9, 100])
    assert result is not None
    assert (result.n, result.median, result.low, result.high) == (10, 5.5, 2, 9)
    assert (result.minimum, result.maximum, result.method) == (1, 100, Method.ORDER)


@pytest.mark.parametrize(("n", "rank"), [(6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (20, 6), (30, 10), (2000, 956)])
def test_the_ranks_are_those_of_the_tables(n, rank):
    result = of_medians(range(1, n + 1))
    assert result is not None
    assert (result.low, result.high) == (rank, n + 1 - rank)


def test_few_processes_have_an_interval_of_logs():
    result = of_medians([1.0, 1.0, math.e**3])
    assert result is not None
    half = 4.302653 * math.sqrt(3) / math.sqrt(3)
    assert math.log(result.low) == pytest.approx(1 - half)
    assert math.log(result.high) == pytest.approx(1 + half)
    assert result.method is Method.T


def test_one_process_has_no_interval():
    result = centre([iterations([2.0, 3.0, 4.0]), None])
    assert result is not None
    assert (result.n, result.median, result.low, result.high, result.method) == (1, 3, 0, math.inf, Method.NONE)
    assert result.variation_between is None
    assert result.variation_within == pytest.approx(1 / 3)


def test_a_clock_that_shows_nothing_gives_no_interval():
    result = of_medians([0.0, 1.0])
    assert result is not None
    assert result.method is Method.NONE
    assert result.high == math.inf


def test_no_process_no_centre():
    assert centre([None, None]) is None
    assert centre([]) is None


def test_variation_is_told_apart():
    """Processes that differ, each steady, against processes alike, each restless."""
    between = centre([iterations([1.0, 1.0]), iterations([2.0, 2.0])])
    within = centre([iterations([1.0, 2.0]), iterations([2.0, 1.0])])
    assert between is not None
    assert within is not None
    assert (between.variation_within, within.variation_between) == (0, 0)
    assert between.variation_between == within.variation_within == pytest.approx(math.sqrt(2) / 3)


def test_a_longer_process_says_more_of_the_variation_within():
    result = centre([Iterations(2, 1.0, 0.0), Iterations(10, 1.0, 0.2)])
    assert result is not None
    assert result.variation_within == pytest.approx(math.sqrt(9 * 0.04 / 10))


@settings(max_examples=50)
@given(processes)
def test_everything_is_in_order(measured):
    result = centre(measured)
    assert result is not None
    assert result.minimum <= result.median <= result.maximum
    assert result.low * (1 - 1e-9) <= result.median <= result.high * (1 + 1e-9)
    assert result.n == len(measured)


@settings(max_examples=50)
@given(processes, st.randoms(use_true_random=False), st.sampled_from([2.0**-20, 4.0, 2.0**25]))
def test_neither_order_nor_unit_matter(measured, random, factor):
    shuffled = random.sample(measured, len(measured))
    scaled = [Iterations(each.count, each.median * factor, each.variation) for each in shuffled]
    one, other = centre(measured), centre(scaled)
    assert one is not None
    assert other is not None
    assert (other.median, other.minimum, other.maximum) == (
        one.median * factor,
        one.minimum * factor,
        one.maximum * factor,
    )
    assert other.low == pytest.approx(one.low * factor)
    assert other.high == pytest.approx(one.high * factor)
    assert other.variation_between == pytest.approx(one.variation_between, abs=1e-12)
    assert other.variation_within == pytest.approx(one.variation_within)


@pytest.mark.parametrize("n", [3, 5, 6, 10, 15])
def test_the_interval_holds_the_true_median(n):
    """At least 95 % at every n, less three standard errors of the simulation."""
    medians = process_medians(np.random.default_rng(n), 1500, n)
    truth = float(np.median(process_medians(np.random.default_rng(0), 1, 20000)))
    results = [of_medians(row) for row in medians]
    held = np.mean([result is not None and result.low <= truth <= result.high for result in results])
    assert held > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 1500)

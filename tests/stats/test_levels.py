"""Variance components, and the plans that follow from them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from stats.noise import process_medians, times

from sciml_bench.stats.levels import (
    Components,
    components,
    half_width,
    optimal_repeats,
    power_of,
    processes_for,
    smallest_change,
)
from sciml_bench.stats.ratio import paired_ratio

spreads = st.floats(1e-3, 1.0)


def test_a_pilot_finds_where_the_noise_is():
    pilot = times(np.random.default_rng(1), 1, 400, 10, disturbed=0.0)[0]
    result = components(pilot.tolist())
    assert result.sd_between == pytest.approx(0.02, rel=0.1)
    assert result.sd_within == pytest.approx(0.01, rel=0.05)
    assert (result.processes, result.iterations) == (400, 4000)


def test_with_equal_iterations_it_is_kalibera_and_jones():
    """T₂² = S₂² − S₁²/r₁: the variance of the means less that which their iterations explain."""
    pilot = times(np.random.default_rng(2), 1, 6, 8)[0]
    logs = np.log(pilot)
    within = logs.var(axis=1, ddof=1).mean()
    result = components(pilot.tolist())
    assert result.within == pytest.approx(within)
    assert result.between == pytest.approx(logs.mean(axis=1).var(ddof=1) - within / 8)


def test_unequal_iterations_are_weighed():
    """Unbiased over many ragged pilots."""
    random = np.random.default_rng(3)
    found = []
    for _ in range(400):
        pilot = times(random, 1, 8, 24, disturbed=0.0)[0]
        found.append(components([row[: 3 + 3 * k].tolist() for k, row in enumerate(pilot)]))
    assert np.mean([each.between for each in found]) == pytest.approx(0.02**2, rel=0.1)
    assert np.mean([each.within for each in found]) == pytest.approx(0.01**2, rel=0.05)


def test_processes_that_do_not_differ_have_no_variance_of_their_own():
    assert components([[1.0, 2.0], [2.0, 1.0]]).between == 0


@pytest.mark.parametrize(
    ("pilot", "message"),
    [
        ([[1.0, 2.0]], "at least two"),
        ([[1.0], [2.0]], "at least two iterations"),
        ([[1.0, 2.0], []], "no iterations"),
        ([[1.0, 0.0], [1.0]], "positive"),
    ],
)
def test_what_is_no_pilot(pilot, message):
    with pytest.raises(ValueError, match=message):
        components(pilot)


def test_repeats_follow_cost_and_variance():
    """A process that costs 100 iterations, with a quarter of their variance: 20 iterations each."""
    assert optimal_repeats((4.0, 1.0), (0.1, 10.0)) == (20.0,)
    assert optimal_repeats((1.0, 100.0), (1.0, 1.0)) == (1.0,), "never less than once"
    assert optimal_repeats((1.0, 0.0), (1.0, 5.0)) == (math.inf,)
    assert optimal_repeats((0.0, 1.0), (1.0, 5.0)) == (1.0,)
    assert optimal_repeats((4.0, 1.0, 4.0), (1.0, 9.0, 144.0)) == (6.0, 2.0)


def test_the_optimum_is_one():
    """For a fixed time budget no other number of iterations gives a smaller error."""
    found, iteration_s, process_s = Components(0.02**2, 0.05**2, 5, 50), 0.2, 7.0
    (most,) = optimal_repeats((found.within, found.between), (iteration_s, process_s))

    def variance(iterations):
        return (found.between + found.within / iterations) * (process_s + iterations * iteration_s)

    assert all(variance(most) <= variance(most * factor) for factor in (0.5, 0.9, 1.1, 2))


@pytest.mark.parametrize(
    ("variances", "costs"),
    [((1.0,), (1.0,)), ((1.0, 1.0), (1.0,)), ((-1.0, 1.0), (1.0, 1.0)), ((1.0, 1.0), (0.0, 1.0))],
)
def test_what_are_no_levels(variances, costs):
    with pytest.raises(ValueError, match="variance"):
        optimal_repeats(variances, costs)


def test_the_half_width_of_a_plan_comes_true():
    found = Components(0.02**2, 0.01**2, 5, 50)
    promised = half_width(found, 10, 20)
    logs = np.log(times(np.random.default_rng(5), 500, 10, 20, disturbed=0.0)).mean(axis=2)
    seen = scipy_stats.t.ppf(0.975, 9) * logs.std(axis=1, ddof=1) / math.sqrt(10)
    assert promised == pytest.approx(np.sqrt(np.mean(seen**2)), rel=0.05)
    assert half_width(found, 1, 100) == math.inf
    assert half_width(found, 20, 20) < half_width(found, 10, 20) < half_width(found, 10, 5)
    with pytest.raises(ValueError, match="at least one"):
        half_width(found, 0, 5)


@pytest.mark.parametrize("n", [3, 5, 10])
def test_power_is_what_a_simulation_finds(n):
    random = np.random.default_rng(6)
    base, new = process_medians(random, 1500, n), process_medians(random, 1500, n) * 1.04
    sd_log = math.sqrt(2) * float(np.log(process_medians(random, 1, 20_000)).std())
    found = np.mean([paired_ratio(a, b).p < 0.05 for a, b in zip(base.tolist(), new.tolist(), strict=True)])
    assert power_of(0.04, sd_log, n) == pytest.approx(found, abs=3 * 0.5 / math.sqrt(1500))


@pytest.mark.parametrize("n", [2, 3, 5, 10, 30, 1000])
@pytest.mark.parametrize("shift", [0.0, 0.5, 2.0, 4.0])
def test_power_is_that_of_the_noncentral_t(n, shift):
    edge = scipy_stats.t.ppf(0.975, n - 1)
    expected = scipy_stats.nct.sf(edge, n - 1, shift) + scipy_stats.nct.cdf(-edge, n - 1, shift)
    assert power_of(math.expm1(shift * 0.1 / math.sqrt(n)), 0.1, n) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=40)
@given(spreads, st.integers(2, 100), st.floats(0.3, 0.99))
def test_the_smallest_change_is_found_with_the_power_asked_for(sd_log, n, power):
    assert power_of(smallest_change(sd_log, n, power), sd_log, n) == pytest.approx(power, abs=1e-6)


@settings(max_examples=40)
@given(st.floats(0.005, 1), spreads)
def test_so_many_processes_are_enough_and_one_fewer_is_not(change, sd_log):
    n = processes_for(change, sd_log)
    assert smallest_change(sd_log, n) <= change * (1 + 1e-6)
    assert n == 2 or smallest_change(sd_log, n - 1) > change * (1 - 1e-6)


def test_faster_is_as_hard_to_find_as_slower():
    assert processes_for(1 / 1.05 - 1, 0.03) == processes_for(0.05, 0.03)
    assert power_of(0.0, 0.03, 10) == pytest.approx(0.05), "no change is found at the level"


def test_the_ends():
    assert smallest_change(0.02, 1) == math.inf
    assert power_of(0.05, 0.02, 1) == 0
    assert power_of(1e6, 1e-3, 30) == 1
    assert processes_for(1.0, 1e-4) == 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: smallest_change(0.0, 5),
        lambda: smallest_change(math.nan, 5),
        lambda: smallest_change(0.1, 5, power=1.0),
        lambda: smallest_change(0.1, 5, power=0.04),
        lambda: processes_for(0.0, 0.1),
        lambda: processes_for(-1.0, 0.1),
        lambda: processes_for(1e-9, 0.1),
        lambda: power_of(-2.0, 0.1, 5),
        lambda: power_of(0.1, -0.1, 5),
    ],
)
def test_what_is_no_design(call):
    with pytest.raises(ValueError, match=r"change|spread|power"):
        call()

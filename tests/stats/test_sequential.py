"""Evidence that may be looked at after every block."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from sciml_bench.stats.sequential import ALONE, SCATTER, _known, _unknown, interval, log_evidence

logs = st.lists(st.floats(-2, 2), min_size=2, max_size=12)


def test_without_blocks_there_is_no_evidence():
    assert log_evidence([]) == 0.0
    assert interval([], 0.05) == interval([1.0], 0.05) == (-math.inf, math.inf)


def test_two_blocks_are_evidence_whatever_the_scatter():
    assert _unknown([0.7]) == 0.0
    assert _unknown([0.7, 0.7]) > 0.0
    assert _unknown([0.7, -0.7]) < 0.0


@given(logs)
def test_it_takes_no_side(differences):
    assert log_evidence(differences) == pytest.approx(log_evidence([-value for value in differences]), abs=1e-9)


@given(logs, st.floats(1e-3, 0.5))
def test_what_lies_outside_the_interval_has_evidence_against_it(differences, error):
    low, high = interval(differences, error)
    mean = math.fsum(differences) / len(differences)
    assert low <= mean <= high
    for edge, sign in ((low, -1), (high, 1)):
        if math.isfinite(edge):
            outside = edge + sign * 1e-6 * max(1.0, abs(edge))
            assert log_evidence([value - outside for value in differences]) >= -math.log(error) - 1e-3


def test_an_error_rate_is_a_probability():
    for error in (0.0, 1.0, -0.1, math.nan):
        with pytest.raises(ValueError, match="between 0 and 1"):
            interval([0.1, 0.2], error)


def test_the_mixture_of_t_is_the_integral_it_stands_for():
    """Against the normal prior on the difference in units of the scatter, integrated numerically with the scatter's
    right Haar prior: the density of t given the difference is that of the noncentral t."""
    values = [0.11, 0.19, 0.07, 0.22]
    n = len(values)
    t = np.mean(values) / (np.std(values, ddof=1) / math.sqrt(n))

    def weighted(effect: float) -> float:
        return float(stats.nct.pdf(t, n - 1, math.sqrt(n) * effect) * stats.norm.pdf(effect, scale=math.sqrt(10)))

    mixed = integrate.quad(weighted, -25, 25, limit=500, points=[0, 1, 2])[0]
    assert _unknown(values) == pytest.approx(math.log(mixed / stats.t.pdf(t, n - 1)), abs=1e-4)


def test_the_known_scatter_is_the_integral_it_stands_for():
    """The block that speaks most is left out: three of four are used."""
    values = [0.5, 0.6, 0.4, 9.0]
    sd = max(SCATTER, 2 * float(np.std(values, ddof=1)))
    used = 1.5

    def weighted(mean: float) -> float:
        likelihood = math.exp((2 * used * mean - 3 * mean**2) / (2 * sd**2))
        return likelihood * float(stats.norm.pdf(mean, scale=sd * math.sqrt(10)))

    assert _known(values) == pytest.approx(math.log(integrate.quad(weighted, -400, 400, points=[0.5], limit=500)[0]))


def test_one_block_is_evidence_only_of_a_large_factor():
    assert log_evidence([math.log(0.99 * ALONE)]) < 0
    assert log_evidence([math.log(1.01 * ALONE)]) > math.log(1000)


def test_a_single_block_that_was_held_up_proves_nothing():
    for n in range(2, 12):
        values = [0.02 * (-1) ** place for place in range(n)]
        values[n // 2] = math.log(50)
        assert log_evidence(values) < math.log(20), n


@pytest.mark.parametrize("scatter", [0.01, 0.05, 0.1, 0.2, 0.3])
def test_looking_after_every_block_errs_as_rarely_as_promised(scatter):
    """Without a difference evidence reaches 1/α within 40 blocks in at most a share α of trials; the same looks with
    Student's t at 5 % err in more than 20 %."""
    random, trials, error = np.random.default_rng(1), 400, 0.05
    wrong = naive = 0
    critical = [math.inf, *(stats.t.ppf(0.975, n) for n in range(1, 40))]
    for _ in range(trials):
        values = list(random.normal(scale=scatter, size=40))
        wrong += any(log_evidence(values[:n]) >= -math.log(error) for n in range(1, 41))
        naive += any(
            abs(np.mean(values[:n])) > critical[n - 1] * np.std(values[:n], ddof=1) / math.sqrt(n) for n in range(2, 41)
        )
    assert wrong <= error * trials
    assert naive > 0.2 * trials


def test_a_factor_of_two_is_told_within_six_blocks():
    random = np.random.default_rng(2)
    needed = []
    for _ in range(100):
        values = list(math.log(2) + random.normal(scale=0.07, size=20))
        needed.append(next(n for n in range(1, 21) if log_evidence(values[:n]) >= math.log(20 * 100)))
    assert max(needed) <= 7
    assert np.median(needed) <= 6

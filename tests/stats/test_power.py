"""What a number of processes can find."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from stats.noise import process_medians

from sciml_bench.stats.power import processes_for, smallest_change, smallest_named
from sciml_bench.stats.ratio import paired_ratio
from sciml_bench.stats.verdict import Verdict, judge

spreads = st.floats(1e-3, 1.0)


def power_of(change: float, sd_log: float, n: int, level: float = 0.05) -> float:
    """The power of the two-sided t test, from SciPy's noncentral t."""
    edge, shift = scipy_stats.t.ppf(1 - level / 2, n - 1), math.log1p(change) * math.sqrt(n) / sd_log
    return float(scipy_stats.nct.sf(edge, n - 1, shift) + scipy_stats.nct.sf(edge, n - 1, -shift))


@pytest.mark.parametrize("n", [3, 5, 10])
def test_a_simulation_finds_the_smallest_change_as_often_as_promised(n):
    random = np.random.default_rng(6)
    sd_log = math.sqrt(2) * float(np.log(process_medians(random, 1, 20_000)).std())
    change = smallest_change(sd_log, n, power=0.5)
    base, new = process_medians(random, 1500, n), process_medians(random, 1500, n) * (1 + change)
    found = np.mean([paired_ratio(a, b).p < 0.05 for a, b in zip(base.tolist(), new.tolist(), strict=True)])
    assert found == pytest.approx(0.5, abs=3 * 0.5 / math.sqrt(1500))


@pytest.mark.parametrize("n", [2, 3, 5, 10, 30, 1000])
@pytest.mark.parametrize("power", [0.06, 0.3, 0.8, 0.99])
def test_power_is_that_of_the_noncentral_t(n, power):
    assert power_of(smallest_change(0.01, n, power), 0.01, n) == pytest.approx(power, abs=1e-6)


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


def test_the_ends():
    assert smallest_change(0.02, 1) == math.inf
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
        lambda: processes_for(-2.0, 0.1),
        lambda: processes_for(0.1, -0.1),
    ],
)
def test_what_is_no_design(call):
    with pytest.raises(ValueError, match=r"change|spread|power"):
        call()


@pytest.mark.parametrize(("sd_log", "n"), [(0.02, 10), (0.1, 10), (0.3, 10), (0.06, 30)])
def test_the_smallest_named_change_is_named_by_verdicts_as_often_as_promised(sd_log: float, n: int):
    """Among many cells, whose blocks are known to be independent, four verdicts of five call it slower."""
    random = np.random.default_rng(1)
    slow = math.log1p(smallest_named(sd_log, n))
    named, trials = 0, 200
    for _ in range(trials):
        family = {"slow": paired_ratio([1.0] * n, np.exp(random.normal(slow, sd_log, n)).tolist())}
        others = {i: paired_ratio([1.0] * n, np.exp(random.normal(3.0, sd_log, n)).tolist()) for i in range(60)}
        named += judge({**family, **others})["slow"].verdict is Verdict.SLOWER
    assert 0.55 < named / trials < 0.92


def test_few_processes_name_a_factor_of_two_at_least():
    assert smallest_named(0.02, 1) == math.inf
    assert smallest_named(0.02, 4) == 1.0
    assert smallest_named(2.0, 4) > 1.0
    assert smallest_named(1e-6, 10) == pytest.approx(0.05, abs=1e-5), "the edge of the band"

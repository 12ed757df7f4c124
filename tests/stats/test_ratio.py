"""Ratios of per-process medians, paired by block or not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from sciml_bench.stats.ratio import Pairs, Ratio, pair, paired_ratio, unpaired_ratio

durations = st.floats(min_value=1e-6, max_value=1e6)
sides = st.lists(st.tuples(durations, durations), min_size=2, max_size=12)
rules = pytest.mark.parametrize("rule", [paired_ratio, unpaired_ratio])
factors = st.floats(min_value=1e-6, max_value=1e6)


def near(one: Ratio, other: Ratio) -> bool:
    pairs = [(one.estimate, other.estimate), (one.low, other.low), (one.high, other.high)]
    same_size = all(math.isclose(a, b, rel_tol=1e-6) for a, b in pairs)
    return same_size and math.isclose(one.p, other.p, rel_tol=1e-4, abs_tol=1e-9)


def spread_out(pairs) -> bool:
    """Rounding decides about spreads of nothing but rounding."""
    base, new = map(np.log, zip(*pairs, strict=True))
    return bool(min(np.std(new - base), np.std(base), np.std(new)) > 1e-6)


def test_paired_is_the_paired_t_test_of_logs():
    base, new = [1.0, 1.1, 0.9, 1.3, 1.05], [1.2, 1.1, 1.1, 1.5, 1.3]
    result = paired_ratio(base, new)
    expected: Any = scipy_stats.ttest_rel(np.log(new), np.log(base))
    interval = np.exp(expected.confidence_interval(0.95))
    assert result.p == pytest.approx(expected.pvalue)
    assert (result.low, result.high) == (pytest.approx(interval[0]), pytest.approx(interval[1]))
    assert result.estimate == pytest.approx(scipy_stats.gmean(np.array(new) / np.array(base)))
    assert result.sd_log == pytest.approx(np.std(np.log(new) - np.log(base), ddof=1))
    assert (result.n, result.df) == (5, 4)


def test_unpaired_is_welchs_test_of_logs():
    base, new = [1.0, 1.1, 0.9, 1.3, 1.05, 1.0], [1.2, 1.1, 1.9, 1.5]
    result = unpaired_ratio(base, new)
    expected: Any = scipy_stats.ttest_ind(np.log(new), np.log(base), equal_var=False)
    interval = np.exp(expected.confidence_interval(0.95))
    assert result.p == pytest.approx(expected.pvalue)
    assert (result.low, result.high) == (pytest.approx(interval[0]), pytest.approx(interval[1]))
    assert result.df == pytest.approx(expected.df)
    assert result.n == 4


@rules
def test_one_process_is_never_significant(rule):
    result = rule([1.0], [1000.0])
    assert result == Ratio(result.estimate, 0.0, math.inf, 1.0, 1)
    assert result.estimate == pytest.approx(1000)
    assert result.inverse.low == 0
    assert result.inverse.high == math.inf


def test_a_side_with_one_process_is_never_significant():
    assert unpaired_ratio([1.0], [5.0, 5.1, 5.2]).p == 1
    assert unpaired_ratio([5.0, 5.1, 5.2], [1.0]).low == 0


@rules
def test_a_side_against_itself(rule):
    result = rule([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert result.estimate == 1
    assert result.p == 1
    assert result.low <= 1 <= result.high


def test_no_spread_is_the_limit_of_little_spread():
    exact, close = paired_ratio([1.0, 1.0, 1.0], [2.0, 2.0, 2.0]), paired_ratio([1.0] * 3, [2.0, 2.0, 2.0 + 1e-12])
    assert (exact.p, exact.low, exact.high) == (0, exact.estimate, exact.estimate)
    assert close.p < 1e-10
    assert near(exact, close)
    assert unpaired_ratio([1.0, 1.0], [1.0, 1.0]).p == 1
    assert unpaired_ratio([1.0, 1.0], [2.0, 2.0]).p == 0


@rules
@settings(max_examples=50)
@given(pairs=sides)
def test_exchanging_the_sides_inverts_the_ratio(rule, pairs):
    base, new = map(list, zip(*pairs, strict=True))
    assert near(rule(base, new), rule(new, base).inverse)


@rules
@settings(max_examples=50)
@given(pairs=sides, factor=factors)
def test_scaling_both_sides_changes_nothing(rule, pairs, factor):
    assume(spread_out(pairs))
    base, new = map(list, zip(*pairs, strict=True))
    assert near(rule(base, new), rule([time * factor for time in base], [time * factor for time in new]))


@rules
@settings(max_examples=50)
@given(pairs=sides, factor=factors)
def test_scaling_one_side_scales_the_ratio(rule, pairs, factor):
    assume(spread_out(pairs))
    base, new = map(list, zip(*pairs, strict=True))
    one, other = rule(base, new), rule(base, [time * factor for time in new])
    assert other.estimate == pytest.approx(one.estimate * factor, rel=1e-6)
    assert other.high == pytest.approx(one.high * factor, rel=1e-6)
    assert other.sd_log == pytest.approx(one.sd_log, rel=1e-6)


@rules
@settings(max_examples=50)
@given(pairs=sides, random=st.randoms(use_true_random=False))
def test_the_order_of_blocks_does_not_matter(rule, pairs, random):
    assume(spread_out(pairs))
    shuffled = random.sample(pairs, len(pairs))
    assert near(rule(*map(list, zip(*pairs, strict=True))), rule(*map(list, zip(*shuffled, strict=True))))


@settings(max_examples=50)
@given(pairs=sides, random=st.randoms(use_true_random=False))
def test_without_blocks_a_side_may_be_shuffled_by_itself(pairs, random):
    assume(spread_out(pairs))
    base, new = map(list, zip(*pairs, strict=True))
    assert near(unpaired_ratio(base, new), unpaired_ratio(random.sample(base, len(base)), new))


@settings(max_examples=50)
@given(pairs=sides, drift=st.lists(st.floats(0.1, 10), min_size=12, max_size=12))
def test_what_slows_a_whole_block_cancels(pairs, drift):
    """The reason for blocks: what multiplies both sides of a block leaves the paired ratio alone."""
    assume(spread_out(pairs))
    base, new = map(list, zip(*pairs, strict=True))
    slow_base, slow_new = ([time * factor for time, factor in zip(side, drift, strict=False)] for side in (base, new))
    assert near(paired_ratio(base, new), paired_ratio(slow_base, slow_new))


@rules
@settings(max_examples=50)
@given(pairs=sides, factor=st.floats(1.001, 100))
def test_p_falls_as_the_difference_grows(rule, pairs, factor):
    assume(spread_out(pairs))
    base, new = map(list, zip(*pairs, strict=True))
    if rule(base, new).estimate < 1:
        base, new = new, base
    assert rule(base, [time * factor for time in new]).p <= rule(base, new).p * (1 + 1e-6)


@rules
@settings(max_examples=50)
@given(pairs=sides, confidence=st.floats(0.5, 0.99))
def test_p_and_interval_agree(rule, pairs, confidence):
    """1 lies outside the interval exactly when p is below one minus its confidence."""
    base, new = map(list, zip(*pairs, strict=True))
    result = rule(base, new, confidence)
    assume(abs(result.p - (1 - confidence)) > 1e-6)
    assert (result.low <= 1 <= result.high) == (result.p > 1 - confidence)
    assert result.low <= result.estimate <= result.high


def test_two_wild_processes_do_not_overflow():
    result = paired_ratio([1e-300, 1e300], [1e300, 1e-300])
    assert (result.low, result.high) == (0, math.inf)
    assert result.p == pytest.approx(1)


@rules
@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_time_is_refused_and_named(rule, bad):
    with pytest.raises(ValueError, match="times of new must be positive"):
        rule([1.0, 1.0], [1.0, bad])
    with pytest.raises(ValueError, match="times of base must be positive"):
        rule([bad, 1.0], [1.0, 1.0])


def test_sides_that_cannot_be_compared_are_refused():
    with pytest.raises(ValueError, match="got 2 of base and 1 of new"):
        paired_ratio([1.0, 1.0], [1.0])
    with pytest.raises(ValueError, match="base side has no process"):
        paired_ratio([], [])
    with pytest.raises(ValueError, match="new side has no process"):
        unpaired_ratio([1.0], [])
    with pytest.raises(ValueError, match="confidence"):
        paired_ratio([1.0, 2.0], [1.0, 2.0], confidence=95)


def test_arrays_are_sequences_too():
    assert paired_ratio(np.array([1.0, 2.0]), np.array([2.0, 5.0])) == paired_ratio([1.0, 2.0], [2.0, 5.0])  # type: ignore[arg-type]


def test_blocks_are_paired_by_name_and_failures_left_out_and_told():
    base = {2: 1.0, 0: 2.0, 1: None, 5: 3.0}
    new = {0: 4.0, 1: 5.0, 2: 6.0, 7: 1.0}
    assert pair(base, new) == Pairs(blocks=(0, 2), base=(2.0, 1.0), new=(4.0, 6.0), alone=(1, 5, 7))
    assert pair({0: None}, {}) == Pairs((), (), (), (0,))

"""Mistakes of famous harnesses that are the statistics' to avoid, each by its number in the methodology."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats
from stats.noise import process_medians, times

from sciml_bench.stats.location import median_interval
from sciml_bench.stats.ratio import Ratio, paired_ratio, unpaired_ratio
from sciml_bench.stats.spread import Spread, process_median, spread
from sciml_bench.stats.verdict import Verdict, judge

BLOCKS = 10


def test_mistake_1_pooled_iterations_are_not_independent():
    """Pooled tests find a program different from itself in a quarter to two thirds of trials; ours in one in 20."""
    random = np.random.default_rng(1)
    base, new = (times(random, 1000, BLOCKS) for _ in range(2))
    pooled_base, pooled_new = (side.reshape(len(side), -1) for side in (base, new))
    pooled = np.mean(scipy_stats.ttest_ind(pooled_base, pooled_new, axis=1, equal_var=False).pvalue < 0.05)  # type: ignore[attr-defined]
    ranked = np.mean(scipy_stats.mannwhitneyu(pooled_base[:300], pooled_new[:300], axis=1).pvalue < 0.05)
    medians = (np.median(side, axis=2).tolist() for side in (base, new))
    ours = np.mean([paired_ratio(*pair).p < 0.05 for pair in zip(*medians, strict=True)])
    assert pooled > 0.20
    assert ranked > 0.50
    assert 0.03 < ours < 0.07


def test_mistake_1_more_iterations_are_no_more_evidence():
    """Each process repeated a hundredfold: the ratio, its interval and its p stay to the last digit."""
    random = np.random.default_rng(2)
    base, new = times(random, 1, 5)[0], times(random, 1, 5)[0]

    def compare(repeats):
        of_base, of_new = ([float(np.median(np.tile(process, repeats))) for process in side] for side in (base, new))
        return paired_ratio(of_base, of_new)

    assert compare(1) == compare(100)


@pytest.mark.parametrize("rule", [paired_ratio, unpaired_ratio])
@pytest.mark.parametrize(
    ("base", "new"),
    [([], []), ([1.0], []), ([1.0, 0.0], [1.0, 1.0]), ([1.0, 1.0], [math.nan, 1.0]), ([1.0, -1.0], [1.0, 1.0])],
)
def test_mistake_2_what_cannot_be_compared_is_an_error_and_no_verdict(rule, base, new):
    with pytest.raises(ValueError, match=r"positive|process|block"):
        rule(base, new)


def test_mistake_2_an_unknown_p_is_an_error_and_no_verdict():
    with pytest.raises(ValueError, match="between 0 and 1"):
        judge({"it": Ratio(2.0, 1.9, 2.1, math.nan, 5, 0.1, 4)})


@pytest.mark.parametrize("factor", [1.0001, 2.0, 1e9])
def test_mistake_2_one_process_a_side_is_undecided_whatever_the_factor(factor):
    """Student's test divides by zero here; a harness that caught the exception called it significant."""
    for rule in (paired_ratio, unpaired_ratio):
        assert judge({"it": rule([1.0], [factor])})["it"].verdict is Verdict.UNDECIDED


def test_mistake_4_one_number_out_of_twenty_says_nothing():
    """Minima of one process each differ by more than 1 % in most trials of a program against itself."""
    random = np.random.default_rng(4)
    base, new = (times(random, 1000, 1).min(axis=2)[:, 0] for _ in range(2))
    assert np.mean(np.abs(np.log(new / base)) > 0.01) > 0.5
    words = {judge({"it": paired_ratio([a], [b])})["it"].verdict for a, b in zip(base, new, strict=True)}
    assert words == {Verdict.UNDECIDED}


def test_mistake_4_the_minimum_hides_what_users_meet():
    """A program that is 40 % slower in every second iteration has the same minimum."""
    random = np.random.default_rng(5)
    base, new = times(random, 1, BLOCKS, disturbed=0.0)[0], times(random, 1, BLOCKS, disturbed=0.0)[0]
    new[:, ::2] *= 1.4
    of_minima = paired_ratio(base.min(axis=1).tolist(), new.min(axis=1).tolist())
    of_medians = paired_ratio(np.median(base, axis=1).tolist(), np.median(new, axis=1).tolist())
    words = {name: each.verdict for name, each in judge({"minima": of_minima, "medians": of_medians}).items()}
    assert words["minima"] is not Verdict.SLOWER
    assert words["medians"] is Verdict.SLOWER


def test_mistake_4_a_summary_keeps_every_process_and_every_sample():
    """The odd process and the odd sample stay, and widen what is shown."""
    quiet, odd = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98], [9.0, 9.1, 8.9, 9.0, 9.05, 8.95]
    medians = [process_median(process) for process in [quiet] * 4 + [odd]]
    assert spread(medians) == Spread(5, 1.0, 1.0, 9.0)
    _, high = median_interval(time for time in medians if time is not None)
    assert high > 4


def machines(random, trials, drift):
    """What the machine does to 2 × blocks processes in a row (trials × processes), as factors."""
    places = np.arange(2 * BLOCKS)
    if drift == "linear":
        return np.tile(1 + 0.05 * places / places[-1], (trials, 1))
    return np.exp(np.cumsum(random.normal(0, 0.01, (trials, 2 * BLOCKS)), axis=1))


def sequential(made):
    """All of A, then all of B."""
    return made[:, :BLOCKS], made[:, BLOCKS:]


def in_blocks(made, random):
    """Adjacent pairs, each in random order."""
    pairs = random.permuted(made.reshape(len(made), BLOCKS, 2), axis=2)
    return pairs[:, :, 0], pairs[:, :, 1]


def rate(rule, base, new):
    return np.mean([rule(a, b).p < 0.05 for a, b in zip(base.tolist(), new.tolist(), strict=True)])


@pytest.mark.parametrize(("drift", "published"), [("linear", 0.999), ("walk", 0.58)])
def test_mistake_9_sequential_sides_take_drift_for_a_difference_and_blocks_do_not(drift, published):
    """False positives of A against itself while the machine drifts by 5 %, or wanders."""
    random = np.random.default_rng(9)
    made = process_medians(random, 1500, 2 * BLOCKS, between=0.01) * machines(random, 1500, drift)
    base, new = in_blocks(made, random)
    assert rate(unpaired_ratio, *sequential(made)) == pytest.approx(published, abs=0.05)
    assert 0.03 < rate(paired_ratio, base, new) < 0.07
    assert rate(paired_ratio, base, 1.03 * new) > 0.97, "and a change of 3 % is found"


def test_mistake_9_blocks_must_be_paired_in_the_analysis_too():
    """Unpaired, the drift that blocks took out of the difference stays in its error (published power: 89 %)."""
    random = np.random.default_rng(10)
    made = process_medians(random, 1500, 2 * BLOCKS, between=0.01) * machines(random, 1500, "walk")
    base, new = in_blocks(made, random)
    assert rate(unpaired_ratio, base, new) < 0.02
    assert rate(unpaired_ratio, base, 1.03 * new) < 0.92
    assert rate(paired_ratio, base, 1.03 * new) > 0.98

"""The rule by which claims are judged."""

from __future__ import annotations

import math

import pytest

from sciml_bench.claims.claim import Figure
from sciml_bench.claims.ruling import Ruling, not_testable, rule, rule_count
from sciml_bench.stats.ratio import Ratio, paired_ratio
from sciml_bench.stats.verdict import Judgement, Verdict, judge

TEN = Figure("ten times", "solve", 10.0)
ALIKE = Figure("very similar", "solve", None, within=1.3)


def judged(fast: list[float], slow: list[float]) -> Judgement:
    return judge({"claim": paired_ratio(fast, slow)})["claim"]


FAST = [1.0, 1.02, 0.99, 1.01, 1.0, 0.98]


@pytest.mark.parametrize(
    ("factors", "ruling"),
    [
        ([10.5, 9.8, 10.2, 10.0, 9.9, 10.1], Ruling.HOLDS),
        ([30.0, 31.0, 29.0, 30.5, 30.2, 29.9], Ruling.HOLDS),
        ([4.0, 4.1, 3.9, 4.0, 4.05, 3.95], Ruling.HOLDS_IN_PART),
        ([1.0, 1.01, 0.99, 1.0, 1.0, 1.01], Ruling.DOES_NOT_HOLD),
        ([0.5, 0.51, 0.49, 0.5, 0.52, 0.5], Ruling.DOES_NOT_HOLD),
        ([0.5, 3.0, 0.9, 2.0, 1.5, 0.7], Ruling.UNDECIDED),
    ],
)
def test_a_ratio_is_judged_by_winner_and_interval(factors, ruling):
    found = rule(TEN, judged(FAST, [fast * factor for fast, factor in zip(FAST, factors, strict=True)]))
    assert found.ruling is ruling
    assert found.ratio is not None
    if ruling is Ruling.HOLDS_IN_PART:
        assert "factor of 4" in found.reason


def test_a_single_process_decides_nothing():
    assert rule(TEN, judged([1.0], [100.0])).ruling is Ruling.UNDECIDED


def test_more_processes_are_named_where_they_would_decide():
    judgement = Judgement(Verdict.UNDECIDED, Ratio(1.4, 0.9, 2.2, 0.1, 5), 0.1, more_processes=7)
    assert rule(TEN, judgement).more_processes == 7


@pytest.mark.parametrize(
    ("low", "high", "ruling"),
    [
        (0.9, 1.2, Ruling.HOLDS),
        (1.4, 2.0, Ruling.DOES_NOT_HOLD),
        (0.3, 0.7, Ruling.DOES_NOT_HOLD),
        (1.1, 1.6, Ruling.UNDECIDED),
        (0.0, math.inf, Ruling.UNDECIDED),
    ],
)
def test_likeness_is_judged_by_the_whole_interval(low, high, ruling):
    judgement = Judgement(Verdict.UNDECIDED, Ratio((low * min(high, 9)) ** 0.5 or 1.0, low, high, 0.5, 5), 0.5)
    assert rule(ALIKE, judgement).ruling is ruling


@pytest.mark.parametrize(
    ("figure", "slow", "fast", "ruling"),
    [
        (Figure("4 times as many", "steps", 4.0), 410, 100, Ruling.HOLDS),
        (Figure("4 times as many", "steps", 4.0), 250, 100, Ruling.HOLDS_IN_PART),
        (Figure("4 times as many", "steps", 4.0), 100, 100, Ruling.DOES_NOT_HOLD),
        (Figure("4 times as many", "steps", 4.0), 90, 100, Ruling.DOES_NOT_HOLD),
        (Figure("4 times as many", "steps", 4.0), 104, 100, Ruling.DOES_NOT_HOLD),
        (Figure("4 times as many", "steps", 4.0), 106, 100, Ruling.HOLDS_IN_PART),
        (Figure("1.04 times as many", "steps", 1.04), 104, 100, Ruling.HOLDS),
        (Figure("as many", "steps", None, within=1.1), 105, 100, Ruling.HOLDS),
        (Figure("as many", "steps", None, within=1.1), 80, 100, Ruling.DOES_NOT_HOLD),
    ],
)
def test_counts_are_exact(figure, slow, fast, ruling):
    found = rule_count(figure, slow, fast)
    assert found.ruling is ruling
    assert found.ratio is not None
    assert found.ratio.estimate == slow / fast


def test_what_was_not_measured_says_why():
    assert not_testable("it needs a GPU").reason == "it needs a GPU"
    assert not_testable("it needs a GPU").ratio is None

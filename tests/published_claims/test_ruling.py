"""The rule by which claims are judged."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sciml_bench.published_claims.claim import AT_LEAST, DIRECTION, PROBLEMS, UP_TO, Figure
from sciml_bench.published_claims.conditions import CONDITIONS, Condition, Conditions, Mark
from sciml_bench.published_claims.ruling import (
    Ruling,
    Words,
    judgement_of_counts,
    not_testable,
    outdated,
    rule,
    unless_conditions,
)
from sciml_bench.stats.ratio import Ratio, paired_ratio
from sciml_bench.stats.verdict import Judgement, Verdict, judge

TEN = Figure("ten times", "solve", 10.0)
RANGE = Figure("five to twenty times", "solve", 5.0, most=20.0)
LEAST = Figure("more than ten times", "solve", 10.0, kind=AT_LEAST)
LARGEST = Figure("up to ten times", "solve", 10.0, kind=UP_TO)
OVER_PROBLEMS = Figure("1.3 to 20 times", "solve", 1.3, most=20.0, kind=PROBLEMS)
FASTER = Figure("faster", "solve", 1.0, kind=DIRECTION)
ALIKE = Figure("very similar", "solve", None, within=1.3)


def judged(fast: list[float], slow: list[float]) -> Judgement:
    return judge({"claim": paired_ratio(fast, slow)})["claim"]


FAST = [1.0, 1.02, 0.99, 1.01, 1.0, 0.98]
NEAR = {factor: [factor * f for f in (1.0, 1.01, 0.99, 1.0, 1.005, 0.995)] for factor in (0.5, 1, 4, 7, 10, 14, 30, 99)}


@pytest.mark.parametrize(
    ("figure", "factor", "ruling"),
    [
        (TEN, 10, Ruling.CONFIRMED),
        (TEN, 7, Ruling.CONFIRMED),
        (TEN, 14, Ruling.CONFIRMED),
        (TEN, 30, Ruling.LARGER),
        (TEN, 4, Ruling.SMALLER),
        (TEN, 1, Ruling.SMALLER),
        (TEN, 0.5, Ruling.REVERSED),
        (RANGE, 4, Ruling.CONFIRMED),
        (RANGE, 99, Ruling.LARGER),
        (RANGE, 1, Ruling.SMALLER),
        (LEAST, 99, Ruling.CONFIRMED),
        (LEAST, 7, Ruling.CONFIRMED),
        (LEAST, 4, Ruling.SMALLER),
        (LEAST, 0.5, Ruling.REVERSED),
        (LARGEST, 10, Ruling.CONFIRMED),
        (LARGEST, 99, Ruling.LARGER),
        (LARGEST, 4, Ruling.UNDECIDED),
        (LARGEST, 1, Ruling.UNDECIDED),
        (LARGEST, 0.5, Ruling.UNDECIDED),
        (OVER_PROBLEMS, 99, Ruling.LARGER),
        (OVER_PROBLEMS, 7, Ruling.UNDECIDED),
        (OVER_PROBLEMS, 0.5, Ruling.REVERSED),
        (FASTER, 99, Ruling.CONFIRMED),
        (FASTER, 4, Ruling.CONFIRMED),
        (FASTER, 1, Ruling.SMALLER),
        (FASTER, 0.5, Ruling.REVERSED),
    ],
)
def test_a_ratio_is_judged_as_what_it_is(figure: Figure, factor: float, ruling: Ruling):
    slow = [fast * value for fast, value in zip(FAST, NEAR[factor], strict=True)]
    found = rule(figure, judged(FAST, slow), Words("a solve of snail", "hare"))
    assert found.ruling is ruling
    assert found.ratio is not None
    assert "snail" in found.reason
    assert "hare" in found.reason, "each sentence names both sides"


def test_a_sentence_that_is_turned_round_still_names_the_call():
    slow = [fast * value for fast, value in zip(FAST, NEAR[0.5], strict=True)]
    reason = rule(TEN, judged(FAST, slow), Words("snail", "hare", call="a solve")).reason
    assert reason.startswith("a solve of hare takes 2 [")
    assert reason.endswith("times as long as snail; the opposite is claimed: 10×")


def test_a_sentence_has_both_figures_and_the_interval():
    slow = [fast * value for fast, value in zip(FAST, NEAR[4], strict=True)]
    found = rule(TEN, judged(FAST, slow), Words("a solve of snail", "hare"))
    assert found.ratio is not None
    low, high = (f"{float(f'{value:.3g}'):g}" for value in (found.ratio.low, found.ratio.high))
    assert found.reason == (
        f"a solve of snail takes 4 [{low}, {high}] times as long as hare; 10× is claimed: ours is smaller by a "
        "factor of 2.5"
    )


def test_an_interval_that_reaches_across_the_factor_is_undecided_and_says_what_would_decide():
    judgement = Judgement(Verdict.SLOWER, Ratio(14.0, 11.0, 17.8, 0.001, 5, 0.95, 0.2), 0.001)
    found = rule(TEN, judgement)
    assert found.ruling is Ruling.UNDECIDED
    assert found.more_processes is not None
    assert found.more_processes > 0


def test_the_factor_is_that_of_the_file():
    judgement = Judgement(Verdict.SLOWER, Ratio(25.0, 24.0, 26.0, 0.001, 5), 0.001)
    assert rule(TEN, judgement).ruling is Ruling.LARGER
    assert rule(Figure("ten times", "solve", 10.0, factor=3.0), judgement).ruling is Ruling.CONFIRMED


def test_noise_that_hides_the_winner_decides_nothing():
    slow = [fast * factor for fast, factor in zip(FAST, [0.5, 3.0, 0.9, 2.0, 1.5, 0.7], strict=True)]
    assert rule(TEN, judged(FAST, slow)).ruling is Ruling.UNDECIDED
    assert rule(FASTER, judged(FAST, slow)).ruling is Ruling.UNDECIDED


def test_a_single_process_decides_nothing():
    assert rule(TEN, judged([1.0], [100.0])).ruling is Ruling.UNDECIDED


def test_more_processes_are_named_where_they_would_decide():
    judgement = Judgement(Verdict.UNDECIDED, Ratio(1.4, 0.9, 2.2, 0.1, 5), 0.1, more_processes=7)
    assert rule(TEN, judgement).more_processes == 7


@pytest.mark.parametrize(
    ("low", "high", "ruling", "ahead"),
    [
        (0.9, 1.2, Ruling.CONFIRMED, ""),
        (1.4, 2.0, Ruling.LARGER, "hare is ahead"),
        (0.3, 0.7, Ruling.LARGER, "snail is ahead"),
        (1.1, 1.6, Ruling.UNDECIDED, ""),
        (0.0, math.inf, Ruling.UNDECIDED, ""),
    ],
)
def test_likeness_is_judged_by_the_whole_interval(low: float, high: float, ruling: Ruling, ahead: str):
    judgement = Judgement(Verdict.UNDECIDED, Ratio((low * min(high, 9)) ** 0.5 or 1.0, low, high, 0.5, 5), 0.5)
    found = rule(ALIKE, judgement, Words("snail", "hare"))
    assert found.ruling is ruling
    assert ahead in found.reason


COUNT = Figure("4 times as many", "steps", 4.0)


@pytest.mark.parametrize(
    ("figure", "slow", "fast", "ruling"),
    [
        (COUNT, 410, 100, Ruling.CONFIRMED),
        (COUNT, 700, 100, Ruling.LARGER),
        (COUNT, 250, 100, Ruling.SMALLER),
        (COUNT, 100, 100, Ruling.SMALLER),
        (COUNT, 90, 100, Ruling.REVERSED),
        (COUNT, 104, 100, Ruling.SMALLER),
        (Figure("up to 4 times", "steps", 4.0, kind=UP_TO), 250, 100, Ruling.UNDECIDED),
        (Figure("1.04 times as many", "steps", 1.04), 104, 100, Ruling.CONFIRMED),
        (Figure("as many", "steps", None, within=1.1), 105, 100, Ruling.CONFIRMED),
        (Figure("as many", "steps", None, within=1.1), 80, 100, Ruling.LARGER),
    ],
)
def test_counts_are_exact(figure: Figure, slow: float, fast: float, ruling: Ruling):
    found = rule(figure, judgement_of_counts(figure, slow, fast))
    assert found.ruling is ruling
    assert found.ratio is not None
    assert found.ratio.estimate == slow / fast


def test_what_was_not_measured_says_why():
    assert not_testable("it needs a GPU").reason == "it needs a GPU"
    assert not_testable("it needs a GPU").ratio is None
    assert outdated().ruling.value == "out of date"


def differing(**effects: tuple[float, float]) -> Conditions:
    """Conditions that may make our ratio larger and smaller by these factors; all others are the same."""
    return Conditions(
        tuple(
            Condition(name, Mark.SAME, "1")
            if name not in effects
            else Condition(name, Mark.DIFFERS, "1", "2", "more", *effects[name])
            for name in CONDITIONS
        )
    )


UNKNOWN = math.inf


@pytest.mark.parametrize(
    ("figure", "factor", "effects", "stands"),
    [
        (TEN, 4, {"span": (1, 1.1)}, True),
        (TEN, 4, {"span": (1, 2.0)}, False),
        (TEN, 4, {"span": (1, 1.3), "saved": (1, 1.3)}, False),
        (TEN, 4, {"span": (1, UNKNOWN)}, False),
        (TEN, 4, {"span": (UNKNOWN, 1)}, True),
        (TEN, 30, {"span": (1.2, UNKNOWN)}, True),
        (TEN, 30, {"span": (UNKNOWN, 1)}, False),
        (TEN, 10, {"span": (1.2, 1.2)}, True),
        (TEN, 10, {"span": (1.6, 1)}, False),
        (TEN, 0.5, {"span": (UNKNOWN, 1.5)}, True),
        (TEN, 0.5, {"span": (1, 3.0)}, False),
        (TEN, 1, {"span": (1, UNKNOWN)}, False),
        (TEN, 1, {"span": (1, 1.1)}, True),
        (TEN, 1, {"span": (1, 8.0)}, False),
        (LEAST, 99, {"span": (1, UNKNOWN)}, True),
        (LEAST, 99, {"span": (UNKNOWN, 1)}, False),
        (FASTER, 4, {"span": (1, UNKNOWN)}, True),
        (FASTER, 4, {"span": (3.0, 1)}, True),
        (FASTER, 4, {"span": (5.0, 1)}, False),
    ],
)
def test_a_ruling_that_a_difference_could_make_is_none(
    figure: Figure, factor: float, effects: dict[str, tuple[float, float]], stands: bool
):
    judgement = judged(FAST, [fast * value for fast, value in zip(FAST, NEAR[factor], strict=True)])
    once = rule(figure, judgement)
    found = unless_conditions(once, differing(**effects), judgement, lambda other: rule(figure, other))
    assert (found.ruling is once.ruling) is stands
    assert found.ratio == once.ratio, "what was measured does not change"
    if stands:
        assert found.reason == once.reason
    else:
        assert found.ruling is Ruling.UNDECIDED
        assert found.reason.endswith(f"the difference in {', '.join(effects)} could explain it")


def test_alike_sides_are_judged_by_the_same_rule():
    judgement = judged(FAST, NEAR[1])
    once = rule(ALIKE, judgement)
    assert once.ruling is Ruling.CONFIRMED
    for effect, ruling in (((1.05, 1.05), Ruling.CONFIRMED), ((1.0, 1.4), Ruling.UNDECIDED)):
        found = unless_conditions(once, differing(batch=effect), judgement, lambda other: rule(ALIKE, other))
        assert found.ruling is ruling


def test_without_a_difference_no_ruling_is_taken_back():
    """Also where the interval, widened for correlated blocks, is as wide as the ratio is large."""
    random = np.random.default_rng(3)
    judgement = judged([1.0] * 5, np.exp(np.log(3.04) + random.normal(0.0, 0.16, 5)).tolist())
    assert judgement.verdict is Verdict.SLOWER
    assert judgement.ratio.low >= 1.0
    once = rule(FASTER, judgement)
    assert unless_conditions(once, differing(), judgement, lambda other: rule(FASTER, other)) == once


@pytest.mark.parametrize("factor", sorted(NEAR))
@pytest.mark.parametrize("figure", [TEN, RANGE, LEAST, LARGEST, OVER_PROBLEMS, FASTER, ALIKE])
def test_unknown_effects_both_ways_leave_nothing_to_decide(figure: Figure, factor: float):
    judgement = judged(FAST, [fast * value for fast, value in zip(FAST, NEAR[factor], strict=True)])
    effects = differing(saved=(UNKNOWN, 1), span=(1, UNKNOWN))
    found = unless_conditions(rule(figure, judgement), effects, judgement, lambda other: rule(figure, other))
    assert found.ruling is Ruling.UNDECIDED
    assert found.more_processes is None


def test_more_processes_are_not_promised_where_effects_are_unknown_both_ways():
    judgement = Judgement(Verdict.UNDECIDED, Ratio(1.4, 0.9, 2.2, 0.1, 5), 0.1, more_processes=7)
    once = rule(TEN, judgement)

    def found(**effects: tuple[float, float]):
        return unless_conditions(once, differing(**effects), judgement, lambda other: rule(TEN, other))

    assert found(span=(UNKNOWN, 1.2)) == once, "a ratio that is smaller still could be decided"
    both = found(span=(UNKNOWN, 1), method=(1.2, 1), timing=(1, UNKNOWN))
    assert both.more_processes is None
    assert both.reason.endswith("more processes would not decide: the effect of span, timing is unknown")

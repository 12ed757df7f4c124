"""Four words, and what each takes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from stats.noise import process_medians

from sciml_bench.stats.autocorrelation import autocorrelation
from sciml_bench.stats.ratio import Ratio, paired_ratio, with_alike, with_fixed
from sciml_bench.stats.verdict import FEW_PROCESSES, Judgement, Verdict, judge, processes_to_tell

OPPOSITE = {
    Verdict.FASTER: Verdict.SLOWER,
    Verdict.SLOWER: Verdict.FASTER,
    Verdict.SAME: Verdict.SAME,
    Verdict.UNDECIDED: Verdict.UNDECIDED,
}

blocks = st.lists(st.tuples(st.floats(0.8, 1.25), st.floats(0.8, 1.25)), min_size=1, max_size=12)
families = st.dictionaries(st.integers(0, 50), st.tuples(blocks, st.floats(0.2, 5)), min_size=1, max_size=6)


def ratios(family, turned=False):
    result = {}
    for key, (pairs, factor) in family.items():
        base, new = [a for a, _ in pairs], [b * factor for _, b in pairs]
        result[key] = paired_ratio(new, base) if turned else paired_ratio(base, new)
    return result


def of(estimate, spread, n=10, p=None):
    """A ratio of ``n`` blocks whose log differences have the standard deviation ``spread``; neighbours differ."""
    random = np.random.default_rng(0)
    logs = random.normal(size=n)
    logs = (logs - logs.mean()) / logs.std(ddof=1) * spread + math.log(estimate)
    orders = [random.permutation(logs).tolist() for _ in range(200)]
    chosen = min(orders, key=lambda order: abs((autocorrelation(order) or 0.0) + 0.5))
    return paired_ratio([1.0] * n, np.exp(chosen).tolist())


def verdict(ratio, **rule):
    return judge({"it": ratio}, **rule)["it"].verdict


def test_the_four_words():
    assert verdict(of(0.80, 0.05)) is Verdict.FASTER
    assert verdict(of(1.30, 0.05)) is Verdict.SLOWER
    assert verdict(of(1.01, 0.02)) is Verdict.SAME
    assert verdict(of(1.04, 0.10)) is Verdict.UNDECIDED


def test_detectable_but_negligible_is_the_same():
    ratio = of(1.02, 0.01)
    assert ratio.p < 0.001
    assert ratio.low > 1
    assert verdict(ratio) is Verdict.SAME


def test_significant_inside_the_band_but_not_surely_so_is_undecided():
    ratio = of(1.045, 0.02)
    assert ratio.p < 0.001
    assert ratio.high > 1.05
    assert verdict(ratio) is Verdict.UNDECIDED


def test_the_band_can_be_set():
    ratio = of(1.15, 0.02)
    assert verdict(ratio) is Verdict.SLOWER
    assert verdict(ratio, band=0.2) is Verdict.SAME
    assert verdict(of(1.02, 0.01), band=0.01) is Verdict.SLOWER


def test_the_band_is_as_wide_on_both_sides():
    assert verdict(of(1 / 1.045, 0.001)) is Verdict.SAME
    assert verdict(of(0.95, 0.0005)) is Verdict.FASTER, "0.95 is further from 1 than 1.05 is"


def test_one_process_is_always_undecided_and_nothing_is_promised():
    result = judge({"it": paired_ratio([1.0], [50.0])})["it"]
    assert result == Judgement(Verdict.UNDECIDED, paired_ratio([1.0], [50.0]), 1.0, None)


def test_untested_comparisons_do_not_weigh_on_the_family():
    ratio = of(1.2, 0.25, n=10)
    assert 0.02 < ratio.p < 0.05
    alone = judge({"it": ratio})["it"].adjusted_p
    family = {"it": ratio, **{name: paired_ratio([1.0], [2.0]) for name in range(50)}}
    assert judge(family)["it"].adjusted_p == alone == ratio.p


def test_a_family_takes_more_proof():
    """One weak find alone, and among fifty cells without a difference."""
    weak = of(1.2, 0.25)
    assert verdict(weak) is Verdict.SLOWER
    family = {0: weak, **{k: of(1.0, 0.2) for k in range(1, 50)}}
    assert judge(family)[0].verdict is Verdict.UNDECIDED
    assert judge(family)[0].adjusted_p > weak.p


def test_few_processes_name_a_winner_only_from_a_factor_of_two_on():
    assert verdict(of(1.5, 0.01, n=3)) is Verdict.UNDECIDED
    assert verdict(of(2.1, 0.01, n=3)) is Verdict.SLOWER
    assert verdict(of(1.5, 0.01, n=FEW_PROCESSES)) is Verdict.SLOWER
    assert judge({"it": of(1.5, 0.01, n=3)})["it"].more_processes == FEW_PROCESSES - 3


def test_only_the_undecided_are_told_to_go_on():
    for ratio in (of(0.8, 0.05), of(1.3, 0.05), of(1.01, 0.02)):
        assert judge({"it": ratio})["it"].more_processes is None
    more = judge({"it": of(1.10, 0.20)})["it"].more_processes
    assert more is not None
    assert more >= 1


def test_on_the_edge_of_the_band_no_number_of_processes_helps():
    edge = Ratio(1.05, 1.01, 1.09, 0.02, 10, 0.05, 9)
    assert judge({"it": edge})["it"].more_processes is None


@pytest.mark.parametrize(("truth", "word"), [(1.08, Verdict.SLOWER), (1.02, Verdict.SAME), (0.8, Verdict.FASTER)])
def test_that_many_processes_do_decide(truth, word):
    """Where the true ratio and spread are those observed, with at least 80 % less three standard errors."""
    spread = 0.06 if truth == 1.02 else 0.2
    first = judge({"it": of(truth, spread, n=5)})["it"]
    assert first.verdict is Verdict.UNDECIDED
    assert first.more_processes is not None
    n = 5 + first.more_processes
    random = np.random.default_rng(n)
    words = [
        verdict(paired_ratio([1.0] * n, np.exp(random.normal(math.log(truth), spread, n)).tolist())) for _ in range(400)
    ]
    assert 0.74 < words.count(word) / 400 < 0.95


@settings(max_examples=50)
@given(families)
def test_exchanging_the_sides_exchanges_faster_and_slower(family):
    one, other = judge(ratios(family)), judge(ratios(family, turned=True))
    assert {key: OPPOSITE[result.verdict] for key, result in one.items()} == {
        key: result.verdict for key, result in other.items()
    }
    assert [result.more_processes for result in one.values()] == [result.more_processes for result in other.values()]


@settings(max_examples=50)
@given(families, st.randoms(use_true_random=False))
def test_the_order_of_the_family_does_not_matter(family, random):
    shuffled = dict(random.sample(list(family.items()), len(family)))
    one, other = judge(ratios(family)), judge(ratios(shuffled))
    assert list(other) == list(shuffled), "the order given is the order returned"
    assert one == other


@settings(max_examples=50)
@given(families)
def test_a_winner_is_significant_and_outside_the_band(family):
    for result in judge(ratios(family)).values():
        if result.verdict in (Verdict.FASTER, Verdict.SLOWER):
            assert result.ratio.p <= result.adjusted_p + 1e-12 < 0.05
            assert abs(math.log(result.ratio.estimate)) > math.log(1.05)
            assert not result.ratio.low <= 1 <= result.ratio.high
        if result.verdict is Verdict.SAME:
            assert result.ratio.low >= 1 / 1.05
            assert result.ratio.high <= 1.05


@settings(max_examples=50)
@given(blocks, st.floats(1.01, 3))
def test_a_larger_difference_is_never_less_of_a_winner(pairs, factor):
    ratio = paired_ratio([a for a, _ in pairs], [b for _, b in pairs])
    assume(ratio.estimate > 1)
    further = paired_ratio([a for a, _ in pairs], [b * factor for _, b in pairs])
    if verdict(ratio) is Verdict.SLOWER:
        assert verdict(further) is Verdict.SLOWER


def test_no_false_winner_in_families_without_a_difference():
    """200 families of 12 cells, 10 blocks, published noise: a winner in some family at most as often as the level."""
    random = np.random.default_rng(8)
    base, new = (process_medians(random, 2400, 10).tolist() for _ in range(2))
    found = [paired_ratio(a, b) for a, b in zip(base, new, strict=True)]
    winners = 0
    for first in range(0, 2400, 12):
        words = {result.verdict for result in judge(dict(enumerate(found[first : first + 12]))).values()}
        winners += bool(words & {Verdict.FASTER, Verdict.SLOWER})
    assert winners <= 0.05 * 200


def test_an_empty_family():
    assert judge({}) == {}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"band": 0}, "band"),
        ({"band": -0.1}, "band"),
        ({"band": math.nan}, "band"),
        ({"level": 0}, "level"),
        ({"level": 1}, "level"),
        ({"power": 0.5}, "power"),
        ({"power": 1}, "power"),
    ],
)
def test_what_is_no_rule(rule, message):
    with pytest.raises(ValueError, match=message):
        judge({}, **rule)


def test_what_no_number_of_processes_would_tell_ends_at_once():
    """The widening for blocks that may be alike asked for more than the most processes, and was counted up for ever."""
    ratio = Ratio(1.1795, 0.32186, 4.3224, 0.742, 5, sd_log=1.04595, df=4, serial=0.11)
    assert judge({"a": ratio})["a"].more_processes is None


def test_how_many_more_processes_tell_is_known_from_two_on_and_not_beyond_what_more_of_them_lessen():
    two = paired_ratio([1.0, 1.0], [1.09, 1.11])
    assert (processes_to_tell(two, 0.05) or 0) > 0
    assert processes_to_tell(paired_ratio([1.0], [1.1]), 0.05) is None
    assert processes_to_tell(with_fixed(two, 0.1, 3.0), 0.05) is None


def test_blocks_that_are_alike_take_more_processes_to_tell():
    plain = paired_ratio([1.0] * 6, [1.0, 1.2, 1.1, 1.0, 1.2, 1.1])
    few, more = (processes_to_tell(ratio, 0.03) for ratio in (plain, with_alike(plain, 2.0)))
    assert few is not None
    assert more is not None
    assert more > 2 * few

"""Figures of a self-test, from drawn times with known differences."""

from __future__ import annotations

import json
import math
import random

import pytest
from stubs.selftests import drawn

from sciml_bench.analysis.selftest.blocks import AGAIN, BASE, ROLES, Order, is_later, order_of, roles
from sciml_bench.analysis.selftest.figures import FEWEST_BLOCKS, Doubt, figures


def test_the_same_cell_gives_few_false_positives_and_a_slow_down_is_found():
    found = figures({"a": drawn(), "b": drawn(seed=2)})
    assert found.false_positives.total == 1000
    assert 0.02 < found.false_positives.share < 0.08
    assert found.false_winners.share < 0.01
    assert found.found("slower-10").share > 0.99
    assert found.named("slower-10").share > 0.9
    assert found.named("slower-3").share < 0.2
    assert found.passed


def test_a_drift_that_both_sides_share_changes_nothing():
    still, drifting = figures({"a": drawn()}), figures({"a": drawn(drift=0.5)})
    assert drifting.false_positives.share < 0.08
    assert drifting.found("slower-10").share == pytest.approx(still.found("slower-10").share, abs=0.01)


def test_ratios_are_those_over_all_blocks():
    (series,) = figures({"a": drawn(blocks=200)}).series
    assert series.slower["slower-10"][0] == pytest.approx(1.10, abs=0.01)
    assert series.slower["slower-3"][0] == pytest.approx(1.03, abs=0.01)
    assert series.again[1] < 1 < series.again[2]
    assert series.sd_log == pytest.approx(0.02 * math.sqrt(2), rel=0.15)


def test_noise_hides_a_slow_down_and_the_test_is_not_passed():
    found = figures({"a": drawn(spread=0.3)})
    assert found.found("slower-10").share < 0.5
    assert not found.passed
    assert found.smallest_change[10] > 0.3


def test_a_slow_down_that_is_not_there_is_not_found():
    found = figures({"a": drawn(slow={"slower-10": 0.0})})
    assert found.found("slower-10").share < 0.15
    assert not found.passed


def test_more_processes_see_smaller_changes():
    changes = figures({"a": drawn()}).smallest_change
    assert changes[3] > changes[10] > changes[30] > 0
    needed = figures({"a": drawn()}).processes_needed
    assert 2 < needed[0.1] < 10 < needed[0.03] < 30


def test_blocks_that_are_not_complete_do_not_count():
    times = drawn(blocks=FEWEST_BLOCKS + 1)
    times["slower-3"][4] = None
    del times[BASE][5]
    with pytest.raises(
        ValueError, match=f"{FEWEST_BLOCKS - 1} complete blocks were measured, at least {FEWEST_BLOCKS}"
    ):
        figures({"a": times})


def test_too_few_blocks():
    with pytest.raises(ValueError, match="0 complete blocks"):
        figures({})


def test_equal_seeds_give_equal_figures():
    assert figures({"a": drawn()}, seed=3) == figures({"a": drawn()}, seed=3)
    assert json.dumps(figures({"a": drawn()}).series[0].found)


@pytest.mark.parametrize("bias", [0.08, -0.08, 0.2])
def test_a_bias_of_a_label_is_seen(bias):
    """Drawn labels hide it: the rate of false positives stays at its level whatever the bias."""
    found = figures({"a": drawn(slow={AGAIN: bias})})
    assert found.false_positives.share < 0.08
    assert found.labelled.share > 0.99
    assert {Doubt.BIAS, Doubt.NOISE} <= set(found.doubts)
    (series,) = found.series
    assert series.bias.label[0] == pytest.approx(1 + bias, rel=0.02)
    assert series.bias.position[1] < 1 < series.bias.position[2]


def test_what_a_place_in_the_block_is_worth_is_seen():
    """In random order it is noise, in fixed order a bias, in alternating order none."""
    times = drawn()
    for block in times[AGAIN]:
        second = AGAIN if is_later(block, 0) else BASE
        seconds = times[second][block]
        assert seconds is not None
        times[second][block] = 1.08 * seconds
    found = figures({"a": times})
    assert {Doubt.BIAS, Doubt.NOISE} <= set(found.doubts)
    (series,) = found.series
    assert series.bias.position[0] == pytest.approx(1.08, rel=0.015)
    assert series.bias.orders[Order.FIXED][1] > 1.05
    assert series.bias.orders[Order.ALTERNATING][1] < 1 < series.bias.orders[Order.ALTERNATING][2]


def test_a_drift_of_the_ratio_is_seen_and_one_of_the_cell_is_shown():
    found = figures({"a": drawn(ratio_drift=0.2)})
    assert Doubt.DRIFT in found.doubts
    shared = figures({"a": drawn(drift=0.5, seed=3)})
    assert not shared.doubts
    (series,) = shared.series
    assert series.bias.own_drift[0] == pytest.approx(1.5, rel=0.1)
    assert series.bias.drift[1] < 1 < series.bias.drift[2]


def test_a_slow_down_read_wrong_fails():
    assert figures({"a": drawn(slow={"slower-10": 0.7})}).doubts == (Doubt.CALIBRATION,)
    assert figures({"a": drawn(slow={"slower-10": 0.15})}).doubts == (Doubt.CALIBRATION,)


def test_a_small_bias_that_makes_no_winner_is_shown_and_passes():
    found = figures({"a": drawn(slow={AGAIN: 0.01}, spread=0.01)})
    assert found.passed
    (series,) = found.series
    assert series.bias.label[1] > 1


def test_autocorrelation_is_reported_with_the_rate_it_makes():
    generator = random.Random(3)
    times, shift = drawn(), 0.0
    for block in times[AGAIN]:
        shift = 0.8 * shift + generator.gauss(0, 0.03)
        seconds = times[AGAIN][block]
        assert seconds is not None
        times[AGAIN][block] = seconds * math.exp(shift)
    found = figures({"a": times})
    assert found.series[0].bias.serial[0] > 0.4
    assert found.level > 0.15
    assert figures({"a": drawn()}).level < 0.12


def test_blocks_of_one_order_alone_tell_nothing():
    times = drawn()
    kept = {role: {b: s for b, s in of.items() if order_of(b) is Order.RANDOM} for role, of in times.items()}
    with pytest.raises(ValueError, match=r"20 complete blocks were measured, at least 12 are needed, 3 of each order"):
        figures({"a": kept})


def test_each_order_comes_equally_often_and_the_alternating_one_both_ways():
    placed = [roles(block, 5) for block in range(60)]
    by = {order: [placed[block] for block in range(60) if order_of(block) is order] for order in Order}
    assert {len(of) for of in by.values()} == {20}
    assert set(by[Order.FIXED]) == {ROLES}
    assert by[Order.ALTERNATING].count(ROLES) == by[Order.ALTERNATING].count(ROLES[::-1]) == 10
    assert len(set(by[Order.RANDOM])) > 5

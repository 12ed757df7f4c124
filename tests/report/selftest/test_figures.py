"""Figures of a self-test, from drawn times with known differences."""

from __future__ import annotations

import json
import math

import pytest
from stubs.selftests import drawn

from sciml_bench.report.selftest.figures import BASE, FEWEST_BLOCKS, figures


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

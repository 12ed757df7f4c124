"""The time left follows the plan's estimates, and then the measured processes."""

from __future__ import annotations

import pytest

from sciml_bench.run.time_left import TimeLeft


def test_before_anything_is_measured_the_estimates_count():
    left = TimeLeft(100.0, now_s=7.0)
    assert left.left_s(7.0) == 100.0
    assert left.left_s(17.0) == 90.0


def test_a_run_that_is_slower_than_planned_ends_later():
    left = TimeLeft(100.0, now_s=0.0)
    for k in range(1, 6):
        left.finish(10.0, now_s=30.0 * k)
    assert left.left_s(150.0) == pytest.approx(50.0 * 155 / 55)


def test_one_odd_process_does_not_upset_a_long_run():
    left = TimeLeft(10_000.0, now_s=0.0)
    left.finish(1.0, now_s=100.0)
    assert left.left_s(100.0) < 1.21 * 10_000.0


def test_a_repetition_takes_time_and_nothing_off_the_plan():
    left = TimeLeft(20.0, now_s=0.0)
    left.finish(10.0, now_s=10.0)
    left.finish(0.0, now_s=20.0)
    assert left.left_s(20.0) > 10.0


@pytest.mark.parametrize("estimated_s", [0.0, 1e-9])
def test_nothing_left_is_zero_at_any_time(estimated_s):
    left = TimeLeft(estimated_s, now_s=0.0)
    assert left.left_s(5.0) == 0.0
    left.finish(1.0, now_s=6.0)
    assert left.left_s(7.0) == 0.0

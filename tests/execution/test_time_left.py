"""The time left follows the plan's estimates, and then the measured processes."""

from __future__ import annotations

import pytest

from sciml_bench.execution.time_left import TimeLeft


def of(count: int, each_s: float = 10.0) -> TimeLeft:
    """A run of processes of equal estimates, numbered from 0."""
    return TimeLeft(dict.fromkeys(range(count), each_s), now_s=0.0)


def one_by_one(left: TimeLeft, processes: range, each_s: float) -> float:
    """Run processes one after the other; returns the time at the end."""
    now_s = 0.0
    for process in processes:
        left.start(process)
        now_s += each_s
        left.finish(process, now_s)
    return now_s


def test_before_anything_is_measured_the_estimates_count():
    left = TimeLeft({0: 60.0, 1: 40.0}, now_s=7.0)
    assert left.left_s(7.0) == 100.0
    left.start(0)
    assert left.left_s(17.0) == 90.0


def test_a_run_that_is_slower_than_planned_ends_later():
    left = of(10)
    now_s = one_by_one(left, range(5), 30.0)
    assert left.left_s(now_s) == pytest.approx(50.0 * 155 / 55)


def test_one_odd_process_does_not_upset_a_long_run():
    left = of(1000)
    left.start(0)
    left.finish(0, now_s=1000.0)
    assert left.left_s(1000.0) < 3.0 * 10_000.0


def test_a_repetition_takes_time_and_nothing_off_the_plan():
    left = of(2)
    one_by_one(left, range(1), 10.0)
    assert left.finish("again", now_s=20.0) == 0.0
    assert left.left_s(20.0) > 10.0


def test_processes_that_take_turns_and_end_together_are_on_time():
    left = of(30, 60.0)
    for process in range(10):
        left.start(process)
    for process in range(10):
        left.finish(process, now_s=600.0)
        assert left.left_s(600.0) == pytest.approx(60.0 * (29 - process), rel=0.2)


def test_processes_that_will_not_run_are_forgotten():
    left = of(20)
    now_s = one_by_one(left, range(10), 10.0)
    assert sum(left.drop(process) for process in range(10, 20)) == 100.0
    assert left.left_s(now_s) == 0.0


def test_nothing_left_is_zero_at_any_time():
    left = TimeLeft({}, now_s=0.0)
    assert left.left_s(5.0) == 0.0
    left.finish(0, now_s=6.0)
    assert left.left_s(7.0) == 0.0

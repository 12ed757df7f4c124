"""How long a warm-up goes on, with a clock that advances by a known amount per call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, repeat
from typing import Any

import numpy as np
from stubs.clock import FakeClock

from sciml_bench.measure.sampling import Call, Loop, varied
from sciml_bench.measure.warm_up import WarmUp
from sciml_bench.record.task import Sampling

THETA = np.array([1.0])
FEWEST = 10


def sampling(calls: int, seconds: float, most: int = 100_000) -> Sampling:
    return Sampling(calls, 1, 0.0, most, 0.0, warm_up_s=seconds)


def run(warm_up: WarmUp, lengths_s: Iterator[float]) -> Loop:
    """One warm-up loop whose calls take these times, and which tells how long it took."""
    clock = FakeClock()

    def take(value: Any) -> Any:
        clock.sleep(next(lengths_s))
        return value

    loop = Loop()
    call = Call("solve", lambda theta: theta, take, lambda output: None, lambda output: output)
    loop.fill(call, varied(THETA, 0.0, 1), clock, float("inf"), warm_up.rule(loop))
    warm_up.spend(clock.ns / 1e9)
    return loop


def jittering(length_s: float) -> Iterator[float]:
    generator = np.random.default_rng(0)
    return (length_s * (1.0 + 0.01 * generator.standard_normal()) for _ in repeat(None))


def slow_then_fast(calls: int) -> Iterator[float]:
    return chain(repeat(0.01, calls), jittering(0.001))


def falling() -> Iterator[float]:
    """Calls that get faster every eight calls and never settle."""
    length_s = 0.01
    while True:
        yield from repeat(length_s, 8)
        length_s *= 0.7


def calls_made(lengths_s: Callable[[], Iterator[float]], calls: int, seconds: float, most: int = 100_000) -> int:
    return len(run(WarmUp(sampling(calls, seconds, most), loops=1), lengths_s()).samples)


def test_without_a_box_the_number_is_fixed():
    assert calls_made(lambda: jittering(0.001), 4, 0.0) == 4
    assert calls_made(lambda: jittering(0.001), 0, 0.0) == 0


def test_calls_that_have_settled_end_it_as_soon_as_that_can_be_seen():
    assert calls_made(lambda: jittering(0.001), 2, 60.0) == FEWEST


def test_it_goes_on_until_enough_calls_came_after_the_slow_ones():
    # Looked at after 10, 13 and 17 calls: with 6 slow ones the last leaves 11.
    assert calls_made(lambda: slow_then_fast(6), 2, 60.0) == 17


def test_calls_that_do_not_settle_fill_the_box():
    loop = run(WarmUp(sampling(2, 0.2), loops=1), falling())
    assert 0.19 < sum(loop.ns) / 1e9 <= 0.2
    assert not loop.truncated


def test_calls_that_are_long_for_the_box_are_made_the_fixed_number_of_times():
    assert calls_made(lambda: repeat(5.0), 2, 8.0) == 2


def test_there_are_never_more_calls_than_a_measured_loop_may_have():
    assert calls_made(falling, 2, 60.0, most=30) == 30


def test_loops_share_the_box_and_inherit_what_is_left():
    warm_up = WarmUp(sampling(1, 8.0), loops=4)
    # A quarter of 8 s at most, in calls of 0.5 s that never settle because there are too few of them.
    assert len(run(warm_up, repeat(0.5)).samples) == 4
    # A loop that is not made leaves its share: 6 s for two loops.
    warm_up.spend(0.0)
    assert len(run(warm_up, repeat(0.5)).samples) == 6
    assert len(run(warm_up, repeat(0.5)).samples) == 6


def test_box_that_was_overdrawn_leaves_nothing():
    warm_up = WarmUp(sampling(3, 2.0), loops=2)
    assert len(run(warm_up, repeat(4.0)).samples) == 3
    assert len(run(warm_up, repeat(0.001)).samples) == 3

"""Splitting the time span at breakpoints."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sciml_bench.adapters.segments import split
from sciml_bench.record.task import Numbers


def numbers(save_times, breakpoints=(), t0=0.0):
    return Numbers(
        y0=(1.0,), p=(), t0=t0, t1=save_times[-1], save_times=tuple(save_times), breakpoints=tuple(breakpoints),
        atol_scale=(1.0,), wrt="initial_state",
    )  # fmt: skip


def test_without_breakpoints_there_is_one_unclipped_segment():
    (only,) = split(numbers([0.5, 1.0, 2.0]))
    assert (only.start, only.end, only.times, only.n_saved) == (0.0, 2.0, (0.5, 1.0, 2.0), 3)
    assert not only.clipped


def test_a_breakpoint_between_saved_times_is_an_extra_time_of_its_segment():
    before, after = split(numbers([0.5, 1.0, 2.0], [1.5]))
    assert (before.times, before.n_saved) == ((0.5, 1.0, 1.5), 2)
    assert (after.times, after.n_saved) == ((2.0,), 1)


def test_a_saved_time_at_a_breakpoint_belongs_to_the_segment_that_ends_there():
    before, after = split(numbers([0.5, 1.0, 2.0], [1.0]))
    assert (before.times, before.n_saved) == ((0.5, 1.0), 2)
    assert (after.times, after.n_saved) == ((2.0,), 1)


def test_a_segment_without_saved_times_still_ends():
    first, second, third = split(numbers([3.0], [1.0, 2.0]))
    assert (first.times, first.n_saved) == ((1.0,), 0)
    assert (second.times, second.n_saved) == ((2.0,), 0)
    assert (third.times, third.n_saved) == ((3.0,), 1)


def test_time_is_clipped_to_the_inside_of_the_segment_at_breakpoints_only():
    before, after = split(numbers([2.0], [1.0]))
    assert (before.low, before.high) == (-math.inf, math.nextafter(1.0, 0.0))
    assert (after.low, after.high) == (math.nextafter(1.0, 2.0), math.inf)


def test_single_precision_clips_to_its_own_neighbours():
    before, after = split(numbers([2.0], [math.pi / 2]), np.float32)
    # A comparison `t >= pi/2` is done in single precision, with the breakpoint rounded to it.
    breakpoint_in_single = np.float32(math.pi / 2)
    assert np.float32(before.high) < breakpoint_in_single < np.float32(after.low)


@given(
    st.lists(st.floats(0.01, 9.99), min_size=0, max_size=6, unique=True),
    st.lists(st.floats(0.01, 9.99), min_size=0, max_size=8, unique=True),
)
def test_every_saved_time_is_in_exactly_one_segment(breakpoints, inner):
    times = [*sorted(inner), 10.0]
    segments = split(numbers(times, sorted(breakpoints)))
    assert [time for segment in segments for time in segment.times[: segment.n_saved]] == times
    assert [segment.start for segment in segments] == [0.0, *sorted(breakpoints)]
    for segment in segments:
        assert segment.times[-1] == segment.end
        assert segment.start < segment.times[0]
        # Clipping moves no time that is strictly inside.
        assert segment.low <= math.nextafter(segment.start, math.inf)
        assert segment.high >= math.nextafter(segment.end, -math.inf)

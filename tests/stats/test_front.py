"""Times at equal achieved accuracy."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciml_bench.stats.front import Reading, WorkPoint, common_target, pareto_front, time_at

points = st.lists(
    st.builds(WorkPoint, digits=st.floats(0, 14), time=st.floats(1e-6, 1e3)),
    max_size=8,
)


def test_front_drops_what_is_slower_and_less_accurate():
    a, b, c = WorkPoint(3, 1.0), WorkPoint(2.5, 2.0), WorkPoint(6, 4.0)
    assert pareto_front([c, b, a]) == (a, c)


def test_of_equal_times_the_more_accurate_point_stays():
    assert pareto_front([WorkPoint(3, 1.0), WorkPoint(5, 1.0)]) == (WorkPoint(5, 1.0),)


@pytest.mark.parametrize(
    "bad", [WorkPoint(math.inf, 1), WorkPoint(math.nan, 1), WorkPoint(3, 0), WorkPoint(3, math.nan)]
)
def test_points_that_cannot_be_compared_are_left_out(bad):
    assert pareto_front([bad]) == ()


def test_log_time_is_linear_in_digits():
    front = [WorkPoint(4, 1.0), WorkPoint(8, 100.0)]
    assert time_at(front, 6).time == pytest.approx(10.0)
    assert time_at(front, 4).time == pytest.approx(1.0)
    assert time_at(front, 8).time == pytest.approx(100.0)


def test_nothing_is_extrapolated():
    front = [WorkPoint(4, 1.0), WorkPoint(8, 100.0)]
    assert time_at(front, 8.1) == Reading(None, reason="reaches only 8.0 digits")
    assert time_at(front, 3) == Reading(1.0, at_most=True, reason="loosest point already has 4.0 digits")
    assert time_at([], 3) == Reading(None, reason="no point with a measured error")


def test_a_single_point_is_read_exactly():
    assert time_at([WorkPoint(5, 2.0)], 5) == Reading(2.0)


@given(points, st.floats(0, 14))
def test_a_reading_lies_between_measured_times(measured, digits):
    reading = time_at(measured, digits)
    if reading.time is not None:
        times = [point.time for point in measured]
        assert min(times) * (1 - 1e-9) <= reading.time <= max(times) * (1 + 1e-9)
    else:
        assert reading.reason


@given(points, st.floats(0, 14), st.floats(0, 14))
def test_more_digits_never_cost_less(measured, one, other):
    low, high = sorted((one, other))
    cheap, dear = time_at(measured, low), time_at(measured, high)
    if cheap.time is not None and dear.time is not None:
        assert cheap.time <= dear.time * (1 + 1e-9)


def test_the_target_is_where_most_cells_can_be_read():
    narrow = [WorkPoint(4, 1), WorkPoint(6.2, 2)]
    wide = [WorkPoint(5, 1), WorkPoint(10, 2)]
    poor = [WorkPoint(1, 1), WorkPoint(2, 2)]
    assert common_target([narrow, wide, poor, []]) == 6.0


def test_an_upper_bound_counts_half():
    one = [WorkPoint(4, 1), WorkPoint(6, 2)]
    other = [WorkPoint(7, 1), WorkPoint(9, 2)]
    assert common_target([one, other]) == 6.0, "one is bracketed, the other bounded"
    assert common_target([one, other, other, other]) == 9.0
    single = [[WorkPoint(digits, 1)] for digits in (3, 4, 5, 8, 8)]
    assert common_target(single) == 3.0, "one is read there and four are bounded, which is more than two at 8"


def test_the_target_without_a_bracket_is_one_that_all_reach():
    assert common_target([[WorkPoint(4.2, 1)], [WorkPoint(7.3, 1)]]) == 4.0
    assert common_target([[], []]) is None
    assert common_target([]) is None


@given(st.lists(points, max_size=5))
def test_a_target_can_be_read_by_at_least_one_cell(fronts):
    target = common_target(fronts)
    if target is not None:
        assert any(time_at(front, target).time is not None for front in fronts)

"""The process is the unit of replication."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciml_bench.stats.spread import Spread, process_median, spread

durations = st.floats(min_value=1e-3, max_value=1e15)


def test_a_process_is_reduced_to_its_median():
    assert process_median([3, 1, 100]) == 3
    assert process_median([]) is None


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1])
def test_a_sample_that_is_not_a_duration_is_an_error(bad):
    with pytest.raises(ValueError, match="duration"):
        process_median([1.0, bad])


def test_processes_count_once_however_many_iterations_they_hold():
    """Mistake 1 of the methodology: pooled iterations would let the busy process decide the median."""
    many, few = [1.0] * 1000, [3.0, 3.0, 3.0]
    assert spread([process_median(many), process_median(few)]) == Spread(2, 2.0, 1.0, 3.0)


def test_processes_without_a_number_are_left_out_and_counted_so():
    assert spread([None, 2.0, None]) == Spread(1, 2.0, 2.0, 2.0)
    assert spread([None]) is None
    assert spread([]) is None


@given(st.lists(durations, min_size=1, max_size=20))
def test_spread_is_ordered(values):
    result = spread(values)
    assert result is not None
    assert result.minimum <= result.median <= result.maximum
    assert result.processes == len(values)

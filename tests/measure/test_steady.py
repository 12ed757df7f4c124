"""Steady state by change-points: made-up times with a known shape, and an exact search beside PELT."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciml_bench.measure import steady
from sciml_bench.measure.steady import changepoints, outliers, settled, steady_state

MICROSECOND, MILLISECOND, SECOND = 1_000, 1_000_000, 1_000_000_000


def times(*segments: tuple[int, float], call_ns: float = MILLISECOND, spread: float = 0.01, seed: int = 0) -> list[int]:
    """Segments of (calls, length of a call relative to ``call_ns``), with normal noise of a relative spread."""
    generator = np.random.default_rng(seed)
    values = [level * (1.0 + spread * generator.standard_normal(calls)) for calls, level in segments]
    return [round(call_ns * value) for value in np.concatenate(values)]


def classed(samples: Sequence[int]) -> tuple[str, int]:
    state = steady_state(samples)
    assert state is not None
    return state["class"], state["start"]


@pytest.mark.parametrize("call_ns", [10 * MICROSECOND, MILLISECOND, SECOND])
@pytest.mark.parametrize(
    ("segments", "expected", "start"),
    [
        pytest.param([(200, 1.0)], "flat", 0, id="flat"),
        pytest.param([(40, 1.5), (160, 1.0)], "warm_up", 40, id="warm-up"),
        pytest.param([(10, 3.0), (30, 1.5), (160, 1.0)], "warm_up", 40, id="warm-up in two steps"),
        pytest.param([(60, 1.0), (140, 1.3)], "slow_down", 60, id="slowdown"),
        pytest.param([(50, 1.5), (50, 1.0), (100, 1.2)], "slow_down", 100, id="fast in the middle"),
        pytest.param([(170, 1.0), (30, 1.4)], "none", 0, id="change near the end"),
        pytest.param([(60, 1.0), (60, 1.01), (80, 1.0)], "flat", 0, id="a change too small to matter"),
    ],
)
def test_shape_has_its_class(segments: list[tuple[int, float]], expected: str, start: int, call_ns: int):
    assert classed(times(*segments, call_ns=call_ns)) == (expected, start)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("count", [10, 30, 1000])
def test_noise_alone_is_flat(count: int, seed: int):
    assert classed(times((count, 1.0), spread=0.05, seed=seed)) == ("flat", 0)


def test_change_below_the_resolution_of_the_clock_is_none():
    # 60 ns of 500 ns are 12 %: much in relation, nothing that this clock can tell.
    assert classed(times((100, 560.0), (100, 500.0), call_ns=1, spread=0.005)) == ("flat", 0)
    assert classed(times((100, 700.0), (100, 500.0), call_ns=1, spread=0.005)) == ("warm_up", 100)


def test_difference_within_the_spread_of_single_calls_is_none():
    assert classed(times((100, 1.08), (100, 1.0), spread=0.1, seed=3))[0] == "flat"


def test_change_points_are_kept_when_the_segments_are_equal():
    # The variance changes and the mean does not.
    samples = times((100, 1.0), spread=0.001) + times((100, 1.0), spread=0.05)
    state = steady_state(samples)
    assert state is not None
    assert state["class"] == "flat"
    assert state["changepoints"]


def test_slow_first_calls_are_a_warm_up_although_they_lie_far_out():
    assert classed(times((3, 20.0), (27, 1.0))) == ("warm_up", 3)


def test_lone_slow_first_call_takes_one_more_with_it():
    # A segment has two calls at least.
    assert classed(times((1, 20.0), (29, 1.0))) == ("warm_up", 2)


def test_outliers_are_no_segments_and_move_no_index():
    samples = times((100, 1.5), (100, 1.0))
    for index in (20, 21, 50, 150, 199):
        samples[index] *= 8
    assert classed(samples) == ("warm_up", 100)
    assert list(np.flatnonzero(outliers(np.array(samples, float)))) == [20, 21, 50, 150, 199]


def test_outliers_are_judged_by_their_neighbours():
    # 4 ms are ordinary among the first calls, and far out among the last.
    samples = times((1000, 4.0), (1000, 1.0))
    samples[1700] = 4 * MILLISECOND
    assert list(np.flatnonzero(outliers(np.array(samples, float)))) == [1700]


def test_equal_times_are_flat():
    assert classed([5 * MICROSECOND] * 50) == ("flat", 0)
    assert classed([0] * 50) == ("flat", 0)


def test_of_many_calls_groups_are_judged():
    samples = times((6000, 1.5), (12_000, 1.0))
    # Groups of four: a change is found at the start of one.
    state = steady_state(samples)
    assert state is not None
    assert state["class"] == "warm_up"
    assert 6000 <= state["start"] < 6008
    assert state["start"] == state["changepoints"][-1]


def test_too_few_calls_are_not_judged():
    assert steady_state(times((steady.FEWEST_SAMPLES - 1, 1.0))) is None
    assert steady_state([]) is None


def test_warm_up_may_end_when_its_last_segment_is_long_enough():
    assert not settled(times((9, 1.0)))
    assert settled(times((10, 1.0)))
    assert not settled(times((20, 3.0), (5, 1.0)))
    assert not settled(times((12, 3.0), (9, 1.0)))
    assert settled(times((12, 3.0), (12, 1.0)))


def exact_cost(samples: np.ndarray, edges: Sequence[int]) -> float:
    """The penalised cost of a segmentation, from its definition."""
    relative = samples / (float(np.median(samples)) or 1.0) - 1.0
    total = 0.0
    for start, end in pairwise(edges):
        variance = float(np.var(relative[start:end]))
        floored = max(variance, 1e-6)
        total += (end - start) * (math.log(floored) + variance / floored)
    return total + 15.0 * math.log(len(samples)) * (len(edges) - 2)


def optimal(samples: np.ndarray) -> float:
    """The least penalised cost over all segmentations, by dynamic programming without pruning."""
    count = len(samples)
    best: list[float] = [0.0] + [math.inf] * count
    penalty = 15.0 * math.log(count)
    relative = samples / (float(np.median(samples)) or 1.0) - 1.0
    for end in range(2, count + 1):
        for start in range(end - 1):
            variance = float(np.var(relative[start:end]))
            floored = max(variance, 1e-6)
            cost = (end - start) * (math.log(floored) + variance / floored)
            best[end] = min(best[end], best[start] + cost + (penalty if start else 0.0))
    return best[count]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(2, 12), st.sampled_from([1.0, 1.2, 2.0, 5.0])), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.003, 0.05]),
    st.integers(0, 2**32 - 1),
)
def test_pruning_loses_nothing(segments: list[tuple[int, float]], spread: float, seed: int):
    samples = np.array(times(*segments, spread=spread, seed=seed), float)
    found = changepoints(samples)
    assert exact_cost(samples, [0, *found, len(samples)]) == pytest.approx(optimal(samples), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("count", "limit_s"), [(200, 0.05), (5000, 1.0), (100_000, 1.5)])
def test_analysis_is_fast(count: int, limit_s: float):
    samples = times((count // 4, 1.5), (count - count // 4, 1.0))
    steady_state(samples)
    spent = []
    for _ in range(3):
        start = time.process_time()
        steady_state(samples)
        spent.append(time.process_time() - start)
    assert min(spent) < limit_s

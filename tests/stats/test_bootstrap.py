"""The two-level bootstrap against brute force, and what it must not depend on."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from stats.noise import times

from sciml_bench.stats.bootstrap import hierarchical_ratio
from sciml_bench.stats.ratio import paired_ratio

RANDOM = np.random.default_rng(11)
BASE, NEW = (list(map(list, times(RANDOM, 1, 10, 30)[0])) for _ in range(2))


def by_hand(base, new, tail, resamples, seed):
    """The textbook: draw blocks, draw iterations of both of their processes, take the mean log ratio of medians."""
    random = np.random.default_rng(seed)

    def drawn(process):
        times = np.array(process)
        return np.log(np.median(times[random.integers(times.size, size=(resamples, times.size))], axis=1))

    total = np.zeros(resamples)
    for _ in base:
        blocks = random.integers(len(base), size=resamples)
        differences = np.array([drawn(after) - drawn(before) for before, after in zip(base, new, strict=True)])
        total += differences[blocks, np.arange(resamples)]
    return np.exp(np.quantile(total / len(base), (tail, 1 - tail)))


@pytest.mark.parametrize("iterations", [1, 2, 3, 8, 9])
def test_it_is_what_drawing_every_iteration_gives(iterations):
    """Ragged on purpose. The tail of 10 blocks at 95 % is 0.85 % (the expanded percentile)."""
    base = [process[: iterations + k % 2] for k, process in enumerate(BASE)]
    new = [process[:iterations] for process in NEW]
    result = hierarchical_ratio(base, new, resamples=40_000)
    assert result is not None
    low, high = by_hand(base, new, 0.0085488, 10_000, seed=1)
    width = high - low
    assert result.low == pytest.approx(low, abs=0.05 * width)
    assert result.high == pytest.approx(high, abs=0.05 * width)


def test_the_estimate_is_that_of_the_primary_interval():
    result = hierarchical_ratio(BASE, NEW)
    primary = paired_ratio([float(np.median(each)) for each in BASE], [float(np.median(each)) for each in NEW])
    assert result is not None
    assert result.estimate == pytest.approx(primary.estimate)
    assert result.n == 10
    assert result.high - result.low == pytest.approx(primary.high - primary.low, rel=0.25)


def test_the_seed_fixes_it():
    one, again, other = (hierarchical_ratio(BASE, NEW, seed=seed) for seed in (5, 5, 6))
    assert one == again
    assert one != other
    assert one is not None
    assert other is not None
    assert one.low == pytest.approx(other.low, rel=2e-3)


def test_exchanging_the_sides_inverts_it():
    one, other = hierarchical_ratio(BASE, NEW), hierarchical_ratio(NEW, BASE)
    assert one is not None
    assert other is not None
    assert one.estimate == pytest.approx(1 / other.estimate)
    assert one.low == pytest.approx(1 / other.high, rel=2e-3)


def test_units_cancel_and_factors_stay():
    one = hierarchical_ratio(BASE, NEW)
    scaled = hierarchical_ratio(np.array(BASE) * 1e9, np.array(NEW) * 3e9)  # type: ignore[arg-type]
    assert one is not None
    assert scaled is not None
    assert (scaled.low, scaled.high) == (pytest.approx(3 * one.low), pytest.approx(3 * one.high))


def test_the_order_of_iterations_does_not_matter():
    assert hierarchical_ratio([each[::-1] for each in BASE], NEW) == hierarchical_ratio(BASE, NEW)


def test_without_any_noise_the_interval_is_a_point():
    result = hierarchical_ratio([[2.0] * 4] * 6, [[3.0] * 7] * 6)
    assert result is not None
    assert (result.estimate, result.low, result.high) == (pytest.approx(1.5),) * 3


def test_a_single_odd_process_shows():
    """A result that hangs on one process: the primary interval is wide to both sides, the check to one only."""
    new = [[value * (3.0 if k == 0 else 1.0) for value in process] for k, process in enumerate(BASE)]
    check = hierarchical_ratio(BASE, new)
    assert check is not None
    assert check.low == pytest.approx(1, abs=0.02)
    assert check.high > 1.3


@pytest.mark.parametrize("n", [0, 1, 4])
def test_few_blocks_have_no_interval(n):
    assert hierarchical_ratio(BASE[:n], NEW[:n]) is None


def test_bad_input_is_refused_also_where_there_is_no_interval():
    with pytest.raises(ValueError, match="got 10 of base and 9 of new"):
        hierarchical_ratio(BASE, NEW[:9])
    with pytest.raises(ValueError, match="new side has no iterations"):
        hierarchical_ratio([[1.0]], [[]])
    for bad in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="positive finite times, the base side"):
            hierarchical_ratio([[1.0, bad]], [[1.0]])
    with pytest.raises(ValueError, match="1000 resamples"):
        hierarchical_ratio(BASE, NEW, resamples=999)


def calls(resamples: int) -> int:
    """How many functions, of Python or compiled, a ratio calls."""
    count = 0

    def look(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(look)
    try:
        hierarchical_ratio(BASE, NEW, resamples=resamples)
    finally:
        sys.setprofile(None)
    return count


def test_resamples_are_drawn_all_at_once():
    """Ten thousand take a millisecond, as no Python is run for each of them."""
    for resamples in (10_000, 20_000):
        # The draws of a number of resamples are kept.
        hierarchical_ratio(BASE, NEW, resamples=resamples)
    assert calls(20_000) == calls(10_000) < 1000

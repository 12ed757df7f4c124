"""Exponents and crossings on synthetic power laws whose truth is known."""

from __future__ import annotations

import math
import random

import pytest

from sciml_bench.stats.scaling import complete, crossings, power_law

SIZES = (1.0, 4.0, 16.0, 64.0, 256.0)

UNDECIDED = [None] * len(SIZES)


def law(exponent: float, factor: float = 1.0) -> list[float]:
    return [factor * size**exponent for size in SIZES]


def noisy(exponent: float, blocks: int, generator: random.Random, factor: float = 1.0) -> list[list[float]]:
    """A power law in blocks: each host is slower by a factor of its own, each process by a few percent."""
    rows = []
    for _ in range(blocks):
        host = generator.lognormvariate(0.0, 0.3)
        rows.append([host * time * generator.lognormvariate(0.0, 0.05) for time in law(exponent, factor)])
    return rows


@pytest.mark.parametrize("exponent", [-0.5, 0.0, 1.0, 2.7])
def test_an_exact_power_law_gives_its_exponent(exponent):
    found = power_law(SIZES, [law(exponent), law(exponent, 3.0)])
    assert found.exponent == pytest.approx(exponent, abs=1e-12)
    assert (found.low, found.high) == pytest.approx((exponent, exponent), abs=1e-9)
    assert found.local == pytest.approx((exponent,) * 4, abs=1e-12)
    assert not found.curved


def test_least_squares_agree_with_numpy():
    import numpy as np

    (row,) = noisy(1.3, 1, random.Random(5))
    slope = np.polyfit(np.log(SIZES), np.log(row), 1)[0]
    assert power_law(SIZES, [row]).exponent == pytest.approx(slope, rel=1e-12)


def test_one_block_has_no_interval():
    found = power_law(SIZES, [law(1.0)])
    assert (found.low, found.high, found.bend_p, found.n) == (None, None, None, 1)


@pytest.mark.parametrize("blocks", [3, 10])
def test_intervals_cover_as_often_as_they_say(blocks):
    """2 000 seeded trials: 95 % within three standard errors of the simulation (1.5 %)."""
    generator = random.Random(f"coverage/{blocks}")
    trials, inside = 2000, 0
    for _ in range(trials):
        found = power_law(SIZES, noisy(0.8, blocks, generator))
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= 0.8 <= found.high
    assert inside / trials == pytest.approx(0.95, abs=0.015)


def test_a_straight_line_is_seldom_called_curved():
    generator = random.Random("straight")
    called = sum(power_law(SIZES, noisy(1.0, 5, generator)).curved for _ in range(1000))
    assert called / 1000 < 0.07


def test_what_flattens_is_called_curved_and_its_local_slopes_are_told():
    """A constant cost that a linear one overtakes: the usual shape of a batch."""
    generator = random.Random(1)
    rows = [
        [(10.0 + size) * generator.lognormvariate(0.0, 0.02) * host for size in SIZES]
        for host in (generator.lognormvariate(0.0, 0.3) for _ in range(3))
    ]
    found = power_law(SIZES, rows)
    assert found.curved
    assert found.bend_p is not None
    assert found.bend_p < 0.05
    assert found.local[0] < 0.2
    assert found.local[-1] > 0.8


def test_a_small_bend_is_not_told_however_sure_it_is():
    rows = [[size ** (1.0 + 0.005 * math.log(size)) * host for size in SIZES] for host in (1.0, 1.1, 1.3001)]
    found = power_law(SIZES, rows)
    assert found.bend_p is not None
    assert found.bend_p < 0.05
    assert not found.curved


@pytest.mark.parametrize(
    ("sizes", "blocks", "complaint"),
    [
        ((1.0, 2.0), [[1.0, 2.0]], "needs 3 sizes"),
        ((1.0, 4.0, 2.0), [[1.0, 2.0, 3.0]], "must increase"),
        ((1.0, 2.0, 2.0), [[1.0, 2.0, 3.0]], "must increase"),
        ((1.0, 2.0, 4.0), [], "each block needs"),
        ((1.0, 2.0, 4.0), [[1.0, 2.0]], "each block needs"),
        ((1.0, 2.0, 4.0), [[1.0, 0.0, 2.0]], "numbers must be positive"),
        ((0.0, 2.0, 4.0), [[1.0, 1.0, 2.0]], "sizes must be positive"),
    ],
)
def test_what_is_no_sweep_is_refused(sizes, blocks, complaint):
    with pytest.raises(ValueError, match=complaint):
        power_law(sizes, blocks)


def test_a_bend_without_any_scatter_is_certain():
    found = power_law((1.0, 2.0, 4.0), [[1.0, 2.0, 8.0]] * 3)
    assert found.bend_p == pytest.approx(0.0, abs=1e-12)
    assert found.curved
    assert power_law((1.0, 2.0, 4.0), [[1.0, 1.0, 1.0]] * 3).bend_p == 1.0


def test_only_blocks_with_all_sizes_count():
    of_blocks = {1: {1.0: 3.0, 2.0: 4.0}, 0: {1.0: 1.0, 2.0: 2.0}, 2: {1.0: 5.0}, 3: {1.0: 1.0, 2.0: None}}
    assert complete(of_blocks, (1.0, 2.0)) == [[1.0, 2.0], [3.0, 4.0]]


def test_two_laws_cross_where_they_are_equal():
    """n and 12: forward mode grows with the parameters, an adjoint does not."""
    (found,) = crossings(SIZES, [law(1.0), law(1.0, 2.0)], [law(0.0, 12.0), law(0.0, 24.0)], UNDECIDED)
    assert found.size == pytest.approx(12.0)
    assert (found.low, found.high) == pytest.approx((12.0, 12.0))
    assert (found.below, found.above) == (0, 1)


def test_the_interval_of_a_crossing_covers_it():
    generator = random.Random("crossing")
    inside = 0
    for _ in range(500):
        (found,) = crossings(SIZES, noisy(1.0, 4, generator), [law(0.0, 20.0)] * 4, UNDECIDED)
        # The hosts of one side only: what moves the crossing of each block.
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= 20.0 <= found.high
    assert inside / 500 == pytest.approx(0.95, abs=0.04)


def test_what_does_not_cross_within_the_sizes_is_not_extrapolated():
    assert crossings(SIZES, [law(1.0)], [law(0.0, 1e6)], UNDECIDED) == []


@pytest.mark.parametrize(
    ("at_least", "at_most", "sure"),
    [(0, 1, True), (0, None, False), (None, 1, False), (1, 0, False), (1, 1, False), (None, None, False)],
)
def test_a_crossing_is_sure_where_each_side_has_a_size_with_its_winner(at_least, at_most, sure):
    ahead = [at_least, *[None] * (len(SIZES) - 2), at_most]
    (found,) = crossings(SIZES, [law(1.0)], [law(0.0, 12.0)], ahead)
    assert (found.below, found.above, found.sure) == (0, 1, sure)


def test_blocks_of_both_must_be_the_same():
    with pytest.raises(ValueError, match="the same blocks"):
        crossings(SIZES, [law(1.0)], [law(0.0), law(0.0)], UNDECIDED)

"""When a time at equal accuracy is known from above only."""

from __future__ import annotations

import random

import pytest
from stubs.reported import cell, plan, point, record, summarise

from sciml_bench.analysis.process_summary import ProcessSummary
from sciml_bench.analysis.rows import is_bound
from sciml_bench.record.outcome import Outcome

LADDER = (1e-3, 1e-4, 1e-5, 1e-6)


def processes(times_ms, digits, blocks=5, outcomes=None, sd=0.0, seed=0) -> list[ProcessSummary]:
    """Processes with a point for each tolerance of the ladder."""
    generator = random.Random(seed)
    which = cell()
    records = [
        record(
            which,
            [
                point(
                    rtol,
                    solve_ms=ms * generator.lognormvariate(0, sd) if sd else ms * (1 + 0.001 * generator.random()),
                    mescd=reached,
                    outcome=(outcomes or {}).get(rtol, Outcome.OK),
                )
                for rtol, ms, reached in zip(LADDER, times_ms, digits, strict=False)
            ],
            block=block,
        )
        for block in range(blocks)
    ]
    (found,) = summarise(plan([which]), records).cells.values()
    return found.processes


def bound(found, digits) -> bool:
    return is_bound(found, digits, lambda item: item.solve.work)


RISING, DIGITS = (1.0, 2.0, 4.0, 8.0), (5.0, 6.0, 7.0, 8.0)


def test_the_loosest_tolerance_that_is_more_accurate_than_asked_for_is_a_bound():
    assert bound(processes(RISING, DIGITS), 4.0)


@pytest.mark.parametrize("digits", [5.0, 5.5, 8.0, 9.0, None])
def test_what_the_ladder_reaches_is_none(digits):
    assert not bound(processes(RISING, DIGITS), digits)


def test_a_tighter_tolerance_that_is_faster_is_none():
    assert not bound(processes((2.0, 1.0, 4.0, 8.0), DIGITS), 4.0)


def test_a_loosest_tolerance_that_failed_is_none():
    assert not bound(processes(RISING, DIGITS, outcomes={1e-3: Outcome.INACCURATE}), 4.0)


def test_one_process_that_differs_is_enough_for_none():
    found = processes(RISING, DIGITS, blocks=4)
    (odd,) = processes((2.0, 1.0, 4.0, 8.0), DIGITS, blocks=1)
    assert not bound([*found, odd], 4.0)


def test_a_process_that_measured_nothing_says_nothing():
    failed = dict.fromkeys(LADDER, Outcome.TIMEOUT)
    assert bound([*processes(RISING, DIGITS), *processes(RISING, DIGITS, blocks=1, outcomes=failed)], 4.0)
    assert not bound(processes(RISING, DIGITS, outcomes=failed), 4.0)


def test_a_single_tolerance_and_a_single_process():
    assert bound(processes((1.0,), (5.0,)), 4.0)
    assert bound(processes(RISING, DIGITS, blocks=1), 4.0)


@pytest.mark.parametrize("blocks", [3, 5, 10])
def test_noise_makes_no_bound(blocks):
    """Tolerances that cost 5 % more each, in processes that differ by 6 %: the fastest is often not the loosest.

    With the target between the loosest and the next one there is nothing to bound, in any trial.
    """
    steps = (1.0, 1.05, 1.1025, 1.157)
    assert not any(bound(processes(steps, DIGITS, blocks, sd=0.06, seed=seed), 5.5) for seed in range(200))


@pytest.mark.parametrize("blocks", [3, 5, 10])
def test_equal_costs_are_called_a_bound_in_few_trials(blocks):
    """A looser tolerance that is no cheaper: below the target as well, chance alone puts it first everywhere."""
    flat = (1.0, 1.0, 1.0, 1.0)
    found = sum(bound(processes(flat, DIGITS, blocks, sd=0.06, seed=seed), 4.0) for seed in range(200))
    assert found <= 10

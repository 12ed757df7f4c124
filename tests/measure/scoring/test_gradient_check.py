"""Gradients without a reference: differences of the loss and other tolerances find the wrong ones, and nobody is
trusted whom neither can check."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from stubs.clock import FakeClock
from stubs.tasks import reference, stub_task

from sciml_bench.measure.protocol import Enter, Event, PointDone, decode, encode
from sciml_bench.measure.scoring import gradient_check
from sciml_bench.measure.worker import measure
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import CHECK, PointResult, Scores
from sciml_bench.record.task import Numbers, Task


def measured(program: str, limit_s: float = 60.0, **changes: Any) -> tuple[list[PointResult], list[Event]]:
    """The points as they were reported last, and all events."""
    events: list[Event] = []
    task = stub_task(program, **{"reference": None} | changes)
    measure(task, lambda event: events.append(decode(encode(event))), FakeClock(1000), limit_s)
    points = {event.index: event.result for event in events if isinstance(event, PointDone)}
    return list(points.values()), events


def gradients(program: str, **changes: Any) -> list[tuple[Outcome | None, Scores]]:
    return [(point.gradient.outcome, point.gradient.scores or {}) for point in measured(program, **changes)[0]]


def many(n: int) -> Numbers:
    """``n`` decays."""
    rates = tuple(0.2 + 0.1 * i for i in range(n))
    return dataclasses.replace(stub_task().numbers, y0=(1.0,) * n, p=rates, atol_scale=(1.0,) * n)


def test_a_right_gradient_is_confirmed_by_differences():
    points, events = measured("good")
    assert [(point.outcome, point.gradient.outcome) for point in points] == [(Outcome.OK, Outcome.OK)] * 3
    for point in points:
        assert point.gradient.scores is not None
        assert (point.gradient.scores["difference_error"] or 1.0) < 1e-4
        assert point.gradient.scores["differences"] == 2
        assert point.gradient.ns
    entered = [event.name for event in events if isinstance(event, Enter)]
    assert set(entered[-4:]) == {CHECK}


def test_a_certified_gradient_needs_no_differences():
    _, events = measured("good", reference=reference())
    assert CHECK not in {event.name for event in events if isinstance(event, Enter)}


def test_components_that_are_not_certified_are_differenced():
    partly = dataclasses.replace(reference(), gradient_digits=(15.0, 0.0))
    for program, expected in (("good", Outcome.OK), ("MissesTheSecondRate", Outcome.INACCURATE)):
        found = gradients(program, reference=partly)
        assert {outcome for outcome, _ in found} == {expected}
        assert {scores["differences"] for _, scores in found} == {1}


def test_a_missed_component_is_found_and_named():
    points, _ = measured("MissesTheSecondRate")
    assert {point.outcome for point in points} == {Outcome.INACCURATE}
    assert points[0].message.startswith("d loss / d log theta[1]: 0, differences of the loss give -")


def test_a_small_missed_component_does_not_hide_behind_a_large_one():
    numbers = dataclasses.replace(stub_task().numbers, p=(0.5, 8.0))
    assert {outcome for outcome, _ in gradients("MissesTheSecondRate", numbers=numbers)} == {Outcome.INACCURATE}


def test_a_gradient_that_changes_with_the_tolerance_is_inaccurate_where_it_is_off():
    found = gradients("OffWhereLoose")
    assert [outcome for outcome, _ in found] == [Outcome.INACCURATE, Outcome.OK, Outcome.OK]
    assert found[0][1]["tightest_error"] == pytest.approx(0.6, rel=1e-3)


@pytest.mark.parametrize("program", ["NoisyLoss", "NaNBesideTheta"])
def test_a_gradient_that_differences_cannot_judge_is_unchecked(program):
    points, _ = measured(program)
    assert {point.gradient.outcome for point in points} == {Outcome.UNCHECKED}
    assert {point.solve.outcome for point in points} == {Outcome.OK}
    assert {point.outcome for point in points} == {Outcome.UNCHECKED}
    assert "differences of the loss" in points[0].message


def test_differences_end_at_the_time_limit():
    points, _ = measured("good", limit_s=15e-6)
    assert {point.gradient.outcome for point in points} == {Outcome.UNCHECKED}
    assert "longer than the limit" in points[0].message


def test_many_components_are_checked_along_random_directions():
    for program, expected in (("good", Outcome.OK), ("MissesTheSecondRate", Outcome.INACCURATE)):
        found = gradients(program, numbers=many(30))
        assert {outcome for outcome, _ in found} == {expected}
        assert {scores["differences"] for _, scores in found} == {gradient_check.RANDOM}
    names = [name for name, _ in gradient_check.directions(stub_task(reference=None, numbers=many(30)))]
    assert names == [f"random direction {number}" for number in range(1, gradient_check.RANDOM + 1)]


def test_a_loss_that_depends_on_nothing_has_a_gradient_of_zero():
    assert {outcome for outcome, _ in gradients("ConstantLoss")} == {Outcome.OK}


def test_a_point_that_failed_is_not_checked():
    found = gradients("NoGradientWhereTight")
    assert [outcome for outcome, _ in found] == [Outcome.OK, Outcome.OK, Outcome.NONFINITE]


def slope_of(task: Task, loss: Any, rtol: float = 1e-10) -> gradient_check.Slope:
    direction = np.array([1.0, 0.0])
    return gradient_check.slope(loss, task, "first", direction, rtol, 1.0)


@pytest.mark.parametrize("noise", [0.0, 1e-10, 1e-7])
def test_uncertainty_covers_the_error_of_a_difference(noise):
    """Curvature and noise are seen by the disagreement of two step widths."""
    generator = np.random.default_rng(3)

    def loss(theta: np.ndarray) -> float:
        return math.sin(30 * theta[0]) + noise * generator.normal()

    found = slope_of(stub_task(), loss, max(noise, 1e-12))
    truth = 0.5 * 30 * math.cos(15)
    assert abs(found.value - truth) <= 3 * found.uncertainty + 1e-6 * abs(truth)
    assert found.uncertainty < 0.05 * abs(truth)


def test_noise_of_a_large_loss_leaves_its_difference_uncertain():
    """Differences of rounded numbers may agree and be wrong together."""
    task, moves = stub_task(), list[float]()
    start = task.numbers.theta[0]

    def loss(theta: np.ndarray) -> float:
        moves.append(abs(theta[0] - start))
        return 1e3 + theta[0]

    direction = np.eye(1, len(task.numbers.theta))[0]
    found = gradient_check.slope(loss, task, "first", direction, 1e-6, 1e3)
    step = moves[-1] / gradient_check.theta_of(task).sizes[0]
    assert found.uncertainty == pytest.approx(1e-6 * 1e3 / step, rel=1e-3)


def test_a_jump_of_the_loss_is_no_slope():
    found = slope_of(stub_task(), lambda theta: float(theta[0] > 0.5))
    assert found.uncertainty > 0.5 * abs(found.value)


def test_no_difference_confirms_what_double_precision_cannot_evaluate():
    points, events = measured("good", unresolved="the equation of y has 0 correct digits")
    assert {point.gradient.outcome for point in points} == {Outcome.UNCHECKED}
    assert "the equation of y has 0 correct digits" in points[0].message
    assert CHECK not in {event.name for event in events if isinstance(event, Enter)}

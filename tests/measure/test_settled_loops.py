"""Loops that warm up, worsen or lose their clock, measured in this process."""

from __future__ import annotations

from typing import Any

import pytest
from measure.test_measure import events_of, points_of
from stubs.clock import FakeClock

from sciml_bench.measure import point_runner
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.task import Point, Sampling


def warms_up(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """A clock, and in the place of the good program one whose first seven solves take four times as long on it."""
    from stubs import programs

    clock = FakeClock(1000)

    class WarmsUp(programs.Decay):
        solves = 0

        def solve(self, inputs: Any) -> Any:
            self.solves += 1
            clock.sleep(0.004 if self.solves <= 7 else 0.001)
            return super().solve(inputs)

    monkeypatch.setattr(programs, "good", WarmsUp)
    return clock


def test_steady_loop_has_its_class_and_counts_from_where_it_settled(monkeypatch: pytest.MonkeyPatch):
    sampling = Sampling(warm_up_calls=0, steady_calls=40, steady_s=0.0, max_steady_calls=40, perturbation=0.0)
    clock = warms_up(monkeypatch)
    first = points_of(events_of("good", clock, sampling=sampling, points=(Point(1e-4, 1e-4),)))[0]
    assert first.outcome is Outcome.OK
    # The scored call is one of the slow ones.
    assert first.solve.steady == {"class": "warm_up", "start": 6, "changepoints": [6]}
    assert len(first.solve.ns) == 40
    assert set(first.solve.counted_ns) == {1_001_000}


def test_no_steady_state_is_a_result_and_no_failure(monkeypatch: pytest.MonkeyPatch):
    # On this clock each later call is the slower one, whatever it computes.
    monkeypatch.setattr(point_runner, "check_loop", lambda *_: None)

    class Worsens(FakeClock):
        """Each look at it takes longer, by a step every ten looks."""

        looks = 0

        def now_ns(self) -> int:
            self.looks += 1
            self.ns += 1000 * 2 ** (self.looks // 40)
            return self.ns

    sampling = Sampling(warm_up_calls=0, steady_calls=60, steady_s=0.0, max_steady_calls=60, perturbation=0.0)
    first = points_of(events_of("good", Worsens(), limit_s=1e9, sampling=sampling, points=(Point(1e-4, 1e-4),)))[0]
    assert first.outcome is Outcome.OK
    assert first.solve.steady is not None
    assert first.solve.steady["class"] == "none"
    assert first.solve.counted_ns == first.solve.ns


def test_warm_up_in_a_box_goes_on_until_it_has_settled(monkeypatch: pytest.MonkeyPatch):
    sampling = Sampling(1, 3, 0.0, 100, 0.0, warm_up_s=60.0)
    points = (Point(1e-4, 1e-4), Point(1e-6, 1e-6))
    first, second = points_of(events_of("good", warms_up(monkeypatch), sampling=sampling, points=points))
    assert len(first.solve.warm_up_ns) == 17
    assert len(second.solve.warm_up_ns) == 10
    assert set(first.solve.ns) == {1_001_000}


def test_clock_that_goes_back_is_a_failure_of_the_half_in_which_it_did(monkeypatch: pytest.MonkeyPatch):
    from stubs import programs

    clock = FakeClock(1000)

    class IsDisturbed(programs.Decay):
        """Somebody sets the clock back an hour during its fifth solve."""

        solves = 0

        def solve(self, inputs: Any) -> Any:
            self.solves += 1
            clock.sleep(-3600.0 if self.solves == 5 else 0.0)
            return super().solve(inputs)

    monkeypatch.setattr(programs, "good", IsDisturbed)
    first, *others = points_of(events_of("good", clock))
    assert (first.solve.outcome, first.gradient.outcome) == (Outcome.CRASH, Outcome.OK)
    assert "the clock went back by" in first.message
    assert {point.outcome for point in others} == {Outcome.OK}

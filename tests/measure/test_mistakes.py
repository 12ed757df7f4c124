"""Mistakes of well-known harnesses that this one must not make, as far as they are made while measuring.

The numbers are those of the list of mistakes in the methodology.
"""

from __future__ import annotations

from typing import Any

import pytest
from stubs import programs
from stubs.clock import FakeClock
from stubs.tasks import stub_task

from sciml_bench.host.processes.process import Clock
from sciml_bench.measure.protocol import Event, PointDone, decode, encode
from sciml_bench.measure.worker import measure
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import PointResult
from sciml_bench.record.task import Point, Sampling

ONE_POINT = (Point(1e-4, 1e-4),)
LIMIT_S = 15.0


def point_of(program: str, clock: Clock, **changes: Any) -> PointResult:
    """The one point of a stub program."""
    events: list[Event] = []
    task = stub_task(program, points=ONE_POINT, **changes)
    measure(task, lambda event: events.append(decode(encode(event))), clock, LIMIT_S)
    (point,) = [event.result for event in events if isinstance(event, PointDone) and event.complete]
    return point


class TestMistake3ColdCallReportedAsTheSteadyResult:
    """A harness that finds its first call too slow to repeat, and reports that call."""

    @pytest.mark.parametrize("steady_s", [1e-3, 10.0])
    def test_first_call_is_never_a_steady_sample(self, monkeypatch: pytest.MonkeyPatch, steady_s: float):
        clock = FakeClock()

        class CompilesFirst(programs.Decay):
            """Takes longer for its first call than a whole loop may take."""

            calls = 0

            def solve(self, inputs: Any) -> Any:
                self.calls += 1
                clock.sleep(20.0 if self.calls == 1 else steady_s)
                return super().solve(inputs)

        monkeypatch.setattr(programs, "good", CompilesFirst)
        point = point_of("good", clock, sampling=Sampling(1, 3, 0.0, 50, 0.0))
        assert point.solve.first_ns == 20_000_000_000
        assert point.solve.ns
        assert set(point.solve.ns) == {round(steady_s * 1e9)}
        assert set(point.solve.warm_up_ns) == {round(steady_s * 1e9)}
        assert point.truncated == (steady_s > 1.0)

    def test_calls_that_were_still_slow_do_not_count(self, monkeypatch: pytest.MonkeyPatch):
        clock = FakeClock()

        class SettlesLate(programs.Decay):
            calls = 0

            def solve(self, inputs: Any) -> Any:
                self.calls += 1
                clock.sleep(0.1 if self.calls <= 12 else 0.001)
                return super().solve(inputs)

        monkeypatch.setattr(programs, "good", SettlesLate)
        point = point_of("good", clock, sampling=Sampling(0, 50, 0.0, 50, 0.0))
        assert len(point.solve.ns) == 50
        assert set(point.solve.counted_ns) == {1_000_000}


FAILING = (
    "FailsToTrace",
    "RaisesMemoryError",
    "RaisesExhausted",
    "ReturnsNaN",
    "ReturnsWrongShape",
    "RunsOn",
)


@pytest.mark.usefixtures("fake_time")
class TestMistake5ErrorsAsNumbersAndPagesOfTraces:
    """An error written as −1.0 among the results, or a stack trace where a reason should be."""

    @pytest.mark.parametrize("program", FAILING)
    def test_failure_is_a_typed_outcome_and_no_number(self, program: str):
        point = point_of(program, Clock())
        assert point.outcome is not Outcome.OK
        failed = point.solve if point.solve.outcome is not Outcome.OK else point.gradient
        assert point.phase is not None
        numbers = [*point.solve.ns, *point.gradient.ns, *point.solve.warm_up_ns, *point.gradient.warm_up_ns]
        assert all(ns > 0 for ns in numbers)
        if program != "RunsOn":
            assert (failed.ns, failed.scores, failed.first_ns) == ((), None, None)

    @pytest.mark.parametrize("program", FAILING)
    def test_reason_is_a_sentence_and_no_stack_trace(self, program: str):
        message = point_of(program, Clock()).message
        assert message
        assert "Traceback" not in message
        assert "\n" not in message
        assert len(message) < 300


@pytest.mark.usefixtures("fake_time")
class TestMistake6NoWaitForTheComputation:
    """A harness that stops its clock when the computation has been started."""

    def test_time_of_a_program_that_does_not_wait_is_refused(self):
        point = point_of("RunsOn", Clock())
        assert point.solve.outcome is Outcome.BUILD_ERROR
        assert "synchronise() returned before the solve had ended" in point.message

    def test_time_of_a_program_that_waits_holds_the_computation(self):
        point = point_of("RunsOnAndWaits", Clock())
        assert point.outcome is Outcome.OK
        assert min(point.solve.ns) >= programs.RunsOn.seconds * 1e9

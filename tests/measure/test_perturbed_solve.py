"""Trials on perturbed parameters: right, honest about failing, or silently wrong."""

from __future__ import annotations

from typing import Any

import pytest
from stubs.clock import FakeClock
from stubs.tasks import draw, stub_task

from sciml_bench.measure.protocol import End, Event, TrialDone, decode, encode
from sciml_bench.measure.worker import measure
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.perturbed_solve import PerturbedSolve
from sciml_bench.record.task import Point

POINTS = (Point(1e-4, 1e-4), Point(1e-6, 1e-6))


def trials_of(program: str, step_ns: int = 1000, **changes: Any) -> list[PerturbedSolve]:
    events: list[Event] = []
    task = stub_task(program, points=POINTS, **{"stability_s": 60.0, **changes})
    measure(task, lambda event: events.append(decode(encode(event))), FakeClock(step_ns), 60.0)
    assert isinstance(events[-1], End)
    return [event.trial for event in events if isinstance(event, TrialDone)]


def test_every_draw_is_tried_at_every_point():
    found = trials_of("good", draws=(draw(0.4, 2.0), draw(0.6, 3.0)))
    assert [(trial.draw, trial.point) for trial in found] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert {trial.kind(POINTS[trial.point].rtol) for trial in found} == {"right"}


def test_errors_are_against_the_truth_of_the_draw():
    (loose, tight) = trials_of("good", draws=(draw(0.9, 1.1),))
    assert loose.error == pytest.approx(0.5e-5, rel=0.5)
    assert tight.error == pytest.approx(0.5e-7, rel=0.5)


def test_success_with_a_wrong_solution_is_silent():
    found = trials_of("FailsFarOff", draws=(draw(0.9, 2.0),))
    assert [trial.outcome for trial in found] == [Outcome.OK, Outcome.OK]
    assert [trial.kind(POINTS[trial.point].rtol) for trial in found] == ["silent", "silent"]


def test_what_is_no_exception_ends_one_trial_and_not_the_others():
    found = trials_of("LeavesFarOff", draws=(draw(0.2, 2.0), draw(0.6, 2.0)))
    assert [trial.outcome for trial in found] == [Outcome.CRASH, Outcome.CRASH, Outcome.OK, Outcome.OK]


def test_a_typed_failure_is_honest():
    found = trials_of("FailsFarOff", draws=(draw(0.2, 2.0),))
    assert [(trial.outcome, trial.kind(1e-4)) for trial in found] == [(Outcome.MAX_STEPS, "honest")] * 2


def test_the_bound_is_a_thousand_tolerances():
    assert PerturbedSolve(0, 0, Outcome.OK, 0.9e-3).kind(1e-6) == "right"
    assert PerturbedSolve(0, 0, Outcome.OK, 1.1e-3).kind(1e-6) == "silent"
    assert PerturbedSolve(0, 0, Outcome.OK, None).kind(1e-6) is None


def test_trials_end_with_their_time():
    assert trials_of("good", stability_s=0.0, draws=(draw(0.4, 2.0),)) == []
    few = trials_of("good", step_ns=10**8, stability_s=1.0, draws=(draw(0.4, 2.0),) * 50)
    assert 0 < len(few) < 20


def test_nothing_is_tried_without_draws():
    assert trials_of("good") == []


def test_a_worker_kept_from_its_processors_says_nothing_of_a_solver():
    assert PerturbedSolve(0, 0, Outcome.BUSY_TIMEOUT).kind(1e-4) is None
    assert PerturbedSolve(0, 0, Outcome.TIMEOUT).kind(1e-4) == "honest"

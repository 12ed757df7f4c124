"""Trainings in a worker: every step is told, and however it ends the curve up to there is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from stubs.clock import FakeClock
from stubs.tasks import RATES, stub_task
from stubs.training_programs import BAD_STEP

from sciml_bench.measure.protocol import End, Enter, Event, PointDone, TrainingDone, decode, encode
from sciml_bench.measure.worker import measure
from sciml_bench.record import codec
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.task import Point, Training
from sciml_bench.record.training import BUILD, FIRST, MAX_STORED_THETA, PHASES, STEPS, Trained

SGD = Training("sgd", 0.5, 10, 1e-6, 1e-6)


def events_of(program: str, step_ns: int = 1000, limit_s: float = 60.0, training: Training | None = SGD) -> list[Event]:
    events: list[Event] = []
    name = program if program == "good" else f"stubs.training_programs:{program}"
    task = stub_task(name, points=(Point(1e-4, 1e-4),), training=training)
    measure(task, lambda event: events.append(decode(encode(event))), FakeClock(step_ns), limit_s)
    assert isinstance(events[-1], End)
    return events


def training_of(program: str, **changes: Any) -> Trained:
    """The last that is told of a training."""
    done = [event for event in events_of(program, **changes) if isinstance(event, TrainingDone)]
    assert [event.complete for event in done] == [False] * (len(done) - 1) + [True]
    return done[-1].result


def test_every_step_has_its_loss_and_its_time():
    found = training_of("Trains")
    assert (found.outcome, found.phase, found.message) == (Outcome.OK, None, "")
    assert len(found.losses) == len(found.step_ns) == SGD.steps
    assert found.step_ns == (1000,) * SGD.steps
    times, theta = np.array([0.5, 1.0, 2.0]), np.array(RATES)
    for loss in found.losses:
        ys = np.exp(-np.outer(times, theta))
        assert loss == pytest.approx(np.sum(ys**2))
        theta = theta + SGD.learning_rate * np.sum(2 * times[:, None] * ys**2, axis=0) * (1 + 0.1 * SGD.rtol)
    assert found.theta == pytest.approx(theta)
    assert found.theta_size == 2


def test_it_comes_after_the_points_in_phases_of_its_own():
    events = events_of("Trains")
    places = [index for index, event in enumerate(events) if isinstance(event, PointDone)]
    entered = {event.name: index for index, event in enumerate(events) if isinstance(event, Enter)}
    assert places[-1] < entered[BUILD] < entered[FIRST] < entered[STEPS]
    assert PHASES == (BUILD, FIRST, STEPS)


def test_without_one_nothing_is_trained():
    assert not [event for event in events_of("Trains", training=None) if isinstance(event, TrainingDone)]


def test_an_adapter_that_does_not_train_is_unsupported():
    found = training_of("good")
    assert (found.outcome, found.phase, found.losses) == (Outcome.UNSUPPORTED, BUILD, ())


@pytest.mark.parametrize(
    ("program", "outcome", "kept"),
    [("Diverges", Outcome.MAX_STEPS, BAD_STEP), ("Nonfinite", Outcome.NONFINITE, BAD_STEP + 1)],
)
def test_divergence_is_an_outcome_and_the_curve_stays(program, outcome, kept):
    found, whole = training_of(program), training_of("Trains")
    assert (found.outcome, found.phase) == (outcome, STEPS)
    assert len(found.losses) == len(found.step_ns) == kept
    assert found.losses[:BAD_STEP] == whole.losses[:BAD_STEP]
    assert found.losses[BAD_STEP:] == (None,) * (kept - BAD_STEP)
    assert found.message
    assert (found.theta, found.theta_size) == ((), 0)


@pytest.mark.parametrize(
    ("program", "said"), [("ThrowsThetaAway", "the norm of theta is"), ("Explodes", "the loss of step 3 is")]
)
def test_a_training_that_explodes_has_diverged_before_the_next_solve(program, said):
    found = training_of(program)
    assert (found.outcome, found.phase) == (Outcome.DIVERGED, STEPS)
    assert said in found.message
    assert len(found.losses) == BAD_STEP
    assert found.theta_size


def test_the_time_limit_ends_it_between_two_steps():
    found = training_of("Trains", step_ns=10**9, limit_s=12.0)
    assert (found.outcome, found.phase) == (Outcome.TIMEOUT, STEPS)
    assert 1 < len(found.losses) < SGD.steps
    assert f"{len(found.losses)} of 10 steps" in found.message


def test_a_long_one_is_told_of_as_it_goes():
    done = [event for event in events_of("Trains", step_ns=10**9) if isinstance(event, TrainingDone)]
    counts = [len(event.result.losses) for event in done]
    assert len(counts) > 3
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] == SGD.steps


def test_compiling_again_is_found_out():
    found = training_of("Retraces")
    assert (found.outcome, len(found.losses)) == (Outcome.RECOMPILED, SGD.steps)
    assert "9 more times within 9 steps" in found.message


def test_a_theta_of_the_wrong_shape_is_no_success():
    found = training_of("WrongShape")
    assert (found.outcome, found.theta_size) == (Outcome.BUILD_ERROR, 0)


def test_the_target_is_reached_by_the_first_loss_at_or_below_it():
    losses = (9.0, 5.0, 3.0, 4.0, 1.0)
    curve = Trained(
        Training("sgd", 1.0, 5, 1e-6, 1e-6, target=3.0), Outcome.OK, losses=losses, step_ns=(10, 1, 1, 1, 1)
    )
    assert curve.target_step == 2
    assert curve.ended_ns == (10, 11, 12, 13, 14)
    assert (curve.first_step_ns, curve.later_ns) == (10, (1, 1, 1, 1))
    assert Trained(SGD, Outcome.OK, losses=losses).target_step is None
    assert Trained(Training("sgd", 1.0, 5, 1e-6, 1e-6, target=0.5), Outcome.OK, losses=losses).target_step is None


def test_a_round_trip_and_a_bound_on_what_is_kept():
    curve = training_of("Diverges")
    assert codec.decode(Trained, codec.encode(curve) | {"of_a_later_version": 1}) == curve
    assert MAX_STORED_THETA == 2000
    with pytest.raises(ValueError, match="'settings' is missing"):
        codec.decode(Trained, {"outcome": "ok"})


DAMAGES = (
    {"losses": ["3"]}, {"step_ns": [1.5]}, {"theta": [float("nan")]}, {"step_ns": [None]}, {"message": 3},
    {"theta_size": "2"}, {"settings": {"steps": 1.5}}, {"settings": {"target": "low"}}, {"settings": {"optimiser": 1}},
)  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_of_another_kind_is_refused(damage):
    data = codec.encode(training_of("Trains"))
    changed = {key: {**data[key], **value} if isinstance(value, dict) else value for key, value in damage.items()}
    with pytest.raises(ValueError, match="expected, found"):
        codec.decode(Trained, data | changed)

"""Trainings in real worker processes: what was trained is kept however the process ends."""

from __future__ import annotations

from typing import Any

import pytest
from stubs.tasks import stub_task
from stubs.training_programs import BAD_STEP

from sciml_bench.engine.event_log import EventLog
from sciml_bench.engine.group import measure_cell
from sciml_bench.engine.limits import Limits
from sciml_bench.engine.measured_worker import first_calls
from sciml_bench.measure.protocol import ProtocolError, TrainingDone
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Measurement
from sciml_bench.record.task import Point, Training
from sciml_bench.record.training import PHASES, STEPS, Trained

pytestmark = pytest.mark.usefixtures("stub_path")

SGD = Training("sgd", 0.5, 10, 1e-6, 1e-6)
ONE_POINT = (Point(1e-4, 1e-4),)


def measured(program: str, timeout_s: float = 60.0, **changes: Any) -> Measurement:
    name = f"stubs.training_programs:{program}"
    return measure_cell(stub_task(name, points=ONE_POINT, **{"training": SGD, **changes}), Limits(timeout_s=timeout_s))


def trained(measurement: Measurement) -> Trained:
    assert measurement.training is not None
    return measurement.training


def test_a_training_is_part_of_the_measurement():
    measurement = measured("Trains")
    found = trained(measurement)
    assert (measurement.outcome, measurement.message) == (Outcome.OK, "")
    assert (found.outcome, len(found.losses), found.theta_size) == (Outcome.OK, SGD.steps, 2)
    assert set(PHASES) <= set(measurement.phases_ns)
    first, others = measurement.phases_ns[PHASES[1]], measurement.phases_ns[PHASES[2]]
    assert found.step_ns[0] <= first
    assert sum(found.later_ns) <= others


@pytest.mark.parametrize(
    ("program", "outcome", "timeout_s"),
    [
        ("HangsInTraining", Outcome.TIMEOUT, 5.0),
        ("DiesInTraining", Outcome.CRASH, 60.0),
        ("DiesSlowly", Outcome.CRASH, 60.0),
    ],
)
def test_a_process_that_ends_in_its_training_loses_neither_the_points_nor_the_curve(
    program: str, outcome: Outcome, timeout_s: float
):
    """The first step is told at once, the others every other second."""
    measurement = measured(program, timeout_s)
    found = trained(measurement)
    assert measurement.outcome is Outcome.OK
    assert [point.outcome for point in measurement.points] == [Outcome.OK]
    assert (found.outcome, found.phase) == (outcome, STEPS)
    assert len(found.losses) in (range(2, BAD_STEP + 1) if program == "DiesSlowly" else [1])
    assert found.message == measurement.message != ""


def test_what_training_needs_is_not_put_down_to_the_gradients():
    """128 MiB that only the training touches, and a cache that only it hits."""
    plain, hoarding = measured("Trains"), measured("Hoards")
    assert trained(hoarding).outcome is Outcome.OK
    assert hoarding.peak_rss_bytes < plain.peak_rss_bytes + 64 * 2**20
    assert hoarding.compile_cache_hits == 0


def test_a_training_that_is_never_reached_says_so():
    task = stub_task("FailsToBuild", points=ONE_POINT, training=SGD)
    found = trained(measure_cell(task, Limits(timeout_s=60.0)))
    assert (found.outcome, found.phase, found.losses) == (Outcome.BUILD_ERROR, "build", ())
    assert found.message.startswith("not reached: ")


def test_a_process_that_only_fills_caches_does_not_train():
    assert first_calls(stub_task(training=SGD)).training is None


@pytest.mark.parametrize(
    "told",
    [
        Trained(Training("sgd", 0.1, 10, 1e-6, 1e-6), Outcome.OK),
        Trained(SGD, Outcome.OK, losses=(1.0, 2.0), step_ns=(1,)),
        Trained(SGD, Outcome.OK, losses=(1.0,) * 11, step_ns=(1,) * 11),
        Trained(SGD, Outcome.OK, losses=(1.0,), step_ns=(-1,)),
        Trained(SGD, Outcome.OK, losses=(1.0,), step_ns=(10**18,)),
    ],
)
def test_an_impossible_training_is_refused(told: Trained):
    import time

    log = EventLog(stub_task(training=SGD), time.perf_counter_ns(), 0)
    with pytest.raises(ProtocolError):
        log.receive(TrainingDone(told, complete=True))

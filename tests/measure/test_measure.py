"""Whole cells, measured in this process: phases, points and outcomes that a worker tells."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from stubs.clock import FakeClock
from stubs.tasks import RATES, reference, stub_task

from sciml_bench.host.processes.process import Clock
from sciml_bench.measure.protocol import End, Enter, Event, PhaseDone, PointDone, decode, encode
from sciml_bench.measure.worker import measure
from sciml_bench.record import codec
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import MAX_STORED_COMPONENTS, PointResult
from sciml_bench.record.process import WorkerInfo
from sciml_bench.record.task import Point, Sampling


def events_of(program: str, clock: Clock | None = None, limit_s: float = 60.0, **changes: Any) -> list[Event]:
    """What a worker tells of a stub program; every event passes through its JSON line."""
    events: list[Event] = []
    task = stub_task(program, **changes)
    measure(task, lambda event: events.append(decode(encode(event))), clock or FakeClock(1000), limit_s)
    return events


def end_of(events: list[Event]) -> End:
    assert isinstance(events[-1], End)
    return events[-1]


def facts_of(events: list[Event]) -> WorkerInfo:
    told = end_of(events).worker
    assert told is not None
    return told


def points_of(events: list[Event]) -> list[PointResult]:
    """The points as they were reported last."""
    last = {event.index: event.result for event in events if isinstance(event, PointDone) and event.complete}
    return list(last.values())


def test_phases_come_in_order_and_the_gradient_before_the_solve():
    entered = [event.name for event in events_of("good") if isinstance(event, Enter)]
    loops = ["warm_up_solve", "steady_solve", "warm_up_gradient", "steady_gradient"]
    later = ["gradient", "solve", *loops]
    assert entered == ["import", "build", "first_gradient", "first_solve", *loops, *later, *later]


def test_a_half_that_is_not_asked_for_is_never_called():
    events = events_of("FailsToTrace", calls=("solve",))
    entered = [event.name for event in events if isinstance(event, Enter)]
    loops = ["warm_up_solve", "steady_solve"]
    assert entered == ["import", "build", "first_solve", *loops, "solve", *loops, "solve", *loops]
    for point in points_of(events):
        assert (point.outcome, point.solve.outcome, point.gradient.outcome) == (Outcome.OK, Outcome.OK, None)
        assert len(point.solve.ns) == 3
        assert point.gradient.first_ns is None
    gradients = events_of("ReturnsNaN", calls=("gradient",))
    assert {point.solve.outcome for point in points_of(gradients)} == {None}
    assert "first_solve" not in [event.name for event in gradients if isinstance(event, Enter)]


def test_every_entered_phase_of_a_good_program_completes():
    events = events_of("good")
    entered = [(event.name, event.point) for event in events if isinstance(event, Enter)]
    completed = [(event.name, event.point) for event in events if isinstance(event, PhaseDone)]
    assert completed == entered


def test_first_gradient_phase_holds_the_call_and_nothing_else():
    events = events_of("good", FakeClock(1000))
    phase = next(event for event in events if isinstance(event, PhaseDone) and event.name == "first_gradient")
    assert phase.ns == 1000
    assert points_of(events)[0].gradient.first_ns == 1000


def test_good_program():
    events = events_of("good")
    assert end_of(events).outcome is Outcome.OK
    first, _, last = points_of(events)
    assert (first.outcome, first.solve.outcome, first.gradient.outcome) == (Outcome.OK,) * 3
    assert (first.phase, first.message) == (None, "")
    assert (first.rtol, last.rtol) == (1e-4, 1e-8)
    assert len(first.solve.ns) == len(first.gradient.ns) == 3
    assert len(first.solve.warm_up_ns) == len(first.gradient.warm_up_ns) == 1
    assert first.solve.scores is not None
    assert first.gradient.scores is not None
    assert first.solve.scores["scd"] == pytest.approx(5.0, abs=0.01)
    assert first.gradient.scores["error"] == pytest.approx(1e-5)
    assert last.solve.scores is not None
    assert last.solve.scores["scd"] == pytest.approx(9.0, abs=0.01)
    assert first.solve.statistics == {"steps": 7.0}
    assert first.gradient.statistics == {"steps": 9.0, "rate": None}
    truth = reference()
    np.testing.assert_allclose(
        np.array(last.solve.end_state, dtype=float), np.array(truth.solution[-1], dtype=float), rtol=1e-8
    )
    assert truth.gradient is not None
    np.testing.assert_allclose(np.array(last.gradient.values, dtype=float), truth.gradient, rtol=1e-8)
    assert (first.gradient.size, first.solve.state_size) == (len(RATES), 2)
    assert first.memory_growth_bytes is not None
    assert not first.truncated


def test_end_tells_memory_versions_and_threads():
    told = facts_of(events_of("good"))
    assert told.peak_rss_bytes > 10 * 2**20
    assert told.versions["stub"] == "1.2.3"
    assert told.threads["threads_stub"] == "1"


def test_scored_calls_are_unperturbed_and_loops_are_not(monkeypatch: pytest.MonkeyPatch):
    from stubs import programs

    thetas: list[tuple[float, ...]] = []

    class Notes(programs.Decay):
        def prepare(self, theta: Any, point: Point) -> Any:
            thetas.append(tuple(theta))
            return super().prepare(theta, point)

    monkeypatch.setattr(programs, "good", Notes)
    events_of("good", points=(Point(1e-4, 1e-4),))
    assert thetas[:2] == [RATES, RATES]
    # Two warm-up and six steady calls, the inputs after each loop, and one call in a way that is drawn by lot.
    assert len(set(thetas[2:]) - {RATES}) in (8, 9, 10)
    assert len(thetas[2:]) == 12
    assert RATES not in thetas[2:6]


@pytest.mark.parametrize(
    ("program", "outcome", "phase", "message"),
    [
        ("stubs.missing_framework:build", Outcome.IMPORT_ERROR, "import", "a_framework_that_is_not_installed"),
        ("stubs.broken_framework:build", Outcome.IMPORT_ERROR, "import", "another version of NumPy"),
        ("stubs.programs:no_such_function", Outcome.IMPORT_ERROR, "import", "missing function 'no_such_function'"),
        ("FailsToBuild", Outcome.BUILD_ERROR, "build", "RuntimeError: no such device"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_failure_before_the_points(program: str, outcome: Outcome, phase: str, message: str):
    events = events_of(program)
    end = end_of(events)
    assert (end.outcome, end.phase) == (outcome, phase)
    assert message in end.message
    assert not points_of(events)


@pytest.mark.parametrize(
    ("program", "solve", "gradient", "phase", "message"),
    [
        ("FailsToTrace", Outcome.OK, Outcome.BUILD_ERROR, "first_gradient", "cannot differentiate a while loop"),
        ("RaisesMemoryError", Outcome.OK, Outcome.OUT_OF_MEMORY, "first_gradient", "MemoryError"),
        ("RaisesExhausted", Outcome.OK, Outcome.OUT_OF_MEMORY, "first_gradient", "RESOURCE_EXHAUSTED"),
        ("ReturnsNaN", Outcome.NONFINITE, Outcome.OK, "first_solve", "6 of 6 values that are not finite"),
        ("ReturnsWrongShape", Outcome.BUILD_ERROR, Outcome.OK, "first_solve", "shape (2, 2), expected (3, 2)"),
        ("ReturnsComplex", Outcome.BUILD_ERROR, Outcome.OK, "first_solve", "the solution is complex"),
        ("FailsWithSuccess", Outcome.BUILD_ERROR, Outcome.OK, "first_solve", "all went well"),
        ("WrongSolution", Outcome.INACCURATE, Outcome.OK, "first_solve", "mixed error at t1 is"),
        ("WrongGradient", Outcome.OK, Outcome.INACCURATE, "first_gradient", "the gradient error is 2.0e+00"),
        ("Recompiles", Outcome.RECOMPILED, Outcome.OK, "steady_solve", "3 more times within 3 timed solve calls"),
    ],
)
def test_failure_of_one_half_leaves_the_other(
    program: str, solve: Outcome, gradient: Outcome, phase: str, message: str
):
    events = events_of(program)
    assert end_of(events).outcome is Outcome.OK
    points = points_of(events)
    assert len(points) == 3
    first = points[0]
    assert (first.solve.outcome, first.gradient.outcome) == (solve, gradient)
    assert first.outcome is (gradient if solve is Outcome.OK else solve)
    assert first.phase == phase
    assert message in first.message
    if solve is Outcome.OK:
        assert len(first.solve.ns) == 3
    if gradient is Outcome.OK:
        assert len(first.gradient.ns) == 3


@pytest.mark.usefixtures("fake_time")
def test_missing_block_is_a_build_error():
    points = points_of(events_of("RunsOn", Clock(), points=(Point(1e-4, 1e-4),)))
    assert points[0].solve.outcome is Outcome.BUILD_ERROR
    assert "synchronise() returned before" in points[0].message
    assert points[0].gradient.outcome is Outcome.OK


def test_times_of_inaccurate_and_recompiled_halves_are_kept():
    assert len(points_of(events_of("WrongSolution"))[0].solve.ns) == 3
    assert len(points_of(events_of("Recompiles"))[0].solve.ns) == 3


@pytest.mark.parametrize(
    ("program", "outcome", "phase"),
    [
        ("MaxStepsAtTightPoint", Outcome.MAX_STEPS, "solve"),
        ("BreaksAtTightPoint", Outcome.CRASH, "gradient"),
    ],
)
def test_failure_at_a_point_leaves_the_points_after_it(program: str, outcome: Outcome, phase: str):
    points = points_of(events_of(program, points=(Point(1e-4, 1e-4), Point(1e-8, 1e-8), Point(1e-6, 1e-6))))
    assert [point.outcome for point in points] == [Outcome.OK, outcome, Outcome.OK]
    assert points[1].phase == phase


def test_failure_in_the_first_call_leaves_the_points_after_it():
    points = points_of(events_of("BreaksAtTightPoint", points=(Point(1e-8, 1e-8), Point(1e-4, 1e-4))))
    assert [point.outcome for point in points] == [Outcome.BUILD_ERROR, Outcome.OK]
    assert points[0].solve.outcome is Outcome.OK


def test_no_reference_gives_no_scores_and_no_gate():
    points = points_of(events_of("WrongSolution", reference=None))
    assert {point.outcome for point in points} == {Outcome.OK}
    assert points[0].solve.scores is None
    assert points[0].gradient.scores is not None
    assert "error" not in points[0].gradient.scores


def test_loops_cut_by_the_time_limit_are_marked():
    sampling = Sampling(warm_up_calls=0, steady_calls=10, steady_s=0.0, max_steady_calls=10, perturbation=0.0)
    first = points_of(events_of("good", FakeClock(10**9), limit_s=15.0, sampling=sampling))[0]
    assert first.outcome is Outcome.OK
    assert 0 < len(first.solve.ns) < 10
    assert first.truncated


def test_memory_that_grows_over_the_steady_loop_is_told():
    sampling = Sampling(warm_up_calls=1, steady_calls=40, steady_s=0.0, max_steady_calls=40, perturbation=0.0)
    point = (Point(1e-4, 1e-4),)
    leaking = points_of(events_of("Leaks", sampling=sampling, points=point))[0].memory_growth_bytes
    assert leaking is not None
    assert leaking > 30 * 2**20


def test_versions_that_cannot_be_read_do_not_fail_the_cell(capsys: pytest.CaptureFixture[str]):
    events = events_of("TellsNoVersions")
    assert end_of(events).outcome is Outcome.OK
    assert facts_of(events).versions["program"] == "unknown (RuntimeError in versions())"
    assert "no metadata" in capsys.readouterr().err


def test_points_are_told_before_they_are_complete():
    told = [event for event in events_of("good") if isinstance(event, PointDone) and event.index == 0]
    assert [event.complete for event in told] == [False, False, False, False, True]
    scored, unchecked, solved, *_ = (event.result for event in told)
    assert scored.solve.scores is not None
    assert (scored.solve.outcome, scored.solve.ns) == (None, ())
    # Checks of a loop may end the worker: its samples are known by then.
    assert unchecked.solve.outcome is None
    assert unchecked.solve.ns == solved.solve.ns != ()
    assert (solved.solve.outcome, solved.gradient.outcome) == (Outcome.OK, None)


def test_long_gradients_are_stored_in_part():
    values = tuple(float(number) for number in range(1, 301))
    numbers = stub_task().numbers
    import dataclasses

    numbers = dataclasses.replace(numbers, y0=(1.0,) * 300, p=values, atol_scale=(1.0,) * 300)
    point = points_of(events_of("good", numbers=numbers, reference=None))[0]
    assert len(point.gradient.values) == len(point.solve.end_state) == MAX_STORED_COMPONENTS
    assert point.gradient.size == point.solve.state_size == 300


def test_what_a_framework_did_is_told_with_the_first_call_of_its_kind():
    events = events_of("TellsItsPhases")
    inside = {(event.name, event.point): event.inside for event in events if isinstance(event, PhaseDone)}
    told = {key: value for key, value in inside.items() if value}
    assert told == {
        ("first_gradient", 0): {"gradient_trace": 20, "gradient_lower": 30, "gradient_compile": 40},
        ("first_solve", 0): {"solve_compile": 10},
    }


def test_a_framework_cannot_have_compiled_for_longer_than_the_call_took():
    events = events_of("BoastsOfItsPhases", FakeClock(1000))
    phase = next(event for event in events if isinstance(event, PhaseDone) and event.name == "first_gradient")
    assert phase.inside == {"gradient_trace": 1000, "gradient_compile": 0}


def test_cache_hits_are_told_where_the_framework_does():
    assert facts_of(events_of("good")).compile_cache_hits is None
    assert facts_of(events_of("FindsCompiledCode")).compile_cache_hits == 0


def test_cache_hits_that_cannot_be_read_do_not_fail_the_cell(capsys: pytest.CaptureFixture[str]):
    events = events_of("FailsToSayWhatItFound")
    assert (end_of(events).outcome, facts_of(events).compile_cache_hits) == (Outcome.OK, None)
    assert "no counter" in capsys.readouterr().err


def test_energy_is_told_or_the_reason_why_not():
    energy = end_of(events_of("good")).energy
    assert energy is not None
    assert "not_measurable" in energy


def test_loops_too_short_to_judge_count_whole():
    first = points_of(events_of("good"))[0]
    assert first.solve.steady is None
    assert first.solve.counted_ns == first.solve.ns
    assert first.gradient.counted_ns == first.gradient.ns


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets a peak")
def test_what_a_call_holds_at_its_peak_is_told():
    first = points_of(events_of("HoldsMemory", points=(Point(1e-4, 1e-4),)))[0]
    assert first.gradient.working_bytes is not None
    assert first.solve.working_bytes is not None
    assert 30 * 2**20 < first.gradient.working_bytes < 40 * 2**20
    assert first.solve.working_bytes < 4 * 2**20


@pytest.mark.parametrize("program", ["OwnSteps", "OneTrajectoryFails"])
def test_each_trajectory_of_a_batch_has_its_steps_and_its_outcome(program: str):
    first = points_of(events_of(program, points=(Point(1e-4, 1e-4),)))[0]
    told = first.solve.trajectories
    assert told is not None
    assert told.n_steps == (7, 9, 11)
    assert (told.total_steps, told.median_steps, told.shared_steps) == (27, 9, False)
    failed = {Outcome.MAX_STEPS: 1} if program == "OneTrajectoryFails" else {}
    assert told.outcomes == {Outcome.OK: 3 - len(failed), **failed}
    assert first.solve.outcome is (Outcome.MAX_STEPS if failed else Outcome.OK)
    assert codec.decode(PointResult, codec.encode(first)).solve.trajectories == told

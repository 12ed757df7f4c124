"""Which processes run, in which order, and which groups are measured once more: no worker is started here."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stubs.carried import NOISE, Measure, made_plan, new_run, noisy_at, use
from stubs.records import stub_measurement, stub_record

from sciml_bench.execution.executor import Step, Watcher, execute
from sciml_bench.execution.schedule import remaining
from sciml_bench.planning.plan import Plan
from sciml_bench.planning.profiles import profile_named
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import GradientResult, PointResult
from sciml_bench.record.record import Measurement, Record
from sciml_bench.record.retry_policy import is_starved
from sciml_bench.record.run_folder import Run
from sciml_bench.record.supersession import counting_records
from sciml_bench.record.task import Task, Training
from sciml_bench.record.training import Trained


def carry_out(plan: Plan, run: Run) -> None:
    assert not execute(plan, run)


def told(run: Run) -> list[tuple[str, str, int, int]]:
    """Problem, adapter, block and attempt of every record, in the order in which they were made."""
    return [(r.cell.problem, r.cell.adapter, r.block, r.attempt) for r in run.records()]


def test_quiet_run_measures_everything_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    use(monkeypatch, noisy_at())
    plan, run = made_plan(), new_run(tmp_path)
    carry_out(plan, run)
    assert len(told(run)) == len(plan.slots) == 4
    assert {attempt for *_, attempt in told(run)} == {0}


def test_disturbed_group_is_measured_once_more_right_after_it_and_both_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # Everything is disturbed in block 1 and 2, the repetitions too: there is no second one.
    use(monkeypatch, noisy_at(*range(2, 100)))
    plan, run = made_plan(processes=3), new_run(tmp_path)
    carry_out(plan, run)
    assert [(block, attempt) for *_, block, attempt in told(run)] == [
        (0, 0), (0, 0), (1, 0), (1, 0), (1, 1), (1, 1), (2, 0), (2, 0), (2, 1), (2, 1),
    ]  # fmt: skip
    orders = [(record.order, record.attempt) for record in run.records() if record.block == 1]
    assert [order for order, attempt in orders if attempt == 1] == [order for order, attempt in orders if attempt == 0]
    counting = counting_records(run.records()).values()
    assert sorted(record.attempt for record in counting) == [0, 0, 1, 1, 1, 1]


def test_one_disturbed_cell_repeats_its_whole_group_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    use(monkeypatch, noisy_at(1))
    plan, run = made_plan(processes=1, problems=("decay", "calm")), new_run(tmp_path)
    carry_out(plan, run)
    first = told(run)[0][0]
    assert sorted(record for record in told(run) if record[3] == 1) == [(first, "alpha", 0, 1), (first, "beta", 0, 1)]
    # Right after the group, before the next problem.
    assert [attempt for *_, attempt in told(run)] == [0, 0, 1, 1, 0, 0]


@pytest.mark.parametrize("name", ["smoke", "quick"])
def test_profile_that_must_be_fast_repeats_nothing(name: str):
    assert not profile_named(name).rerun_noisy
    assert profile_named("standard").rerun_noisy


def test_nothing_is_repeated_where_the_profile_does_not_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    use(monkeypatch, noisy_at(*range(100)))
    plan, run = made_plan(rerun_noisy=False), new_run(tmp_path)
    carry_out(plan, run)
    assert {attempt for *_, attempt in told(run)} == {0}
    assert all(record.noisy == NOISE for record in run.records())


def failing(task: Task, outcome: Outcome = Outcome.TIMEOUT, noisy: tuple[str, ...] = ()) -> Measurement:
    points = tuple(PointResult.failed(point, outcome, "gradient", "too long") for point in task.points)
    return stub_measurement(outcome=outcome, points=points, noisy=noisy)


def test_cell_that_gave_nothing_is_not_repeated_and_repeats_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def measure(task: Task, number: int) -> Measurement:
        if task.cell.adapter == "alpha":
            return failing(task, Outcome.MAX_STEPS, NOISE)
        return stub_measurement(noisy=NOISE if number > 3 else ())

    use(monkeypatch, measure)
    plan, run = made_plan(processes=3), new_run(tmp_path)
    carry_out(plan, run)
    adapters = [(adapter, block, attempt) for _, adapter, block, attempt in told(run)]
    assert adapters.count(("alpha", 0, 0)) == 1
    assert not any(adapter == "alpha" and (block or attempt) for adapter, block, attempt in adapters)
    assert [(block, attempt) for adapter, block, attempt in adapters if adapter == "beta"][:2] == [(0, 0), (1, 0)]


def blocks_of_alpha(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ends: Measure, **options: Any
) -> list[tuple[int, int]]:
    """The blocks and attempts in which alpha ran, where beta is good and quiet."""
    counts = itertools.count()

    def measure(task: Task, _number: int) -> Measurement:
        return ends(task, next(counts)) if task.cell.adapter == "alpha" else stub_measurement()

    use(monkeypatch, measure)
    plan, run = made_plan(processes=5, **options), new_run(tmp_path)
    carry_out(plan, run)
    assert remaining(plan, run) == []
    return [(block, attempt) for _, adapter, block, attempt in told(run) if adapter == "alpha"]


@pytest.mark.parametrize("outcome", [Outcome.CRASH, Outcome.BUILD_ERROR, Outcome.OUT_OF_MEMORY, Outcome.RECOMPILED])
def test_what_broke_twice_alike_is_not_run_a_third_time(tmp_path, monkeypatch, outcome: Outcome):
    ran = blocks_of_alpha(monkeypatch, tmp_path, lambda task, _: failing(task, outcome))
    assert ran == [(0, 0), (1, 0)]


def test_what_broke_in_two_ways_is_run_until_two_are_equal(tmp_path, monkeypatch):
    ways = [Outcome.CRASH, Outcome.OUT_OF_MEMORY, Outcome.BUILD_ERROR, Outcome.CRASH]
    ran = blocks_of_alpha(monkeypatch, tmp_path, lambda task, count: failing(task, ways[count]))
    assert ran == [(block, 0) for block in range(4)]


def test_a_timeout_beside_other_work_is_tried_once_more_before_it_counts(tmp_path, monkeypatch):
    disturbed = blocks_of_alpha(monkeypatch, tmp_path, lambda task, _: failing(task, noisy=NOISE), rerun_noisy=False)
    assert disturbed == [(0, 0), (1, 0)]
    quiet = blocks_of_alpha(monkeypatch, tmp_path / "quiet", lambda task, _: failing(task))
    assert quiet == [(0, 0)]


def test_a_timeout_beside_other_work_is_measured_again_at_once_where_the_profile_repeats(tmp_path, monkeypatch):
    def ends(task: Task, count: int) -> Measurement:
        return failing(task, noisy=NOISE) if count == 0 else stub_measurement()

    assert blocks_of_alpha(monkeypatch, tmp_path, ends)[:3] == [(0, 0), (0, 1), (1, 0)]


@pytest.mark.parametrize("rerun_noisy", [True, False])
def test_a_worker_kept_from_its_processors_is_measured_again_whatever_the_profile(
    tmp_path, monkeypatch, rerun_noisy: bool
):
    def starved_once(task: Task, count: int) -> Measurement:
        return failing(task, Outcome.BUSY_TIMEOUT, NOISE) if count == 0 else stub_measurement()

    ran = blocks_of_alpha(monkeypatch, tmp_path, starved_once, rerun_noisy=rerun_noisy)
    assert ran[:3] == [(0, 0), (0, 1), (1, 0)]
    assert len(ran) == 6


def test_a_worker_that_is_always_kept_from_its_processors_settles_nothing(tmp_path, monkeypatch):
    ran = blocks_of_alpha(monkeypatch, tmp_path, lambda task, _: failing(task, Outcome.BUSY_TIMEOUT, NOISE))
    assert ran == [(block, attempt) for block in range(5) for attempt in (0, 1)]


def test_a_gradient_kept_from_its_processors_is_measured_again_though_its_solve_is_inaccurate(tmp_path, monkeypatch):
    def starved_once(task: Task, count: int) -> Measurement:
        if count:
            return stub_measurement()
        failed = failing(task, Outcome.INACCURATE)
        starved = GradientResult(Outcome.BUSY_TIMEOUT)
        return replace(failed, points=tuple(replace(point, gradient=starved) for point in failed.points))

    ran = blocks_of_alpha(monkeypatch, tmp_path, starved_once)
    assert ran[:3] == [(0, 0), (0, 1), (1, 0)]
    assert len(ran) == 6


@pytest.mark.parametrize("before", range(1, 8))
def test_run_that_was_interrupted_goes_on_as_it_would_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int
):
    plan = made_plan(processes=2)
    whole = new_run(tmp_path / "whole")
    use(monkeypatch, noisy_at(*range(100)))
    carry_out(plan, whole)
    assert len(told(whole)) == 8

    def interrupted(_task: Task, number: int) -> Measurement:
        if number == before:
            raise KeyboardInterrupt
        return stub_measurement(noisy=NOISE)

    run = new_run(tmp_path / "interrupted")
    use(monkeypatch, interrupted)
    with pytest.raises(KeyboardInterrupt):
        carry_out(plan, run)
    assert len(told(run)) == before
    assert remaining(plan, run)
    use(monkeypatch, noisy_at(*range(100)))
    carry_out(plan, run)
    assert told(run) == told(whole)
    assert remaining(plan, run) == []


def test_places_count_the_plan_and_not_the_repetitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    use(monkeypatch, noisy_at(0))
    plan, run = made_plan(processes=1), new_run(tmp_path)
    seen: list[tuple[int, int, int]] = []

    class Places(Watcher):
        def finished(self, step: Step, record: Record) -> None:
            seen.append((step.place, step.total, record.attempt))

    execute(plan, run, Places())
    assert seen == [(1, 2, 0), (2, 2, 0), (1, 2, 1), (2, 2, 1)]


def test_damaged_line_is_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    use(monkeypatch, noisy_at())
    plan, run = made_plan(processes=1), new_run(tmp_path)
    carry_out(plan, run)
    lines = run.records_path.read_text().splitlines(keepends=True)
    run.records_path.write_text(lines[0] + '{"schema": 2, "cell_id": 3}\n')
    (slot,) = remaining(plan, run)
    assert slot.attempt == 0


def test_a_training_kept_from_its_processors_is_starved_too():
    trained = Trained(Training("sgd", 0.1, 10, 1e-6, 1e-6), Outcome.BUSY_TIMEOUT)
    assert is_starved(stub_record(training=trained))
    assert not is_starved(stub_record())

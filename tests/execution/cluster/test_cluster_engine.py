"""Units given to a scheduler that may lose, repeat, deny or forget them: nothing is lost, doubled or waited for."""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from stubs.carried import use
from stubs.cluster import (
    HERE,
    NODE,
    Fate,
    Killed,
    Stub,
    Study,
    Time,
    comparable_plan,
    is_cancelled,
    never_starts,
    vanishes,
    works,
)  # fmt: skip
from stubs.records import stub_measurement

from sciml_bench.errors import EngineError, StoreError
from sciml_bench.execution import shard
from sciml_bench.execution.cluster.engine import MOST_TASKS, Clock, ClusterEngine
from sciml_bench.execution.cluster.scheduler import Phase, State
from sciml_bench.execution.cluster.task import Order, Shard, carry_out_task
from sciml_bench.execution.cluster.task_folder import TASKS, End, Ending, Machine, TaskFolder, tasks_of
from sciml_bench.execution.executor import execute
from sciml_bench.execution.owner import SILENT_S, owned
from sciml_bench.host.doctor.finding import Finding, Status
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.run_folder import Run

TASK = "sciml_bench.execution.cluster.task"


def test_all_units_are_one_array_and_come_back(study: Study):
    scheduler = Stub()
    rest = study.carry_out(scheduler)
    assert not rest
    assert [len(units) for units in scheduler.submitted] == [4]
    study.assert_whole()
    # The records name the environment of the node, which is kept.
    (environment,) = {record.environment_hash for record in study.run.records()}
    assert environment in study.run.environments
    assert {record.host for record in study.run.records()} == {
        record.host for record in study.run.records() if record.host
    }


@pytest.mark.parametrize("fate", [vanishes, is_cancelled])
def test_a_task_that_ends_without_a_word_is_submitted_again(study: Study, fate: Fate):
    scheduler = Stub(works, fate, works, fate)
    assert not study.carry_out(scheduler)
    assert [len(units) for units in scheduler.submitted] == [4, 2]
    assert sum("submitted again" in line for line in study.news) == 2
    study.assert_whole()


def test_a_unit_that_never_comes_back_is_lost_with_its_reasons_and_can_be_tried_again(study: Study):
    lost = ("000-decay", "000-calm")[0]

    def fate(order: Order) -> State | None:
        return is_cancelled(order) if order.unit == lost else works(order)

    scheduler = Stub(*[fate] * 20)
    rest = study.carry_out(scheduler)
    assert list(rest.lost) == [lost]
    assert "CANCELLED" in rest.lost[lost]
    assert sum(units.count(lost) for units in scheduler.submitted) == MOST_TASKS
    assert not study.carry_out(Stub())
    study.assert_whole()


def test_a_running_task_without_a_sign_is_ended_and_submitted_again(study: Study):
    scheduler = Stub(never_starts)
    assert not study.carry_out(scheduler)
    assert scheduler.cancelled == ["1_0"]
    assert study.time.seconds >= SILENT_S
    assert any("no sign for 600 s on n1" in line for line in study.news)
    study.assert_whole()


def interrupt_second(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """End the task in its second process; returns the numbers of the processes that were begun."""
    begun: list[int] = []

    def interrupted(_task: Any, number: int) -> Any:
        begun.append(number)
        if number == 1:
            signal.raise_signal(signal.SIGTERM)
        return stub_measurement()

    use(monkeypatch, interrupted)
    return begun


def test_an_interrupted_task_is_continued_on_its_machine(study: Study, monkeypatch: pytest.MonkeyPatch):
    measured = interrupt_second(monkeypatch)
    assert not study.carry_out(Stub())
    study.assert_whole()
    (again,) = [found[1] for found in tasks_of(study.run.folder / TASKS).values() if len(found) > 1]
    assert "continues task 1" in again.log_path.read_text()
    # The process before the interruption was not measured again.
    assert len(measured) == 9


def test_records_of_another_machine_are_not_continued(study: Study, monkeypatch: pytest.MonkeyPatch):
    machines = iter(["one", *["other"] * 10])
    monkeypatch.setattr(f"{TASK}.pseudonym", lambda _salt: next(machines))

    measured = interrupt_second(monkeypatch)
    assert not study.carry_out(Stub())
    study.assert_whole()
    assert {record.host for record in study.run.records()} == {"other"}
    assert len(measured) == 10


def test_a_task_that_its_scheduler_repeats_gives_way(study: Study):
    def twice(order: Order) -> State | None:
        carry_out_task(order)
        return works(order)

    assert not study.carry_out(Stub(twice, twice))
    study.assert_whole()
    ends = [task.end for found in tasks_of(study.run.folder / TASKS).values() for task in found]
    assert [end.ending for end in ends if end].count(Ending.GAVE_WAY) == 2


def test_a_killed_command_finds_its_tasks_again(study: Study):
    later: list[Order] = []

    def runs_later(order: Order) -> State | None:
        later.append(order)
        return State(Phase.WAITING, "PENDING")

    scheduler = Stub(*[runs_later] * 4)

    def killed(seconds: float) -> None:
        raise Killed

    with suppress(Killed):
        execute(study.plan, study.run, engine=ClusterEngine(study.run, scheduler, clock=Clock(sleep=killed)))
    for order in later[:2]:
        carry_out_task(order)
    scheduler.known = {name: state for name, state in scheduler.known.items() if name in ("1_2", "1_3")}

    class WhileWaiting(Time):
        def _pass(self, seconds: float) -> None:
            super()._pass(seconds)
            while later[2:]:
                carry_out_task(later.pop())

    study.time = WhileWaiting()
    study.time.sleep = study.time._pass
    assert not study.carry_out(scheduler)
    assert len(scheduler.submitted) == 1
    assert study.news[0] == "attached to 4 tasks of an earlier command"
    study.assert_whole()


def test_a_command_killed_between_two_records_doubles_none(study: Study):
    kept = 0

    def check() -> None:
        nonlocal kept
        kept += 1
        if kept == 4:
            raise Killed

    scheduler = Stub()
    with suppress(Killed):
        execute(study.plan, study.run, engine=study.engine(scheduler), check=check)
    assert len(list(study.run.records())) == 3
    assert not study.carry_out(scheduler)
    assert len(scheduler.submitted) == 1
    study.assert_whole()


def test_a_disturbed_node_is_left_out_and_named(study: Study, monkeypatch: pytest.MonkeyPatch):
    study.plan = comparable_plan()
    busy = [Finding("load", "load", Status.DISTURBS, "3.1 processors are busy")]
    nodes = iter(["n1", *["n2"] * 99])
    monkeypatch.setattr(f"{TASK}._node", lambda: study.node)

    def look() -> list[Finding]:
        return busy if study.node == "n1" else []

    def fate(order: Order) -> State | None:
        study.node = next(nodes)
        return works(order)

    monkeypatch.setattr(f"{TASK}.other_work", look)
    monkeypatch.setattr(
        f"{TASK}.time",
        SimpleNamespace(sleep=lambda _seconds: None, time=time.time, monotonic=time.monotonic),
    )
    study.run = Run.create(
        study.run.folder, "study", plan=study.plan.to_dict() | {"hash": study.plan.hash}, environment=HERE
    )
    scheduler = Stub(*[fate] * 9)
    assert not study.carry_out(scheduler)
    assert scheduler.without == [[], ["n1"]]
    assert any("n1 is disturbed: load: 3.1 processors are busy" in line for line in study.news)
    study.assert_whole()


def test_a_disturbed_node_is_taken_if_the_user_says_so(study: Study, monkeypatch: pytest.MonkeyPatch):
    study.plan = comparable_plan()
    busy = [Finding("load", "load", Status.DISTURBS, "3.1 processors are busy")]
    monkeypatch.setattr(f"{TASK}.other_work", lambda: busy)
    study.run = Run.create(
        study.run.folder, "study", plan=study.plan.to_dict() | {"hash": study.plan.hash}, environment=HERE
    )
    assert not study.carry_out(scheduler := Stub(), any_node=True)
    assert len(scheduler.submitted) == 1


def test_a_node_with_other_versions_is_left_out_and_named(study: Study, monkeypatch: pytest.MonkeyPatch):
    other = {**NODE, "packages": {"numpy": "1.26.0"}}
    nodes = iter(["n1", *["n2"] * 99])

    def fate(order: Order) -> State | None:
        study.node = next(nodes)
        return works(order)

    monkeypatch.setattr(f"{TASK}._node", lambda: study.node)
    monkeypatch.setattr(f"{TASK}.environment_of", lambda _unit: other if study.node == "n1" else NODE)
    scheduler = Stub(*[fate] * 9)
    assert not study.carry_out(scheduler)
    assert scheduler.without == [[], ["n1"]]
    assert any("numpy 1.26.0, the run's is 2.3.0" in line for line in study.news)
    study.assert_whole()


def test_if_all_nodes_have_other_versions_the_units_are_lost_with_the_difference(
    study: Study, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(f"{TASK}.environment_of", lambda _unit: {**NODE, "packages": {"numpy": "1.26.0"}})
    rest = study.carry_out(Stub())
    assert len(rest.lost) == 4
    assert all("numpy 1.26.0, the run's is 2.3.0" in reason for reason in rest.lost.values())
    assert not list(study.run.records())


def test_a_scheduler_that_is_away_for_a_while_is_waited_for(study: Study):
    scheduler = Stub(vanishes)

    class Outage(Time):
        def _pass(self, seconds: float) -> None:
            super()._pass(seconds)
            scheduler.is_up = not 5 < self.seconds < 900

    study.time = Outage()
    study.time.sleep = study.time._pass
    assert not study.carry_out(scheduler)
    study.assert_whole()


def test_a_scheduler_that_stays_away_ends_the_command(study: Study):
    scheduler = Stub(vanishes)

    class Outage(Time):
        def _pass(self, seconds: float) -> None:
            super()._pass(seconds)
            scheduler.is_up = False

    study.time = Outage()
    study.time.sleep = study.time._pass
    with pytest.raises(EngineError, match="has not answered for 30 min"):
        study.carry_out(scheduler)
    scheduler.is_up = True
    study.time = Time()
    assert not study.carry_out(scheduler)
    study.assert_whole()


@pytest.mark.parametrize("may_cancel", [True, False])
def test_an_interruption_ends_tasks_only_if_that_is_wanted(study: Study, may_cancel: bool):
    scheduler = Stub(never_starts, never_starts)
    asked: list[int] = []

    def answer(count: int) -> bool:
        asked.append(count)
        return may_cancel

    class Interrupted(Time):
        def _pass(self, seconds: float) -> None:
            raise KeyboardInterrupt

    study.time = Interrupted()
    study.time.sleep = study.time._pass
    with pytest.raises(KeyboardInterrupt):
        # The first look ends two units, the second one waits.
        study.carry_out(scheduler, may_cancel=answer)
    assert asked == [2]
    assert scheduler.cancelled == (["1_0", "1_1"] if may_cancel else [])


def test_an_error_in_a_task_is_kept_with_its_traceback(study: Study, monkeypatch: pytest.MonkeyPatch):
    def broken(_unit: Any) -> Any:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(f"{TASK}.environment_of", broken)
    rest = study.carry_out(Stub())
    assert {reason.partition(": ")[2] for reason in rest.lost.values()} == {"ZeroDivisionError: a mistake"}
    first = tasks_of(study.run.folder / TASKS)["000-decay"][0]
    assert "Traceback" in first.log_path.read_text()


def test_a_full_disk_on_a_node_loses_no_unit(study: Study, monkeypatch: pytest.MonkeyPatch):
    append = Shard.append
    calls = 0

    def full(into: Any, record: Any) -> None:
        nonlocal calls
        calls += 1
        if calls in (2, 3):
            raise StoreError("cannot write: no space left on the disk.")
        append(into, record)

    monkeypatch.setattr(Shard, "append", full)
    assert not study.carry_out(Stub())
    study.assert_whole()


def test_a_crash_waits_for_the_signal_that_may_have_caused_it(study: Study, monkeypatch: pytest.MonkeyPatch):
    # A scheduler ends all processes of a task at once, and reaches the worker first.
    interrupted = SimpleNamespace(sleep=lambda _seconds: signal.raise_signal(signal.SIGTERM))
    monkeypatch.setattr(shard, "time", interrupted)
    use(
        monkeypatch, lambda _task, number: stub_measurement(outcome=Outcome.CRASH) if not number else stub_measurement()
    )
    assert not study.carry_out(Stub())
    assert Outcome.CRASH not in {record.outcome for record in study.run.records()}


def test_small_files_of_tasks_that_are_damaged_count_as_missing(tmp_path: Path):
    task = TaskFolder.begin(tmp_path, "000-decay")
    assert (task.number, task.end, task.machine, task.is_alive, task.is_measured) == (1, None, None, False, False)
    (task.folder / "end.json").write_text('{"ending": "mea')
    (task.folder / "machine.json").write_text("[]")
    (tmp_path / "notes.txt").write_text("")
    (found,) = tasks_of(tmp_path)["000-decay"]
    assert (found.end, found.machine) == (None, None)
    again = TaskFolder.begin(tmp_path, "000-decay")
    again.place(Machine("n1", "7_0"))
    again.finish(End(Ending.REFUSED, "busy"))
    (_, found) = tasks_of(tmp_path)["000-decay"]
    assert (found.end, found.machine) == (End(Ending.REFUSED, "busy"), Machine("n1", "7_0"))
    with owned(again.folder):
        assert again.is_alive
    assert not again.is_alive

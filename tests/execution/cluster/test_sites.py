"""Rules and habits of sites: limits of tasks and of time, held tasks, busy nodes, login nodes that differ."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from stubs.cluster import Stub, Study, is_cancelled, works

from sciml_bench.errors import EngineError, StoreError
from sciml_bench.execution import shard
from sciml_bench.execution.cluster import engine
from sciml_bench.execution.cluster.scheduler import Phase, State
from sciml_bench.execution.cluster.status import Progress, Status, UnitStatus, status
from sciml_bench.execution.cluster.task import Order, carry_out_task
from sciml_bench.execution.cluster.task_folder import TASKS, End, Ending, Machine, TaskFolder, tasks_of
from sciml_bench.execution.owner import owned
from sciml_bench.execution.session import open_session
from sciml_bench.host.doctor import other_work
from sciml_bench.host.doctor.finding import Finding
from sciml_bench.host.doctor.finding import Status as Verdict
from sciml_bench.host.lock import host_lock
from sciml_bench.planning.written_plan import written_plan
from sciml_bench.record.run_folder import Run

REASON = "PENDING (PartitionTimeLimit)"


def held(_order: Order) -> State:
    return State(Phase.HELD, REASON)


def test_a_task_that_never_starts_is_ended_after_half_an_hour(study: Study):
    # The first units of the other fates work.
    scheduler = Stub(held, works, works, works, held, held)
    rest = study.carry_out(scheduler)
    ((lost, reason),) = rest.lost.items()
    assert reason == f"its scheduler does not start it: it says {REASON}"
    assert scheduler.cancelled == ["1_0", "2_0", "3_0"]
    assert f"{lost} does not start: its scheduler says {REASON}" in study.news
    assert 5400 <= study.time.seconds < 5600
    (unit,) = [unit for unit in status(study.run.folder).units if unit.unit == lost]
    assert (unit.progress, unit.message) == (Progress.FAILED, reason)


def test_a_task_that_is_released_in_time_is_measured(study: Study):
    kept: list[Order] = []

    def waits(order: Order) -> State:
        kept.append(order)
        return held(order)

    scheduler = Stub(waits)

    def passes(seconds: float) -> None:
        study.time.seconds += seconds
        if study.time.seconds > 1000 and kept:
            carry_out_task(kept.pop())
            scheduler.known["1_0"] = State(Phase.ENDED, "COMPLETED", "n1")

    study.time.sleep = passes
    assert not study.carry_out(scheduler)
    assert len(scheduler.submitted) == 1
    study.assert_whole()


class Narrow(Stub):
    """Accepts so many tasks at once, whoever else has some."""

    most = 1

    def submit(self, orders: Sequence[Order], without: Sequence[str] = (), active: Sequence[str] = ()) -> list[str]:
        if len(orders) > self.most:
            raise EngineError("Slurm refused the tasks: QOSMaxSubmitJobPerUserLimit.")
        return super().submit(orders, without, active)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_site_that_limits_tasks_gets_fewer_at_once(study: Study, most: int):
    scheduler = Narrow()
    scheduler.most = most
    assert not study.carry_out(scheduler)
    assert sum(len(units) for units in scheduler.submitted) == 4
    assert max(len(units) for units in scheduler.submitted) <= most
    study.assert_whole()


def test_tasks_are_not_lost_while_others_take_the_room(study: Study):
    first: list[TaskFolder] = []

    class Full(Narrow):
        def submit(self, orders: Sequence[Order], without: Sequence[str] = (), active: Sequence[str] = ()) -> list[str]:
            if first and study.time.seconds < 7200:
                raise EngineError("Slurm refused the tasks: QOSMaxSubmitJobPerUserLimit.")
            return super().submit(orders, without, active)

    def begins(order: Order) -> State:
        first.append(TaskFolder.begin(Path(order.run) / TASKS, order.unit))
        return State(Phase.RUNNING, "RUNNING", "n1")

    scheduler = Full(begins)
    ownership = None

    def passes(seconds: float) -> None:
        nonlocal ownership
        study.time.seconds += seconds
        if first and ownership is None:
            ownership = owned(first[0].folder)
            ownership.__enter__()
        if study.time.seconds > 7000 and ownership is not None and first[0].end is None:
            ownership.__exit__(None, None, None)
            first[0].finish(End(Ending.INTERRUPTED, "preempted"))
            scheduler.known.clear()

    study.time.sleep = passes
    assert not study.carry_out(scheduler)
    study.assert_whole()


def test_a_busy_node_is_asked_again_later(study: Study, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engine, "_BUSY_S", 600.0)

    def refuses(order: Order) -> State:
        task = TaskFolder.begin(Path(order.run) / TASKS, order.unit)
        task.place(Machine("n1"))
        task.finish(End(Ending.REFUSED, "n1 is disturbed: load"))
        return State(Phase.ENDED, "COMPLETED", "n1")

    class OneNode(Stub):
        def submit(self, orders: Sequence[Order], without: Sequence[str] = (), active: Sequence[str] = ()) -> list[str]:
            if "n1" in without:
                raise EngineError("no other node.")
            return super().submit(orders, without, active)

    assert not study.carry_out(OneNode(*[refuses] * 4))
    assert study.time.seconds > 600
    study.assert_whole()


@pytest.mark.parametrize(("away_s", "lost"), [(1000.0, 0), (1e9, 4)])
def test_a_file_system_that_fails_for_a_while_costs_no_measurement(
    study: Study, monkeypatch: pytest.MonkeyPatch, away_s: float, lost: int
):
    opened = shard.Shard.open

    def failing(folder: Path) -> Any:
        if study.time.seconds < away_s:
            raise StoreError("cannot read: Stale file handle.") from OSError("Stale file handle")
        return opened(folder)

    monkeypatch.setattr(engine.Shard, "open", failing)
    rest = study.carry_out(scheduler := Stub())
    assert len(rest.lost) == lost
    assert len(scheduler.submitted) == 1
    assert all("it is measured, and cannot be read" in reason for reason in rest.lost.values())
    folders = [task for tasks in tasks_of(study.run.folder / TASKS).values() for task in tasks]
    assert len(folders) == 4
    assert all(task.is_measured for task in folders)
    if lost:
        monkeypatch.setattr(engine.Shard, "open", opened)
        assert not study.carry_out(scheduler)
        assert len(scheduler.submitted) == 1
    study.assert_whole()


@pytest.mark.parametrize("error", [FileNotFoundError, PermissionError])
def test_a_shard_without_one_of_its_files_is_measured_again(
    study: Study, monkeypatch: pytest.MonkeyPatch, error: type[OSError]
):
    opened = shard.Shard.open

    def damaged(folder: Path) -> Any:
        if folder.parent.name.endswith(".1"):
            raise StoreError("cannot read environment.json.") from error("environment.json")
        return opened(folder)

    monkeypatch.setattr(engine.Shard, "open", damaged)
    assert not study.carry_out(scheduler := Stub())
    assert [len(units) for units in scheduler.submitted] == [4, 4]
    assert study.time.seconds < 200
    study.assert_whole()


def test_a_full_disk_does_not_keep_tasks_from_being_cancelled(study: Study, monkeypatch: pytest.MonkeyPatch):
    def full(_task: TaskFolder) -> None:
        raise StoreError("cannot write: No space left on device.")

    def begins(order: Order) -> State:
        TaskFolder.begin(Path(order.run) / TASKS, order.unit)
        return State(Phase.WAITING, "PENDING")

    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(TaskFolder, "request_stop", full)
    study.time.sleep = interrupt
    scheduler = Stub(*[begins] * 4)
    with pytest.raises(KeyboardInterrupt):
        study.carry_out(scheduler, may_cancel=lambda _count: True)
    assert len(scheduler.cancelled) == 4


def test_a_living_task_of_an_earlier_command_is_not_submitted_again(study: Study):
    living: list[Any] = []

    def begins(order: Order) -> State | None:
        task = TaskFolder.begin(Path(order.run) / TASKS, order.unit)
        living.append(owned(task.folder))
        living[-1].__enter__()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study.carry_out(Stub(begins))

    def passes(seconds: float) -> None:
        study.time.seconds += seconds
        if study.time.seconds > 100 and living:
            living.pop().__exit__(None, None, None)

    study.time.sleep = passes
    scheduler = Stub()
    assert not study.carry_out(scheduler)
    first, *later = scheduler.submitted
    assert len(first) == 3
    assert [len(units) for units in later] == [1]
    study.assert_whole()


def test_a_lost_unit_stays_lost_in_the_status_until_it_is_submitted_again(study: Study):
    rest = study.carry_out(Stub(*[is_cancelled] * 12))
    assert len(rest.lost) == 4
    found = status(study.run.folder)
    assert {unit.unit: unit.message for unit in found.units} == rest.lost
    assert found.count(Progress.FAILED) == 4
    assert not study.carry_out(Stub())
    assert status(study.run.folder).count(Progress.MEASURED) == 4


def test_a_unit_that_waits_again_is_not_called_failed(study: Study):
    def fails(order: Order) -> State:
        task = TaskFolder.begin(Path(order.run) / TASKS, order.unit)
        task.finish(End(Ending.FAILED, "a mistake"))
        return State(Phase.ENDED, "FAILED", "n1")

    def waits(_order: Order) -> State:
        return State(Phase.WAITING, "PENDING")

    seen: list[int] = []

    def passes(seconds: float) -> None:
        study.time.seconds += seconds
        if study.time.seconds > 200:
            seen.append(status(study.run.folder).count(Progress.WAITING))
            raise KeyboardInterrupt

    study.time.sleep = passes
    with pytest.raises(KeyboardInterrupt):
        study.carry_out(Stub(*[fails] * 4, *[waits] * 4))
    assert seen == [4]


def test_units_that_are_not_written_yet_count_in_the_time_left():
    units = (UnitStatus("000-a", Progress.MEASURED, seconds=10.0), UnitStatus("001-a", Progress.RUNNING, seconds=10.0))
    assert Status(units, planned=12).left_s == 100


def test_the_plan_says_how_many_units_there_will_be(study: Study):
    study.carry_out(Stub())
    assert status(study.run.folder, written_plan(study.run)).planned == 4
    assert status(study.run.folder).planned == 0


def test_what_disturbs_a_machine_is_kept_in_the_shard_and_shown(study: Study, monkeypatch: pytest.MonkeyPatch):
    finding = Finding("governor", "frequency", Verdict.DISTURBS, "the governor is powersave")
    monkeypatch.setattr(other_work, "examine", lambda _readings: [finding])
    assert not study.carry_out(Stub())
    assert {unit.message for unit in status(study.run.folder).units} == {"frequency: the governor is powersave"}


@pytest.mark.parametrize("fact", ["kernel", "numpy"])
def test_another_login_node_with_the_same_software_continues_a_run(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fact: str
):
    today = {"sciml_bench": "1", "packages": {"numpy": "2.3.0"}, "cpu": {"model": "small"}}
    monkeypatch.setattr("sciml_bench.execution.session.environment_facts", lambda *_: today)

    def opened(elsewhere: bool) -> Run:
        return open_session(study.plan, tmp_path / "out", "x", resume=None, command="", elsewhere=elsewhere).run

    first = opened(True).folder
    assert opened(True).folder == first
    today = {**today, **({"cpu": {"model": "large"}} if fact == "kernel" else {"packages": {"numpy": "2.4.0"}})}
    assert (opened(True).folder == first) is (fact == "kernel")
    assert opened(False).folder != first


def test_a_node_that_does_not_keep_a_task_on_its_cores_is_refused(study: Study, monkeypatch: pytest.MonkeyPatch):
    usable = 8
    monkeypatch.setattr("sciml_bench.execution.cluster.task.usable_cores", lambda: usable)
    rest = study.carry_out(Stub(), cores=2)
    assert len(rest.lost) == 4
    said = "does not keep a task on the 2 cores that it requested: it may use 8"
    assert all(said in reason for reason in rest.lost.values())
    usable = 2
    # Whoever measures on other cores of the node is not waited for.
    with host_lock(label="another job"):
        assert not study.carry_out(Stub(), cores=2)
    study.assert_whole()

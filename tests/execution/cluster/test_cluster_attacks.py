"""Attacks on the engine of clusters: moments, orders and files in which it lost, doubled or gave up units."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from stubs.cluster import NODE, Killed, Stub, Study, Time, never_starts, vanishes, works

from sciml_bench.engine.files import UNITS
from sciml_bench.errors import EngineError, StoreError
from sciml_bench.execution.cluster import engine
from sciml_bench.execution.cluster.engine import Clock, ClusterEngine
from sciml_bench.execution.cluster.journal import Journal
from sciml_bench.execution.cluster.scheduler import Phase, State
from sciml_bench.execution.cluster.slurm import Slurm, SlurmOptions
from sciml_bench.execution.cluster.status import Progress, Status, UnitStatus, log_of, status
from sciml_bench.execution.cluster.task import Order, carry_out_task
from sciml_bench.execution.cluster.task_folder import TASKS, End, Ending, Machine, TaskFolder
from sciml_bench.execution.executor import execute
from sciml_bench.execution.owner import OWNER, owned

TASK = "sciml_bench.execution.cluster.task"


def waits(_order: Order) -> State | None:
    return State(Phase.WAITING, "PENDING")


def while_waiting(study: Study, hook: Callable[[float], object]) -> None:
    """Call a function with the seconds whenever the engine waits."""

    class Hooked(Time):
        def _pass(self, seconds: float) -> None:
            super()._pass(seconds)
            hook(self.seconds)

    study.time = Hooked()
    study.time.sleep = study.time._pass


def submit_and_die(study: Study, scheduler: Stub) -> None:
    def killed(_seconds: float) -> None:
        raise Killed

    with suppress(Killed):
        execute(study.plan, study.run, engine=ClusterEngine(study.run, scheduler, clock=Clock(sleep=killed)))


def die_after(study: Study, records: int, scheduler: Stub) -> None:
    """Take so many records into the run, and die."""
    kept = 0

    def check() -> None:
        nonlocal kept
        kept += 1
        if kept > records:
            raise Killed

    with suppress(Killed):
        execute(study.plan, study.run, engine=study.engine(scheduler), check=check)


def partly_taken(study: Study) -> Path:
    """The shard of the unit of which the run has a part."""
    first = next(study.run.records())
    return study.run.folder / TASKS / f"{first.block:03d}-{first.cell.problem}.1" / "shard"


def assert_nothing_doubled(study: Study) -> None:
    records = list(study.run.records())
    assert len({(record.cell_id, record.block) for record in records}) == len(records)
    hosts: dict[tuple[str, int], set[str]] = {}
    for record in records:
        hosts.setdefault((record.cell.problem, record.block), set()).add(record.host)
    assert all(len(found) == 1 for found in hosts.values())


def test_a_shard_damaged_after_a_part_of_it_was_taken_is_not_measured_again(study: Study):
    die_after(study, 1, scheduler := Stub())
    path = partly_taken(study) / "records.jsonl"
    path.write_text(path.read_text()[:-50])
    rest = study.carry_out(scheduler)
    assert_nothing_doubled(study)
    assert ["a part of it is in the run" in reason for reason in rest.lost.values()] == [True]


def test_another_attempt_does_not_complete_a_unit_of_which_a_part_was_taken(study: Study):
    die_after(study, 1, scheduler := Stub())
    shard = partly_taken(study)
    other = shard.parent.with_name(shard.parent.name[:-1] + "2")
    shard.parent.rename(other)
    carry_out_task(Order(str(study.run.folder), other.name[:-2]))
    # The new attempt gave way; put in its place is one that is whole and has other records.
    first = shard.parent
    shutil.copytree(other, first, dirs_exist_ok=True)
    lines = (first / "shard" / "records.jsonl").read_text().splitlines()
    (first / "shard" / "records.jsonl").write_text("\n".join(lines) + "\n")
    assert not study.carry_out(scheduler)
    assert_nothing_doubled(study)


def test_a_unit_of_which_a_part_was_taken_is_completed_without_its_journal(study: Study):
    die_after(study, 1, scheduler := Stub())
    (study.run.folder / "submitted.jsonl").unlink()
    assert not study.carry_out(scheduler)
    study.assert_whole()


def test_a_unit_whose_shard_is_gone_is_named(study: Study):
    die_after(study, 1, scheduler := Stub())
    shutil.rmtree(study.run.folder / TASKS)
    rest = study.carry_out(scheduler)
    assert len([*rest.begun, *rest.lost]) == 1


def test_waiting_tasks_are_not_submitted_twice_while_the_scheduler_is_away(study: Study):
    scheduler = Stub(*[waits] * 4)
    submit_and_die(study, scheduler)
    scheduler.is_up = False

    def hook(seconds: float) -> None:
        scheduler.is_up = seconds > 30
        if seconds > 60 and scheduler.known:
            for unit in scheduler.submitted[0]:
                carry_out_task(Order(str(study.run.folder), unit))
            scheduler.known.clear()

    while_waiting(study, hook)
    assert not study.carry_out(scheduler)
    assert len(scheduler.submitted) == 1
    study.assert_whole()


def test_half_an_hour_without_an_answer_begins_with_the_first_question(study: Study, monkeypatch: pytest.MonkeyPatch):
    def begins(order: Order) -> State | None:
        TaskFolder.begin(Path(order.run) / TASKS, order.unit)
        return State(Phase.RUNNING, "RUNNING", "n1")

    scheduler = Stub(*[begins] * 4)
    monkeypatch.setattr(TaskFolder, "is_alive", property(lambda _task: study.time.seconds < 3600))

    def hook(seconds: float) -> None:
        # All tasks lived for an hour, so that nobody asked, and then one question gets no answer.
        scheduler.is_up = not 3600 <= seconds < 3615
        if seconds >= 3615 and len(scheduler.submitted) == 1:
            scheduler.known = dict.fromkeys(scheduler.known, State(Phase.ENDED, "NODE_FAIL", "n1"))

    while_waiting(study, hook)
    assert not study.carry_out(scheduler)
    study.assert_whole()


def test_a_task_that_was_put_back_has_time_to_start(study: Study):
    orders: list[Order] = []

    def preempted(order: Order) -> State | None:
        orders.append(order)
        TaskFolder.begin(Path(order.run) / TASKS, order.unit).finish(End(Ending.INTERRUPTED, "it was ended on n1"))
        return State(Phase.RUNNING, "COMPLETING", "n1")

    scheduler = Stub(preempted)

    def hook(seconds: float) -> None:
        if 12 < seconds < 3600:
            scheduler.known["1_0"] = State(Phase.WAITING, "PENDING")
        elif 3600 <= seconds < 3620:
            scheduler.known["1_0"] = State(Phase.RUNNING, "RUNNING", "n2")
        elif seconds >= 3620 and orders:
            carry_out_task(orders.pop())
            scheduler.known["1_0"] = State(Phase.ENDED, "COMPLETED", "n2")

    while_waiting(study, hook)
    assert not study.carry_out(scheduler)
    assert len(scheduler.submitted) == 1
    study.assert_whole()


class Busy(Stub):
    """Refuses tasks for a while, once it has accepted some."""

    def submit(self, orders: Sequence[Order], without: Sequence[str] = (), active: Sequence[str] = ()) -> list[str]:
        if len(self.submitted) == 1 and len(self.cancelled) < 3:
            self.cancelled.append("refused")
            raise EngineError("Slurm refused the tasks: Socket timed out on send/recv operation.")
        return super().submit(orders, without, active)


@pytest.mark.parametrize("room", [2, 100])
def test_tasks_that_are_not_accepted_for_a_while_are_submitted_again(study: Study, room: int):
    scheduler = Busy(vanishes)
    scheduler.room = room
    assert not study.carry_out(scheduler)
    study.assert_whole()


def test_tasks_that_are_never_accepted_again_are_lost_after_half_an_hour(study: Study):
    class Closed(Stub):
        def submit(self, orders: Sequence[Order], without: Sequence[str] = (), active: Sequence[str] = ()) -> list[str]:
            if self.submitted:
                raise EngineError("Slurm refused the tasks: the account has no hours left.")
            return super().submit(orders, without, active)

    rest = study.carry_out(Closed(vanishes))
    ((_, reason),) = rest.lost.items()
    assert "no hours left" in reason
    assert 1800 < study.time.seconds < 2400


class Deaf(Stub):
    """Cannot cancel."""

    closed = False

    def cancel(self, tasks: Sequence[str]) -> None:
        raise EngineError("`scancel -Q` failed: Socket timed out.")

    def close(self) -> None:
        self.closed = True


def test_a_task_that_cannot_be_cancelled_ends_no_other(study: Study):
    assert not study.carry_out(Deaf(never_starts))
    study.assert_whole()


def test_an_interruption_stays_one_if_nothing_can_be_cancelled(study: Study):
    class Interrupted(Time):
        def _pass(self, seconds: float) -> None:
            raise KeyboardInterrupt

    study.time = Interrupted()
    study.time.sleep = study.time._pass
    scheduler = Deaf(never_starts)
    with pytest.raises(KeyboardInterrupt):
        study.carry_out(scheduler, may_cancel=lambda _count: True)
    assert scheduler.closed


def test_the_node_of_a_task_that_gave_way_is_not_left_out(study: Study, monkeypatch: pytest.MonkeyPatch):
    def both(order: Order) -> State | None:
        one = TaskFolder.begin(Path(order.run) / TASKS, order.unit)
        one.place(Machine("n1"))
        with owned(one.folder), monkeypatch.context() as patched:
            patched.setattr(f"{TASK}._node", lambda: "n2")
            carry_out_task(order)
        return State(Phase.ENDED, "NODE_FAIL", "n1")

    scheduler = Stub(both)
    assert not study.carry_out(scheduler)
    assert scheduler.without == [[], []]
    assert any("on n1: its scheduler says NODE_FAIL" in line for line in study.news)
    study.assert_whole()


def test_half_a_line_of_the_journal_swallows_no_submission(study: Study):
    (study.run.folder / "submitted.jsonl").write_text('{"scheduler":"stub","at')
    submit_and_die(study, Stub(*[waits] * 4))
    assert len(Journal(study.run.folder).last_tasks("stub")) == 4


def test_a_journal_with_another_spelling_of_a_unit_is_passed_over(study: Study):
    scheduler = Stub(*[waits] * 4)
    submit_and_die(study, scheduler)
    path = study.run.folder / "submitted.jsonl"
    line = json.loads(path.read_text())
    line["tasks"] = {f"./{unit}": task for unit, task in line["tasks"].items()}
    path.write_text(json.dumps(line) + "\n")
    assert not study.carry_out(Stub())
    study.assert_whole()


def test_a_file_system_that_fails_for_a_moment_rejects_no_shard(study: Study, monkeypatch: pytest.MonkeyPatch):
    checked, calls = engine.checked_records, 0

    def stale(run: Any, shard: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls < 5:
            raise StoreError("cannot read: Stale file handle.") from OSError("Stale file handle")
        return checked(run, shard)

    monkeypatch.setattr(engine, "checked_records", stale)
    assert not study.carry_out(scheduler := Stub())
    assert len(scheduler.submitted) == 1
    study.assert_whole()


def test_a_unit_file_that_was_removed_is_written_again(study: Study):
    def removes(order: Order) -> State | None:
        state = works(order)
        (Path(order.run) / UNITS / f"{order.unit}.json").unlink()
        return state

    assert not study.carry_out(scheduler := Stub(removes))
    assert len(scheduler.submitted) == 1
    study.assert_whole()


def test_a_node_that_does_not_see_the_run_makes_no_folder(tmp_path: Path):
    with pytest.raises(StoreError, match="does not see"):
        carry_out_task(Order(str(tmp_path / "elsewhere"), "000-decay"))
    assert not (tmp_path / "elsewhere").exists()


def test_a_living_task_keeps_its_shard(study: Study):
    """Two that started at once: the second one looked before the first one had signed."""
    submit_and_die(study, Stub(*[waits] * 4))
    other = TaskFolder.begin(study.run.folder / TASKS, "000-decay")
    later = other.folder.with_name("000-decay.2")
    other.folder.rename(later)
    (later / "shard").mkdir()
    with owned(later):
        carry_out_task(Order(str(study.run.folder), "000-decay"))
    assert (later / "shard").is_dir()
    assert TaskFolder(study.run.folder / TASKS / "000-decay.1").is_measured


def test_names_of_nodes_are_no_options(tmp_path: Path):
    task = TaskFolder.begin(tmp_path, "000-decay")
    task.place(Machine("n1\n#SBATCH --wrap=evil"))
    assert task.node == "n1__SBATCH_--wrap_evil"
    task.place(Machine("-n1"))
    assert task.node == "_n1"


@pytest.mark.parametrize("name", ["end.json", "machine.json", OWNER, "log.txt"])
def test_special_files_and_folders_hang_and_end_nothing(study: Study, name: str):
    submit_and_die(study, Stub(*[waits] * 4))
    one, other = (TaskFolder.begin(study.run.folder / TASKS, unit) for unit in ("000-decay", "000-calm"))
    os.mkfifo(one.folder / name)
    (other.folder / name).mkdir()
    assert status(study.run.folder).count(Progress.INTERRUPTED) == 2
    assert "task 1 on an unknown node" in log_of(study.run.folder, "000-decay")


def test_the_time_left_takes_each_problems_own_time():
    units = [
        UnitStatus("000-slow", Progress.MEASURED, seconds=100.0),
        UnitStatus("000-fast", Progress.MEASURED, seconds=10.0),
        UnitStatus("001-slow", Progress.RUNNING, seconds=40.0),
        UnitStatus("001-fast", Progress.RUNNING, seconds=20.0),
        UnitStatus("002-slow", Progress.WAITING),
        UnitStatus("002-fast", Progress.FAILED),
    ]
    assert Status(tuple(units)).left_s == (60 + 0 + 100 + 10) / 2
    assert Status(tuple(units[:2])).left_s is None
    assert Status(tuple(units[2:])).left_s is None


def test_a_unit_of_a_newer_version_is_lost_with_that_reason(study: Study):
    def newer(order: Order) -> State | None:
        path = Path(order.run) / UNITS / f"{order.unit}.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 99}))
        return works(order)

    rest = study.carry_out(Stub(*[newer] * 12))
    assert len(rest.lost) == 4
    assert all(
        "was written by a newer version (schema 99): upgrade sciml-bench here" in why for why in rest.lost.values()
    )


def test_slurm_is_refused_where_it_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="no sbatch here: run this on a login node"):
        Slurm(tmp_path, SlurmOptions(time_min=10)).check()


def test_a_sign_from_a_clock_that_is_ahead_is_one_of_a_living_task(study: Study):
    task = TaskFolder.begin(study.run.folder / TASKS, "000-decay")
    with owned(task.folder):
        text = (task.folder / OWNER).read_text()
    (task.folder / OWNER).write_text(text.replace('"boot": "', '"boot": "other-'))
    os.utime(task.folder / OWNER, (2e9 + 4e8, 2e9 + 4e8))
    assert task.is_alive
    os.utime(task.folder / OWNER, (1e9, 1e9))
    assert not task.is_alive


def test_a_fact_with_characters_that_do_not_print_makes_no_node_a_stranger(
    study: Study, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        f"{TASK}.environment_of",
        lambda _unit: {**NODE, "cpu": {"model": "Fast\xa0\x1b[31m CPU"}},
    )
    assert not study.carry_out(scheduler := Stub())
    assert len(scheduler.submitted) == 1
    study.assert_whole()

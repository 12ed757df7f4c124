"""The engine of clusters: a scheduler starts a task for each unit, and the run's folder says how that ended.

The scheduler's word is asked only about tasks that left no sign in the folder. A task that ended without a shard is
submitted again, a few times; a unit without a shard after that is lost, with its reasons.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType

from sciml_bench.engine.files import UNITS, write_unit
from sciml_bench.engine.interface import Engine, EventCallback, JobMeasured, UnitEnded
from sciml_bench.engine.unit import Unit
from sciml_bench.errors import EngineError, StoreError
from sciml_bench.execution.cluster.journal import Journal, Submitted
from sciml_bench.execution.cluster.scheduler import Phase, Scheduler, State
from sciml_bench.execution.cluster.task import Order
from sciml_bench.execution.cluster.task_folder import TASKS, Ending, TaskFolder, tasks_of
from sciml_bench.execution.cluster.work import Refusal, Work
from sciml_bench.execution.merge import OtherSoftware, checked_records
from sciml_bench.execution.owner import SILENT_S
from sciml_bench.execution.shard import Shard, is_complete
from sciml_bench.planning.written_plan import written_plan
from sciml_bench.record.record import Record
from sciml_bench.record.run_folder import Run
from sciml_bench.record.text import counted

MOST_TASKS = 3
"""A unit is submitted at most so often by one command."""

# Files of another machine may show late, and the scheduler's processes have other things to do.
_POLL_S, _ASK_S, _GRACE_S, _PAUSE_S = 1.0, 10.0, 15.0, 5.0
# A client of NFS knows a folder as it was up to a minute ago: a task without an end may have one.
_UNSEEN_S = 90.0
# A scheduler that ends a task, or repeats it, has said so by then.
_ENDING_S = 60.0
# A node that other work disturbed may be quiet again.
_BUSY_S = 900.0
_REFUSED_S, _UNREACHABLE_S = 30.0, 1800.0


@dataclass
class Clock:
    """Seconds that pass, and a wait."""

    now_s: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


class ClusterEngine(Engine):
    """Has a scheduler carry out units.

    A task ends after ``limit_s``; with ``cores`` it has this number of cores of a node that others share. ``say`` gets
    news in a sentence. ``may_cancel`` is asked, with the number of tasks that wait or run, whether an interruption ends
    them; otherwise they stay, and the same command finds them again.
    """

    finishes_groups = False

    def __init__(
        self,
        run: Run,
        scheduler: Scheduler,
        *,
        any_node: bool = False,
        limit_s: float = math.inf,
        cores: int | None = None,
        say: Callable[[str], object] = lambda _text: None,
        may_cancel: Callable[[int], bool] = lambda _count: False,
        clock: Clock | None = None,
    ):
        self.name = scheduler.name
        self.room = scheduler.room
        self._run, self._scheduler = run, scheduler
        self._any_node, self._limit_s, self._cores = any_node, limit_s, cores
        self._tasks = run.folder / TASKS
        self._say, self._may_cancel, self._clock = say, may_cancel, clock or Clock()
        self._journal = Journal(run.folder)
        self._journal.mend()
        self._work: dict[str, Work] = {}
        self._refused_nodes: dict[str, Refusal] = {}
        self._chunk, self._said_refusal = self.room, ""
        self._states: Mapping[str, State] | None = None
        self._asked_s = self._answered_s = float("-inf")
        self._has_submitted = False
        self._refusing_since_s: float | None = None

    def submit(self, unit: Unit) -> None:
        self._work[unit.id] = Work(unit)

    def wait(self, on: EventCallback) -> None:
        while self._work:
            if self._submit_due(on) + self._look(on):
                return
            self._clock.sleep(_POLL_S)

    def resume(self) -> Sequence[Unit]:
        submitted, tasks = self._journal.last_tasks(self._scheduler.name), tasks_of(self._tasks)
        if not submitted and not tasks:
            return ()
        in_run: dict[tuple[str, int], list[Record]] = {}
        for record in self._run.records(on_damage=lambda _: None):
            in_run.setdefault((record.cell.problem, record.block), []).append(record)
        for unit_id in sorted({*submitted, *tasks}):
            unit = self._unit(unit_id)
            if unit is None or is_complete(unit, known := in_run.get((unit.problem, unit.block), [])):
                continue
            task, folders = submitted.get(unit_id, ""), tasks.get(unit_id, [])
            if self._may_wait(task) or any(each.has_it for each in folders):
                ids = frozenset(record.record_id for record in known)
                # The ends of earlier tasks are no news of this one.
                ended = sum(each.end is not None for each in folders)
                self._work[unit_id] = Work(unit, task, earlier=ended, known=ids)
        if self._work:
            self._has_submitted = True
            self._say(f"attached to {counted(len(self._work), 'task')} of an earlier command")
        return [work.unit for work in self._work.values()]

    def cancel(self) -> None:
        self._work.clear()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        active = [work for work in self._work.values() if work.task]
        try:
            if active and not self._scheduler.keeps_tasks:
                self._end(active)
            elif active and isinstance(error, KeyboardInterrupt):
                if self._may_cancel(len(active)):
                    self._end(active)
                    self._say(f"cancelled {counted(len(active), 'task')}")
                else:
                    self._say(f"{counted(len(active), 'task')} left to the scheduler; the same command collects them")
        finally:
            self.cancel()
            self._scheduler.close()

    def _unit(self, unit_id: str) -> Unit | None:
        """A unit that this run handed over, if nobody changed its file."""
        try:
            unit = Unit.read(self._run.folder / UNITS / f"{unit_id}.json")
        except StoreError:
            return None
        return unit if (unit.plan_hash, unit.id) == (written_plan(self._run).hash, unit_id) else None

    def _may_wait(self, task: str) -> bool:
        """Return whether the scheduler may still have a task of an earlier command."""
        if not task:
            return False
        state = self._asked().get(task)
        return self._states is None or (state is not None and state.phase is not Phase.ENDED)

    def _submit_due(self, on: EventCallback) -> int:
        """Submit all due tasks as one array; returns how many units are lost by that."""
        now_s = self._clock.now_s()
        due = [work for work in self._work.values() if not work.task and not work.known and work.due_s <= now_s]
        if not due:
            return 0
        tasks = tasks_of(self._tasks)
        # One that an earlier command submitted may live.
        due = [work for work in due if not any(task.has_it for task in tasks.get(work.unit.id, ()))]
        if not due:
            return 0
        chunk = due[: self._chunk]
        self._refused_nodes = {node: each for node, each in self._refused_nodes.items() if each.until_s > now_s}
        active = [work.task for work in self._work.values() if work.task]
        for work in chunk:
            write_unit(work.unit, self._run.folder / UNITS)
        folder = str(self._run.folder.resolve())
        orders = [Order(folder, work.unit.id, self._any_node, self._limit_s, self._cores) for work in chunk]
        try:
            names = self._scheduler.submit(orders, sorted(self._refused_nodes), active)
        except EngineError as error:
            if len(chunk) > 1:
                # A site may limit the tasks of a user.
                self._chunk = 1
                return 0
            return self._wait_for_acceptance(due, error, on)
        self._journal.add(
            Submitted(
                self.name,
                time.time(),
                {work.unit.id: name for work, name in zip(chunk, names, strict=True)},
                {work.unit.id: len(tasks.get(work.unit.id, ())) for work in chunk},
            )
        )
        for work, name in zip(chunk, names, strict=True):
            work.task, work.earlier = name, len(tasks.get(work.unit.id, ()))
            work.silent_since_s = work.held_since_s = work.unreadable_since_s = None
        self._has_submitted, self._refusing_since_s, self._chunk = True, None, min(self.room, 2 * self._chunk)
        self._say(f"submitted {counted(len(chunk), 'task')}: {_listed(names)}")
        return 0

    def _wait_for_acceptance(self, due: Sequence[Work], error: EngineError, on: EventCallback) -> int:
        """Have tasks that the scheduler refuses wait; after half an hour without any other task their units are lost.

        Returns how many are.
        """
        if not self._has_submitted:
            raise error
        now_s = self._clock.now_s()
        if self._refusing_since_s is None:
            self._refusing_since_s = now_s
            if str(error) != self._said_refusal:
                self._said_refusal = str(error)
                self._say(f"{counted(len(due), 'task')} not accepted: {error} They are submitted again")
        if any(work.task for work in self._work.values()):
            # The end of these may make room.
            self._refusing_since_s = now_s
        if now_s - self._refusing_since_s < _UNREACHABLE_S:
            for work in due:
                work.due_s = now_s + _REFUSED_S
            return 0
        self._refusing_since_s = None
        left_out = "".join(f"; {node} is left out: {each.reason}" for node, each in self._refused_nodes.items())
        for work in due:
            self._lose(work, "; then ".join([*work.failures, f"{error}{left_out}"]), on)
        return len(due)

    def _look(self, on: EventCallback) -> int:
        """Look at each task; returns how many units ended."""
        tasks = tasks_of(self._tasks)
        return sum(self._look_at(work, tasks.get(work.unit.id, ()), on) for work in list(self._work.values()))

    def _look_at(self, work: Work, folders: Sequence[TaskFolder], on: EventCallback) -> bool:
        """Return whether a unit ended."""
        for task in folders:
            if task.is_measured:
                return self._take(work, task, on)
        if work.known:
            self._lose(work, "a part of it is in the run, and its shard is not there: measure it in a new run", on)
            return True
        if any(task.is_alive for task in folders):
            work.silent_since_s = None
            return False
        if not work.task:
            return False
        state = self._asked().get(work.task)
        if state is not None and state.phase is Phase.HELD:
            return self._look_at_held(work, state, on)
        work.held_since_s = None
        if self._states is None or (state is not None and state.phase is Phase.WAITING):
            work.silent_since_s = None
            return False
        if work.silent_since_s is None:
            work.silent_since_s = self._clock.now_s()
        return self._look_at_silent(work, folders, state, self._clock.now_s() - work.silent_since_s, on)

    def _look_at_held(self, work: Work, state: State, on: EventCallback) -> bool:
        """Return whether a unit ended whose task is held: after half an hour it is ended."""
        now_s = self._clock.now_s()
        work.silent_since_s = None
        if work.held_since_s is None:
            work.held_since_s = now_s
            self._say(f"{work.unit.id} does not start: its scheduler says {state.word}")
        if now_s - work.held_since_s < _UNREACHABLE_S:
            return False
        self._end([work])
        return self._fail(work, f"its scheduler does not start it: it says {state.word}", on)

    def _look_at_silent(
        self, work: Work, folders: Sequence[TaskFolder], state: State | None, silent_s: float, on: EventCallback
    ) -> bool:
        """Return whether a unit ended whose task has left no sign for ``silent_s`` seconds."""
        mine = [task for task in folders[work.earlier :] if not (task.end and task.end.ending is Ending.GAVE_WAY)]
        last = mine[-1] if mine else None
        ended = last.end if last else None
        if ended is None and state is not None and state.phase is Phase.RUNNING:
            if silent_s < SILENT_S:
                return False
            self._end([work])
            return self._fail(work, f"left no sign for {SILENT_S:g} s on {state.node or 'its node'}", on)
        if silent_s < (_UNSEEN_S if ended is None else _GRACE_S):
            return False
        if ended is not None and self._may_be_repeated(work, state, silent_s):
            return False
        if last is None or ended is None:
            word = f"its scheduler says {state.word}" if state else "its scheduler does not know it any more"
            if last is not None:
                return self._fail(work, f"ended and left no reason on {last.node}: {word}", on)
            unseen = f"ended and left no sign: {word}. All nodes must see {self._run.folder.resolve()}"
            return self._fail(work, unseen, on)
        if ended.ending is Ending.REFUSED:
            self._leave_out(last, ended.message, self._clock.now_s() + _BUSY_S)
        word = f" (its scheduler says {state.word})" if state and ended.ending is Ending.INTERRUPTED else ""
        return self._fail(work, f"{ended.message}{word}", on)

    def _may_be_repeated(self, work: Work, state: State | None, silent_s: float) -> bool:
        """Return whether the scheduler may still put an ended task back into its queue."""
        asked_since = self._asked_s > (work.silent_since_s or 0.0)
        return not asked_since or (state is not None and state.phase is Phase.RUNNING and silent_s < _ENDING_S)

    def _take(self, work: Work, task: TaskFolder, on: EventCallback) -> bool:
        """Take the records of a task into the run; returns whether that ended the unit."""
        write_unit(work.unit, self._run.folder / UNITS)
        try:
            shard = Shard.open(task.shard_path)
            records = checked_records(self._run, shard)
            if not work.known <= {record.record_id for record in records}:
                task.reject("another task's records of this unit are in the run")
                return False
        except StoreError as error:
            now_s = self._clock.now_s()
            work.unreadable_since_s = work.unreadable_since_s or now_s
            unreadable_s = now_s - work.unreadable_since_s
            if isinstance(error.__cause__, FileNotFoundError | PermissionError) and unreadable_s >= _ENDING_S:
                # The names of new files need not be everywhere at once; this is damage.
                pass
            elif isinstance(error.__cause__, OSError):
                # A file system that fails for a while: the shard stays.
                if unreadable_s < _UNREACHABLE_S:
                    return False
                self._lose(work, f"it is measured, and cannot be read: {error}", on)
                return True
            task.reject(str(error))
            if isinstance(error, OtherSoftware):
                self._leave_out(task, str(error))
            return False if work.known else self._fail(work, str(error), on)
        self._run.keep_environment(shard.environment)
        for record in records:
            if record.record_id not in work.known:
                on(JobMeasured(work.unit, record))
        del self._work[work.unit.id]
        on(UnitEnded(work.unit))
        return True

    def _leave_out(self, task: TaskFolder, reason: str, until_s: float = math.inf) -> None:
        """Give the node of a task nothing more, or nothing for a while."""
        if machine := task.machine:
            self._refused_nodes[machine.node] = Refusal(reason, until_s)

    def _fail(self, work: Work, reason: str, on: EventCallback) -> bool:
        """Have a unit submitted again later, or lose it; returns whether it is lost."""
        work.failures.append(reason)
        if len(work.failures) >= MOST_TASKS:
            self._lose(work, "; then ".join(dict.fromkeys(work.failures)), on)
            return True
        work.task, work.due_s = "", self._clock.now_s() + _PAUSE_S * 2 ** len(work.failures)
        self._say(f"{work.unit.id}: {reason}. It is submitted again")
        return False

    def _lose(self, work: Work, reason: str, on: EventCallback) -> None:
        del self._work[work.unit.id]
        with suppress(StoreError):
            self._journal.add(Submitted(self.name, time.time(), lost={work.unit.id: reason}))
        on(UnitEnded(work.unit, reason))

    def _end(self, works: Sequence[Work]) -> None:
        """End tasks by their scheduler, and by a word in their folders."""
        try:
            self._scheduler.cancel([work.task for work in works if work.task])
        except EngineError as error:
            self._say(f"{error} Running tasks also find the request to stop in the run's folder")
        with suppress(StoreError):
            tasks = tasks_of(self._tasks)
            for task in (task for work in works for task in tasks.get(work.unit.id, ())):
                if task.end is None:
                    with suppress(StoreError):
                        task.request_stop()

    def _asked(self) -> Mapping[str, State]:
        """The scheduler's states, asked now and then; none while it does not answer.

        :class:`EngineError` if it has not answered for half an hour.
        """
        now_s = self._clock.now_s()
        if now_s - self._asked_s >= _ASK_S:
            self._asked_s = now_s
            try:
                self._states = self._scheduler.states()
            except EngineError as error:
                if self._states is not None or self._answered_s == float("-inf"):
                    # Nobody asks while all tasks give signs.
                    self._answered_s = now_s
                self._states = None
                if now_s - self._answered_s >= _UNREACHABLE_S:
                    raise EngineError(
                        f"{error} It has not answered for {_UNREACHABLE_S / 60:g} min. Its tasks may still run: the "
                        "same command collects them later."
                    ) from error
        return self._states or {}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} to {names[-1]}"

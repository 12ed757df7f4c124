"""Carries out a plan: unit after unit by an engine, every record on the disk before the next one is measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sciml_bench.engine.interface import Engine, EngineEvent, HandedOver, JobMeasured, UnitEnded, WorkerReported
from sciml_bench.engine.local import LocalEngine
from sciml_bench.engine.unit import Job, Unit
from sciml_bench.execution.schedule import History, groups, slot_of
from sciml_bench.measure.protocol import Event
from sciml_bench.planning.plan import Plan
from sciml_bench.record.record import Placement, Record
from sciml_bench.record.run_folder import Run
from sciml_bench.record.task import Cell


@dataclass(frozen=True)
class Step:
    """A process of a run: its cell, its placement, and its place from 1 among ``total`` processes."""

    cell: Cell
    placement: Placement
    place: int
    total: int


class Watcher:
    """Follows a run; this one says nothing. Workers of a group take turns: ``started`` is called whenever another one
    continues.
    """

    def started(self, step: Step) -> None:
        """A worker starts, or continues."""

    def event(self, event: Event) -> None:
        """The current worker reported an event."""

    def finished(self, step: Step, record: Record) -> None:
        """A process was measured; its record is on the disk."""


@dataclass
class Rest:
    """The rest of a plan after its execution: units that an engine ``lost``, with the reasons, files of units that
    were ``handed_over``, and groups that this machine has ``begun`` and must finish, as ``block-problem``.
    """

    lost: dict[str, str] = field(default_factory=dict[str, str])
    handed_over: list[Path] = field(default_factory=list[Path])
    begun: list[str] = field(default_factory=list[str])

    def __bool__(self) -> bool:
        return bool(self.lost or self.handed_over or self.begun)


def execute(
    plan: Plan,
    run: Run,
    watcher: Watcher | None = None,
    engine: Engine | None = None,
    check: Callable[[], object] = lambda: None,
) -> Rest:
    """Measure the rest of a plan, and repeat each disturbed group of cells once.

    ``check`` is called before a record is written, and raises if the run is not this process's any more. Returns the
    remaining rest. ``KeyboardInterrupt`` leaves a valid run that can be resumed.
    """
    with engine or LocalEngine(run.environment_hash) as chosen:
        return _Execution(plan, run, watcher or Watcher(), chosen, check).carry_out()


class _Execution:
    def __init__(self, plan: Plan, run: Run, watcher: Watcher, engine: Engine, check: Callable[[], object]):
        self._plan, self._run, self._watcher, self._engine, self._check = plan, run, watcher, engine, check
        self._history = History.of_run(run)
        self._places = {(slot.block, slot.order): place for place, slot in enumerate(plan.slots, start=1)}
        self._shown: tuple[Unit, int] | None = None

    def carry_out(self) -> Rest:
        waiting = [group for group in groups(self._plan) if self._left(group)]
        self._plan.task_factory.prepare(dict.fromkeys(self._problem(group[0]) for group in waiting))
        running: dict[str, list[Placement]] = {}
        rest = Rest()

        def on(happening: EngineEvent) -> None:
            match happening:
                case WorkerReported():
                    self._told(happening)
                case JobMeasured():
                    self._keep(happening.record)
                case HandedOver():
                    del running[happening.unit.id]
                    rest.handed_over.append(happening.path)
                case UnitEnded():
                    group = running.pop(happening.unit.id)
                    if happening.lost:
                        rest.lost[happening.unit.id] = happening.lost
                    elif self._left(group):
                        # Disturbed: once more, before anything else.
                        waiting.insert(0, group)

        for unit in self._engine.resume():
            running[unit.id] = [job.placement for job in unit.jobs]
            waiting = [
                group for group in waiting if group[0].block != unit.block or self._problem(group[0]) != unit.problem
            ]
        while waiting or running:
            while waiting and len(running) < self._engine.room:
                group = waiting.pop(0)
                # Earlier blocks may have settled all of it.
                if not (left := self._left(group)):
                    continue
                unit = unit_of(self._plan, left)
                if not self._engine.finishes_groups and self._history.has_begun(group):
                    rest.begun.append(unit.id)
                    continue
                running[unit.id] = group
                self._engine.submit(unit)
            self._engine.wait(on)
        return rest

    def _left(self, group: Sequence[Placement]) -> list[Placement]:
        return self._history.left_of(group, rerun_noisy=self._plan.profile.rerun_noisy)

    def _problem(self, place: Placement) -> str:
        return self._plan.planned[slot_of(self._plan, place).index].cell.problem

    def _step(self, cell: Cell, place: Placement) -> Step:
        return Step(cell, place, self._places[place.block, place.order], len(self._plan.slots))

    def _told(self, told: WorkerReported) -> None:
        if self._shown != (told.unit, told.index):
            self._shown = told.unit, told.index
            job = told.unit.jobs[told.index]
            self._watcher.started(self._step(job.task.cell, job.placement))
        self._watcher.event(told.event)

    def _keep(self, record: Record) -> None:
        self._check()
        self._run.append(record)
        self._history.keep(record)
        self._watcher.finished(self._step(record.cell, record.placement), record)


def unit_of(plan: Plan, places: Sequence[Placement]) -> Unit:
    """The unit of processes of one problem in one block."""
    slots = [slot_of(plan, place) for place in places]
    return Unit(
        plan_hash=plan.hash,
        problem=plan.planned[slots[0].index].cell.problem,
        block=places[0].block,
        jobs=tuple(Job(plan.task(slot), place) for slot, place in zip(slots, places, strict=True)),
        timeout_s=plan.settings.timeout_s,
        memory_bytes=plan.settings.memory_limit_bytes,
        comparable=plan.profile.comparable,
        rerun_noisy=plan.profile.rerun_noisy,
    )

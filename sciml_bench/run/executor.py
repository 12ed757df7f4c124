"""Carries out a plan: one group of cells after the other, the records of each on the disk before the next."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from sciml_bench.engine.limits import Limits, memory_limit_bytes
from sciml_bench.engine.local import measure_group
from sciml_bench.errors import StoreError
from sciml_bench.measure.protocol import Event
from sciml_bench.plan.cells import Slot
from sciml_bench.plan.plan import Plan
from sciml_bench.record.record import Placement, Record
from sciml_bench.record.run_folder import Run, runs_in
from sciml_bench.record.task import Cell
from sciml_bench.run.schedule import History, groups

if TYPE_CHECKING:
    from sciml_bench.analysis.power import Spread


# The newest runs are looked at for one to resume, and for what cells took.
_RUNS_LOOKED_AT = 20

# Larger files of records are not read for costs alone.
_LARGEST_COST_FILE_BYTES = 64 * 2**20


# Cells that take turns are all in memory at once, with their frameworks.
_MOST_TOGETHER = 8
_BYTES_OF_A_WORKER = 3 * 2**29


@dataclass
class Watcher:
    """Who is told what happens. ``place`` counts from 1, of ``total`` processes of the whole run.

    Workers of a group take turns: ``started`` is called whenever another one than before tells something.
    """

    started: Callable[[int, int, Slot, Cell], None]
    event: Callable[[Event], None]
    finished: Callable[[int, int, Slot, Record], None]


def remaining(plan: Plan, run: Run) -> list[Slot]:
    """The processes of a plan that are still to run, see :class:`History`."""
    return list(History.of(run).left(plan))


def execute(plan: Plan, run: Run, slots: list[Slot], watcher: Watcher) -> None:
    """Run the given processes in order, and after each group of cells that was disturbed the whole group once more.

    ``KeyboardInterrupt`` leaves a valid run that can be resumed.
    """
    places = {(slot.block, slot.order): place for place, slot in enumerate(plan.slots, start=1)}
    plan.material.prepare(dict.fromkeys(plan.planned[slot.index].cell.problem for slot in slots))
    history = History.of(run)
    wanted = {(slot.block, plan.planned[slot.index].cell.problem) for slot in slots}
    for group in groups(plan, plan.slots):
        if (group[0].block, plan.planned[group[0].index].cell.problem) not in wanted:
            continue
        while left := history.left_of(plan, group):
            for together in _batches(left, plan.profile.comparable):
                for slot, record in _measured(plan, run, together, places, watcher):
                    run.append(record)
                    history.keep(record)
                    watcher.finished(places[slot.block, slot.order], len(plan.slots), slot, record)


def _batches(slots: list[Slot], comparable: bool) -> Iterator[list[Slot]]:
    """Slots whose cells take turns: as many as may be in memory at once, evenly; one where nothing is compared."""
    if not comparable:
        yield from ([slot] for slot in slots)
        return
    room = psutil.virtual_memory().available // _BYTES_OF_A_WORKER
    count = math.ceil(len(slots) / max(1, min(_MOST_TOGETHER, room)))
    size = math.ceil(len(slots) / count)
    for start in range(0, len(slots), size):
        yield slots[start : start + size]


def _measured(
    plan: Plan, run: Run, slots: list[Slot], places: Mapping[tuple[int, int], int], watcher: Watcher
) -> Iterator[tuple[Slot, Record]]:
    """The records of cells that take turns, in their order."""
    limits = Limits(plan.settings.timeout_s, plan.settings.memory_limit_bytes or memory_limit_bytes())
    tasks = [plan.task(slot) for slot in slots]
    shown: int | None = None

    def on_event(index: int, event: Event) -> None:
        nonlocal shown
        if index != shown:
            shown, slot = index, slots[index]
            place = places[slot.block, slot.order]
            watcher.started(place, len(plan.slots), slot, plan.planned[slot.index].cell)
        watcher.event(event)

    with closing(measure_group(tasks, limits, on_event=on_event)) as measurements:
        for slot, task, measurement in zip(slots, tasks, measurements, strict=True):
            yield slot, Record.of(measurement, task, _placement(plan, slot), run.environment_hash)


def _placement(plan: Plan, slot: Slot) -> Placement:
    planned = plan.planned[slot.index]
    return Placement(
        cell_id=plan.cell_ids[slot.index],
        block=slot.block,
        order=slot.order,
        division=planned.division,
        profile=plan.profile.name,
        smoke_only=not plan.profile.comparable,
        spec_hash=plan.material.entries[planned.cell.problem].spec_hash,
        attempt=slot.attempt,
    )


def unfinished(plan: Plan, folder: Path, environment_hash: str) -> tuple[Run | None, str]:
    """The newest run of this plan that is not finished, and why there is none where one was near."""
    reason = ""
    for run in _newest(folder):
        if _plan_hash(run) != plan.hash:
            continue
        resumed = Run.resume(run.folder)
        if not remaining(plan, resumed):
            return None, f"the newest run of this plan, {run.folder.name}, is finished"
        if run.environment_hash == environment_hash:
            return resumed, ""
        reason = f"{run.folder.name} is not finished, but was made in another environment (versions or machine changed)"
    return None, reason or "no unfinished run of this plan was found"


def earlier_costs(folder: Path, profile: str) -> dict[str, float]:
    """Seconds that the processes of cells took in the newest run of this profile, by label."""
    for run in _newest(folder):
        try:
            name = run.plan["profile"]["name"]
        except (StoreError, KeyError, TypeError):
            continue
        path = run.records_path
        if name == profile and path.is_file() and 0 < path.stat().st_size < _LARGEST_COST_FILE_BYTES:
            records = run.records(on_damage=lambda _: None)
            return {record.cell.label: record.own_s + record.fill_s for record in records}
    return {}


def newest_spread(folder: Path) -> Spread | None:
    """How processes spread in the newest run that shows it."""
    from sciml_bench.analysis.power import spread_of
    from sciml_bench.analysis.summary import summarise

    for run in _newest(folder):
        try:
            plan = run.plan
            comparable = plan["profile"]["comparable"]
        except (StoreError, KeyError, TypeError):
            continue
        path = run.records_path
        if comparable and path.is_file() and 0 < path.stat().st_size < _LARGEST_COST_FILE_BYTES:
            found = spread_of(summarise(plan, run.records(on_damage=lambda _: None)), run.folder.name)
            if found is not None:
                return found
    return None


def _newest(folder: Path) -> Iterator[Run]:
    for count, run in enumerate(runs_in(folder)):
        if count == _RUNS_LOOKED_AT:
            return
        yield run


def _plan_hash(run: Run) -> str | None:
    try:
        return run.plan.get("hash")
    except StoreError:
        return None

"""The state of a run on a cluster, read from its folder alone: each unit, and the time that is left."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sciml_bench.engine.files import UNITS
from sciml_bench.engine.unit import Unit
from sciml_bench.errors import StoreError, UsageError
from sciml_bench.execution.cluster.journal import Journal, LastSubmission
from sciml_bench.execution.cluster.task_folder import TASKS, Ending, TaskFolder, tasks_of
from sciml_bench.execution.shard import end_of
from sciml_bench.planning.written_plan import WrittenPlan
from sciml_bench.record.jsonl import store_error
from sciml_bench.record.run_folder import Run
from sciml_bench.record.text import printable

_LONGEST_LOG_BYTES, _LAST_LINE_BYTES = 2**20, 2**12


class Progress(StrEnum):
    """The progress of a unit."""

    MEASURED = "measured"
    RUNNING = "running"
    WAITING = "waiting"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    WRITTEN = "not submitted"


@dataclass(frozen=True)
class UnitStatus:
    """One unit: the node of its last task, the seconds of a measured or running one, and the reason of a failure."""

    unit: str
    progress: Progress
    tasks: int = 0
    node: str = ""
    seconds: float | None = None
    message: str = ""
    log: Path | None = None


@dataclass(frozen=True)
class Status:
    """All units that a run handed over, in order; ``planned`` is how many it may hand over in all."""

    units: tuple[UnitStatus, ...]
    planned: int = 0

    def count(self, progress: Progress) -> int:
        """Number of units with this progress."""
        return sum(unit.progress is progress for unit in self.units)

    @property
    def left_s(self) -> float | None:
        """Seconds until the end, if nodes continue as now; ``None`` before anything is measured, or while none runs.

        Units of a problem take the time of its measured ones, others the median of all.
        """
        running = self.count(Progress.RUNNING)
        times_s: dict[str, list[float]] = defaultdict(list)
        for unit in self.units:
            if unit.progress is Progress.MEASURED and unit.seconds is not None:
                times_s[_problem(unit.unit)].append(unit.seconds)
        if not running or not times_s:
            return None
        typical_s = {problem: statistics.median(times) for problem, times in times_s.items()}
        any_s = statistics.median(typical_s.values())
        total_s = any_s * max(0, self.planned - len(self.units))
        for unit in self.units:
            expected_s = typical_s.get(_problem(unit.unit), any_s)
            if unit.progress is Progress.RUNNING:
                total_s += max(0.0, expected_s - (unit.seconds or 0.0))
            elif unit.progress is not Progress.MEASURED:
                total_s += expected_s
        return total_s / running


def status(run: Path, plan: WrittenPlan | None = None) -> Status:
    """The state of the units of a run, which was made by a plan.

    Raises:
        UsageError: the run handed over no units.
        StoreError: its folder cannot be read.
    """
    try:
        units = sorted(path.stem for path in (run / UNITS).glob("*.json"))
    except OSError as error:
        raise store_error("read", run / UNITS, error) from error
    if not units:
        raise UsageError(f"{run} has no units: only runs on a cluster, and by --engine files, have them.")
    submissions, tasks = Journal(run).last_submissions(), tasks_of(run / TASKS)
    done = Run(run).done()
    of_units = tuple(
        UnitStatus(unit, Progress.MEASURED)
        if unit not in tasks and _is_there(run / UNITS / f"{unit}.json", done)
        else _of_unit(unit, submissions.get(unit), tasks.get(unit, ()))
        for unit in units
    )
    return Status(of_units, 0 if plan is None else _planned(plan))


def _is_there(path: Path, done: Collection[tuple[str, int]]) -> bool:
    """Return whether the run has a record of each job of a unit."""
    try:
        jobs = Unit.read(path).jobs
    except StoreError:
        return False
    return all((job.placement.cell_id, job.placement.block) in done for job in jobs)


def log_of(run: Path, unit: str) -> str:
    """The logs of all tasks of a unit, without characters that would move a terminal's cursor.

    Raises:
        UsageError: no task of the unit has begun.
    """
    tasks = tasks_of(run / TASKS).get(unit)
    if not tasks:
        raise UsageError(f"no task of unit {unit} has begun: `sciml-bench status {run}` lists the units.")
    parts: list[str] = []
    for task in tasks:
        lines = [printable(line) for line in task.log(_LONGEST_LOG_BYTES).splitlines()]
        parts.append("\n".join([f"task {task.number} on {printable(task.node)}", *(f"  {line}" for line in lines)]))
    return "\n".join(parts)


def status_document(found: Status) -> dict[str, object]:
    """The state as plain JSON values."""
    return {
        "counts": {progress.value: found.count(progress) for progress in Progress},
        "planned": found.planned,
        "left_s": found.left_s,
        "units": [
            {
                "unit": unit.unit,
                "progress": unit.progress.value,
                "tasks": unit.tasks,
                "node": unit.node,
                "seconds": unit.seconds,
                "message": unit.message,
                "log": None if unit.log is None else str(unit.log),
            }
            for unit in found.units
        ],
    }


def _planned(plan: WrittenPlan) -> int:
    """The number of units of a plan, each a block of a problem."""
    return len({item.cell.problem for item in plan.cells}) * plan.profile.processes


def _of_unit(unit: str, last: LastSubmission | None, tasks: Sequence[TaskFolder]) -> UnitStatus:
    lost = last.lost if last else ""
    if not tasks:
        progress = Progress.FAILED if lost else Progress.WAITING if last else Progress.WRITTEN
        return UnitStatus(unit, progress, message=printable(lost))
    measured = next((task for task in tasks if task.is_measured), None)
    alive = next((task for task in tasks if task.is_alive), None)
    task = measured or alive or tasks[-1]
    end = task.end
    if measured is not None:
        progress, seconds, message = Progress.MEASURED, end.took_s if end else None, _disturbances(measured)
    elif alive is not None:
        progress, seconds, message = Progress.RUNNING, task.age_s, _last_line(task)
    elif lost:
        progress, seconds, message = Progress.FAILED, None, lost
    elif last and last.earlier >= len(tasks):
        progress, seconds, message = Progress.WAITING, None, end.message if end else ""
    else:
        # The scheduler, or the command of the run, starts an interrupted task again.
        interrupted = end is None or end.ending in (Ending.INTERRUPTED, Ending.GAVE_WAY)
        progress, seconds = Progress.INTERRUPTED if interrupted else Progress.FAILED, None
        message = end.message if end else "it ended and left no reason"
    node = printable(task.machine.node) if task.machine else ""
    return UnitStatus(unit, progress, len(tasks), node, seconds, printable(message), task.log_path)


def _disturbances(task: TaskFolder) -> str:
    try:
        return "; ".join(end_of(task.shard_path).disturbed_by)
    except StoreError:
        return ""


def _last_line(task: TaskFolder) -> str:
    lines = task.log(_LAST_LINE_BYTES).splitlines()
    return lines[-1] if lines else ""


def _problem(unit: str) -> str:
    return unit.partition("-")[2]

"""The display of a run: one line per finished cell, and on a terminal a live line of the running one."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from sciml_bench.analysis.tables import formatting
from sciml_bench.engine.interface import Engine
from sciml_bench.execution.executor import Step, Watcher
from sciml_bench.execution.finished import Finished
from sciml_bench.execution.session import Session
from sciml_bench.execution.time_left import TimeLeft
from sciml_bench.execution.within import OUT_OF_TIME
from sciml_bench.measure.protocol import Enter, Event, TrainingDone
from sciml_bench.planning.blocks import Slot
from sciml_bench.planning.plan import Plan
from sciml_bench.record.record import Record
from sciml_bench.record.retry_policy import RESULTS, measured_something
from sciml_bench.record.text import counted

if TYPE_CHECKING:
    from rich.progress import Progress


# A bar that redraws often takes processor time from the worker.
_REFRESHES_PER_S = 2


class _Bar:
    """The live line. Its thread belongs to the harness, never to the measured process."""

    def __init__(self, progress: Progress, plan: Plan, left: Sequence[Slot]):
        self._progress, self._plan = progress, plan
        self._time_left = TimeLeft({_process(slot): plan.cost_s([slot]) for slot in left}, time.monotonic())
        total_s = plan.cost_s()
        self._task = progress.add_task("", total=total_s, time_left=self._time_left)
        progress.advance(self._task, total_s - plan.cost_s(left))

    def start(self, step: Step) -> None:
        self._cell = step.cell
        self._time_left.start(self._of(step))
        self._show("starting")

    def enter(self, event: Enter) -> None:
        self._show(event.name if event.point is None else f"{event.name}, point {event.point + 1}")

    def train(self, event: TrainingDone) -> None:
        trained = event.result
        self._show(f"training, step {len(trained.losses)} of {trained.settings.steps}")

    def finish(self, step: Step, record: Record) -> None:
        done_s = self._time_left.finish(self._of(step), time.monotonic())
        if record.outcome in RESULTS and not measured_something(record) and not record.noisy:
            # The later blocks leave such a cell out.
            cell, slots = self._plan.slots[step.place - 1].index, self._plan.slots[step.place :]
            done_s += sum(self._time_left.drop(_process(slot)) for slot in slots if slot.index == cell)
        self._progress.advance(self._task, done_s)

    def _of(self, step: Step) -> tuple[int, int]:
        return _process(self._plan.slots[step.place - 1])

    def _show(self, phase: str) -> None:
        label = "/".join((self._cell.problem, self._cell.adapter, self._cell.method, self._cell.sensitivity))
        self._progress.update(self._task, description=f"{label}: {phase}")


def _process(slot: Slot) -> tuple[int, int]:
    return slot.index, slot.block


@contextmanager
def watching(plan: Plan, left: Sequence[Slot], *, to_stderr: bool) -> Iterator[Watcher]:
    """A watcher that prints a line per finished process, and shows the live line when standard error is a terminal.

    ``left`` are the processes still to run.
    """
    if not sys.stderr.isatty():
        yield _Follower(None, to_stderr)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn

    class Left(ProgressColumn):
        def render(self, task: Task) -> str:
            left_s = task.fields["time_left"].left_s(time.monotonic())
            return f"{formatting.rough_duration(left_s)} left" if left_s else "almost done"

    columns: tuple[Any, ...] = (SpinnerColumn(), BarColumn(20), TextColumn("{task.percentage:>3.0f} %"))
    columns += (Left(), TextColumn("{task.description}", markup=False))
    console = Console(stderr=True, highlight=False)
    # Lines for a pipe must reach the pipe; on a terminal they pass above the live line.
    through = {"redirect_stdout": sys.stdout.isatty(), "refresh_per_second": _REFRESHES_PER_S, "transient": True}
    with Progress(*columns, console=console, **through) as progress:
        yield _Follower(_Bar(progress, plan, left), to_stderr)


class _Follower(Watcher):
    """A watcher that prints a line per finished process, and keeps the live line if there is one."""

    def __init__(self, bar: _Bar | None, to_stderr: bool):
        self._bar, self._to_stderr = bar, to_stderr

    def started(self, step: Step) -> None:
        if self._bar:
            self._bar.start(step)

    def event(self, event: Event) -> None:
        if self._bar and isinstance(event, Enter):
            self._bar.enter(event)
        if self._bar and isinstance(event, TrainingDone):
            self._bar.train(event)

    def finished(self, step: Step, record: Record) -> None:
        if self._bar:
            self._bar.finish(step, record)
        # Named here, since click would write past the stream that keeps lines above the live one.
        line = str(Finished(step.place, step.total, record))
        click.echo(line, file=sys.stderr if self._to_stderr else sys.stdout)


def carry_out(session: Session, as_json: bool, engine: Engine | None = None) -> bool:
    """Measure the rest of a session, and show it; returns whether all of it was measured."""
    from sciml_bench.analysis.tables.footnotes import ONE_BY_ONE

    plan = session.plan
    if session.resumed:
        click.echo(f"resuming {session.run.folder}", err=True)
    click.echo(announcement(plan, session.left()), err=as_json)
    if session.goes_one_by_one():
        click.echo(f"{ONE_BY_ONE}; profiles with shorter loops take turns", err=as_json)
    click.echo(f"run folder: {session.run.folder}", err=as_json)
    with watching(plan, session.left(), to_stderr=as_json) as watcher:
        whole = session.carry_out(watcher, engine)
    late = [unit for unit, reason in session.rest.lost.items() if reason == OUT_OF_TIME]
    if late:
        click.echo(f"{OUT_OF_TIME}: {counted(len(late), 'block')} left; the same command continues with them", err=True)
    for unit, reason in session.rest.lost.items():
        if reason != OUT_OF_TIME:
            click.echo(f"lost: {unit}: {reason}", err=True)
    return whole


def announcement(plan: Plan, left: Sequence[Slot]) -> str:
    """A run's announcement, in one line; ``left`` are the processes still to run."""
    cells, problems = len(plan.planned), len({item.cell.problem for item in plan.planned})
    text = f"profile {plan.profile.name}: {counted(cells, 'cell')} on {counted(problems, 'problem')}"
    text += f", {counted(plan.profile.processes, 'process', 'es')} each"
    text += f", {len(left)} of {len(plan.slots)} processes to run" if len(left) < len(plan.slots) else ""
    return f"{text}, about {formatting.rough_duration(plan.cost_s(left))}; phase limit {plan.settings.timeout_s:g} s"

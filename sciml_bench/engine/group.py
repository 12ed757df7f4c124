"""Cells measured on this host: a fresh process for each, alone or in a group whose steady loops alternate.

A cell whose compile caches are to be warm has one more process before it, which fills them.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path

from sciml_bench.engine.limits import Limits
from sciml_bench.engine.measured_worker import MeasuredWorker, OnEvent, Partners, first_calls, measures_energy, nobody
from sciml_bench.host.environment_variables import count_cache_files, make_caches
from sciml_bench.host.temporary import temporary_folder
from sciml_bench.measure.protocol import Enter, Event
from sciml_bench.measure.turn_token import SLICE_S
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import PointResult
from sciml_bench.record.record import Measurement
from sciml_bench.record.task import Task

WORKER = (sys.executable, "-m", "sciml_bench.measure.worker")
FILL = "fill_caches"
"""The phase in which another worker fills the compile caches."""

OnGroupEvent = Callable[[int, Event], None]


def measure_cell(
    task: Task,
    limits: Limits,
    *,
    on_event: OnEvent | None = None,
    command: Sequence[str] = WORKER,
) -> Measurement:
    """Measure one cell once, in a fresh process with its own session, private temporary folder and compile caches.

    The caches are empty, or, for a cell with warm caches, filled by an earlier process, which only leaves its
    duration. Whatever the worker does ends in the measurement's outcome. ``on_event`` is called with every event as it
    comes; an exception in it ends the worker and is raised here, as is ``KeyboardInterrupt``. ``command`` is called
    with the phase limit in seconds as its last argument. :class:`EngineError` if a process cannot be started.
    """
    session = CellSession(task, limits, command, on_event)
    try:
        measurement = session.resume()
        assert measurement is not None, "a worker that takes no turns runs to its end"
        return measurement
    finally:
        session.close()


def measure_group(
    tasks: Sequence[Task],
    limits: Limits,
    *,
    on_event: OnGroupEvent | None = None,
    command: Sequence[str] = WORKER,
) -> Generator[Measurement, None, None]:
    """Measure cells that are compared with each other, each once in a process as in :func:`measure_cell`; in order.

    One worker runs at any time. Each runs alone until its first steady loop; then workers in the same loop take turns
    in slices of ``measure.protocol.SLICE_S`` seconds, so that all of them see the same moments of the machine. If
    energy is measured, which needs whole loops, they run one after the other. ``on_event`` is called with the index of
    the task. Closing the iterator ends all workers.
    """
    if len(tasks) == 1 or any(map(measures_energy, tasks)):
        for index, task in enumerate(tasks):
            yield measure_cell(task, limits, on_event=_of_member(on_event, index), command=command)
        return
    sessions: list[CellSession] = []

    def partners() -> Iterator[int]:
        for session in sessions:
            yield from session.pids

    try:
        for index, task in enumerate(tasks):
            member = _of_member(on_event, index)
            sessions.append(CellSession(task, limits, command, member, slice_s=SLICE_S, partners=partners))
        yield from _in_turns(sessions)
    finally:
        for session in sessions:
            session.close()


def _in_turns(sessions: Sequence[CellSession]) -> Iterator[Measurement]:
    """Resume whoever is at the lowest position, those at the same one by turns; measurements in order."""
    told = 0
    last_turn = dict.fromkeys(range(len(sessions)), -1)
    turn = 0
    while told < len(sessions):
        alive = [index for index, session in enumerate(sessions) if session.measurement is None]
        if alive:
            index = min(alive, key=lambda i: (sessions[i].position, last_turn[i], i))
            last_turn[index] = turn = turn + 1
            sessions[index].resume()
        while told < len(sessions) and (measurement := sessions[told].measurement) is not None:
            yield measurement
            told += 1


def _of_member(on_event: OnGroupEvent | None, index: int) -> OnEvent | None:
    return None if on_event is None else lambda event: on_event(index, event)


class CellSession:
    """One cell of a group: its folder, the worker that fills its caches if they are to be warm, and its own worker."""

    def __init__(
        self,
        task: Task,
        limits: Limits,
        command: Sequence[str],
        on_event: OnEvent | None,
        *,
        slice_s: float | None = None,
        partners: Partners = nobody,
    ):
        self.measurement: Measurement | None = None
        self._task, self._limits, self._command, self._on_event = task, limits, tuple(command), on_event
        self._slice_s, self._partners = slice_s, partners
        self._folder = temporary_folder("worker")
        self._caches = Path(self._folder.name) / "compile_caches"
        self._run: MeasuredWorker | None = None
        self._fill_s = 0.0
        make_caches(self._caches)

    @property
    def position(self) -> int:
        """The place at which the worker waits, -1 before it has started."""
        return -1 if self._run is None else self._run.position

    @property
    def pids(self) -> set[int]:
        """The processes of its worker while that lives."""
        return set() if self._run is None or self.measurement is not None else self._run.pids

    def resume(self) -> Measurement | None:
        """Start the worker, or resume it, until it waits or ends; the measurement if it has ended."""
        if self._run is None:
            self.measurement = self._fill() if self._task.cell.caches == "warm" else None
            if self.measurement is not None:
                return self.measurement
            self._run = self._started(self._task, self._on_event, self._slice_s)
        measurement = self._run.resume()
        if measurement is not None:
            self.measurement = dataclasses.replace(measurement, fill_s=self._fill_s)
        return self.measurement

    def close(self) -> None:
        """End the worker if it lives, and remove the folder."""
        if self._run is not None and self.measurement is None:
            self._run.end()
        self._folder.cleanup()

    def _started(self, task: Task, on_event: OnEvent | None, slice_s: float | None) -> MeasuredWorker:
        return MeasuredWorker(
            task,
            self._limits,
            self._caches,
            self._command,
            on_event=on_event,
            slice_s=slice_s,
            partners=self._partners,
        )

    def _fill(self) -> Measurement | None:
        """Let a worker fill the caches by its first calls; the cell's measurement when it filled nothing."""
        if self._on_event is not None:
            self._on_event(Enter(FILL))
        start_ns = time.perf_counter_ns()
        filling = self._started(first_calls(self._task), None, None).resume()
        assert filling is not None, "a worker that takes no turns runs to its end"
        self._fill_s = (time.perf_counter_ns() - start_ns) / 1e9
        if count_cache_files(self._caches):
            return None
        return dataclasses.replace(_not_filled(self._task, filling), fill_s=self._fill_s)


def _not_filled(task: Task, filling: Measurement) -> Measurement:
    """A cell whose caches stayed empty, so that a measurement would be one of cold caches."""
    outcome, message = filling.outcome, filling.message
    if outcome is Outcome.OK:
        outcome, message = Outcome.UNSUPPORTED, "the framework left nothing in its compile cache"
    message = f"while the caches were filled: {message}"
    points = tuple(PointResult.failed(point, outcome, FILL, message) for point in task.points)
    return dataclasses.replace(
        filling, outcome=outcome, phase=FILL, message=message, points=points, time_to_first_gradient_ns={}
    )

"""The local engine: units on this host, one after the other, one benchmark at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import closing

import psutil

from sciml_bench.engine.group import measure_group
from sciml_bench.engine.interface import EventCallback, JobMeasured, OneByOne, UnitEnded, WorkerReported
from sciml_bench.engine.unit import Job, Unit
from sciml_bench.measure.protocol import Event
from sciml_bench.record.record import Record

# Cells that take turns are all in memory at once, with their frameworks.
_MOST_TOGETHER = 8
_BYTES_OF_A_WORKER = 3 * 2**29


class LocalEngine(OneByOne):
    """Workers on this host.

    ``environment_hash`` names the environment that its records are measured in; ``host`` is kept in them, see
    :class:`~sciml_bench.record.record.Record`.
    """

    name = "local"

    def __init__(self, environment_hash: str, host: str = ""):
        super().__init__()
        self._environment_hash = environment_hash
        self._host = host

    def carry_out(self, unit: Unit, on: EventCallback) -> None:
        indices = range(len(unit.jobs))
        for together in _batches(indices, unit.comparable):
            for record in self._measured(unit, together, on):
                on(JobMeasured(unit, record))
        on(UnitEnded(unit))

    def _measured(self, unit: Unit, indices: Sequence[int], on: EventCallback) -> Iterator[Record]:
        """The records of jobs whose cells take turns, in their order."""
        jobs: list[Job] = [unit.jobs[index] for index in indices]

        def on_event(place: int, event: Event) -> None:
            on(WorkerReported(unit, indices[place], event))

        measurements = measure_group([job.task for job in jobs], unit.limits, on_event=on_event)
        with closing(measurements):
            for job, measurement in zip(jobs, measurements, strict=True):
                yield Record.of(measurement, job.task, job.placement, self._environment_hash, self._host)


def _batches(indices: Sequence[int], comparable: bool) -> Iterator[Sequence[int]]:
    """Jobs whose cells take turns: as many as may be in memory at once, evenly; one if nothing is compared."""
    if not comparable:
        yield from ([index] for index in indices)
        return
    room = psutil.virtual_memory().available // _BYTES_OF_A_WORKER
    count = math.ceil(len(indices) / max(1, min(_MOST_TOGETHER, room)))
    size = math.ceil(len(indices) / count)
    for start in range(0, len(indices), size):
        yield indices[start : start + size]

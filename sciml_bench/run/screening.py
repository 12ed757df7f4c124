"""All ways of a problem, looked at in one process for each framework, the most promising first, until time is up."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from sciml_bench.analysis.call_cost import CallCost, call_cost
from sciml_bench.analysis.process_summary import reduce_record
from sciml_bench.analysis.recommendation import NEAR
from sciml_bench.engine.interface import Ended, Measured, OneByOne, OnHappening
from sciml_bench.engine.limits import Limits
from sciml_bench.engine.shared_worker import SharedWorker
from sciml_bench.engine.unit import Job, Unit
from sciml_bench.plan.purpose import Advised
from sciml_bench.record.record import Record
from sciml_bench.record.task import Cell

OUT_OF_TIME = "time was up before all ways were tried"

_FAILED = 2.0
"""The tiers by which the other kinds of gradient of a method that failed fall back."""

_LEAST_LIMIT_S = 4.0
"""A phase may take so long whatever the best way takes: the machine may have been busy elsewhere."""

Workers = Callable[[Limits], SharedWorker]


class ScreeningEngine(OneByOne):
    """Carries out a unit in shared processes, until ``until_s`` on the clock.

    ``tiers`` says how early each way is to be tried, lower ones first. A library falls back by a tier for every factor
    of ten that its best way so far costs over the best of all, and a method that failed by two: what integrates the
    equations is the same for all kinds of gradient. A way that takes longer to its first call than the best one for
    all calls, with a margin, is ended. ``told`` is called with each way and its cost.
    """

    name = "screen"

    def __init__(
        self,
        advised: Advised,
        tiers: Mapping[Cell, int],
        until_s: float,
        environment_hash: str,
        *,
        told: Callable[[Cell, CallCost, int, int], None] = lambda *_: None,
        workers: Workers = SharedWorker,
        now: Callable[[], float] = time.monotonic,
    ):
        super().__init__()
        self._advised, self._tiers, self._until_s = advised, tiers, until_s
        self._environment_hash, self._told, self._start, self._now = environment_hash, told, workers, now
        self._place = {cell: place for place, cell in enumerate(tiers)}
        self._totals: dict[str, float] = {}
        self._failed: set[tuple[str, str]] = set()

    def carry_out(self, unit: Unit, on: OnHappening) -> None:
        left = list(unit.jobs)
        with ExitStack() as stack:
            workers: dict[str, SharedWorker] = {}
            while left and self._now() < self._until_s:
                job = self._next(left)
                left.remove(job)
                name = job.task.cell.adapter
                if name not in workers:
                    workers[name] = stack.enter_context(self._start(unit.limits))
                measured = workers[name].measure(job.task, self._limit_s(unit.timeout_s))
                record = Record.of(measured, job.task, job.placement, self._environment_hash)
                on(Measured(unit, record))
                self._keep(record, len(unit.jobs) - len(left), len(unit.jobs))
        on(Ended(unit, OUT_OF_TIME if left else ""))

    def _next(self, left: Sequence[Job]) -> Job:
        def turn(job: Job) -> tuple[float, int]:
            cell = job.task.cell
            return self._tiers[cell] + self._behind(cell), self._place[cell]

        return min(left, key=turn)

    def _behind(self, cell: Cell) -> float:
        """The tiers by which a way falls back for what is known of its library and its method."""
        failed = _FAILED if (cell.adapter, cell.method) in self._failed else 0.0
        if cell.adapter not in self._totals:
            return failed
        return failed + math.log10(self._totals[cell.adapter] / min(self._totals.values()))

    def _limit_s(self, most_s: float) -> float:
        """What a phase may take: far more than the best way takes for all calls leads nowhere."""
        best_s = min(self._totals.values(), default=math.inf)
        return round(min(most_s, max(_LEAST_LIMIT_S, NEAR * best_s)), 1)

    def _keep(self, record: Record, place: int, total: int) -> None:
        found = call_cost(reduce_record(record), self._advised.call, self._advised.digits)
        if found.cost is not None:
            total_s, name = found.cost.total_s(self._advised.count), record.cell.adapter
            self._totals[name] = min(total_s, self._totals.get(name, total_s))
        else:
            self._failed.add((record.cell.adapter, record.cell.method))
        self._told(record.cell, found, place, total)

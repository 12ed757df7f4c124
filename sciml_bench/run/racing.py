"""Ways held against each other in blocks of fresh processes, until one is decided to be the best or time is up."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from sciml_bench.analysis.recommendation import block_costs
from sciml_bench.engine.interface import Ended, Engine, Happening, Measured, OnHappening
from sciml_bench.engine.unit import Unit
from sciml_bench.plan.purpose import Advised
from sciml_bench.record.record import Record
from sciml_bench.record.task import Cell
from sciml_bench.stats.race import Race

DECIDED, OUT_OF_TIME = "decided", "time is up"


class RacingEngine(Engine):
    """Has another engine carry out each block, for the ways that are still in the race alone.

    A block is not begun if the race is decided, or if it would not end before ``until_s`` on the clock, as the last one
    lets expect. ``told`` is called after each block with its number and who left in it.
    """

    name = "race"

    def __init__(
        self,
        inner: Engine,
        race: Race[Cell],
        advised: Advised,
        until_s: float,
        *,
        told: Callable[[int, tuple[Cell, ...]], None] = lambda *_: None,
        now: Callable[[], float] = time.monotonic,
    ):
        self._inner, self._race, self._advised, self._until_s = inner, race, advised, until_s
        self._told, self._now = told, now
        self._waiting: list[Unit] = []
        self._block_s = 0.0

    def submit(self, unit: Unit) -> None:
        self._waiting.append(unit)

    def wait(self, on: OnHappening) -> None:
        if not self._waiting:
            return
        whole = self._waiting.pop(0)
        unit = replace(whole, jobs=tuple(job for job in whole.jobs if job.task.cell in self._race.running))
        if self._race.standing.decided or not unit.jobs:
            on(Ended(whole, DECIDED))
            return
        start_s = self._now()
        if start_s + self._block_s > self._until_s:
            on(Ended(whole, OUT_OF_TIME))
            return
        records: list[Record] = []

        def pass_on(happening: Happening) -> None:
            if isinstance(happening, Measured):
                records.append(happening.record)
            if not isinstance(happening, Ended):
                on(happening)

        self._inner.submit(unit)
        self._inner.wait(pass_on)
        self._block_s = self._now() - start_s
        left = self._race.keep(unit.block, block_costs(records, self._advised))
        self._told(unit.block, left)
        absent = len(whole.jobs) - len(unit.jobs)
        on(Ended(whole, f"{absent} ways had left the race" if absent else ""))

    def cancel(self) -> None:
        self._waiting.clear()
        self._inner.cancel()

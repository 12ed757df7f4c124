"""Ways compared with each other in blocks of fresh processes, until one is decided to be the best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sciml_bench.analysis.advice.competitors import block_costs
from sciml_bench.engine.interface import Engine, EngineEvent, EventCallback, JobMeasured, OneByOne, UnitEnded
from sciml_bench.engine.unit import Unit
from sciml_bench.planning.purpose import Advised
from sciml_bench.record.record import Record
from sciml_bench.record.retry_policy import is_starved
from sciml_bench.record.task import Cell
from sciml_bench.stats.race import Race

DECIDED, STARVED = "decided", "other work kept a process from its processor"


class RacingEngine(OneByOne):
    """Has another engine carry out each block, for the ways that are still in the race alone, until it is decided.

    ``told`` is called after each block with its number and the ways that left in it.
    """

    name = "race"

    def __init__(
        self,
        inner: Engine,
        race: Race[Cell],
        advised: Advised,
        *,
        told: Callable[[int, tuple[Cell, ...]], None] = lambda *_: None,
    ):
        super().__init__()
        self._inner, self._race, self._advised, self._told = inner, race, advised, told

    def carry_out(self, unit: Unit, on: EventCallback) -> None:
        whole, unit = unit, replace(unit, jobs=tuple(job for job in unit.jobs if job.task.cell in self._race.running))
        # A lone way runs once, too: its figures then come from a separate process.
        if (self._race.standing.decided and self._race.tried) or not unit.jobs:
            on(UnitEnded(whole, DECIDED))
            return
        records: list[Record] = []
        absent = len(whole.jobs) - len(unit.jobs)
        lost = f"{absent} ways had left the race" if absent else ""

        def pass_on(happening: EngineEvent) -> None:
            nonlocal lost
            if isinstance(happening, JobMeasured):
                records.append(happening.record)
            if isinstance(happening, UnitEnded):
                lost = happening.lost or lost
            else:
                on(happening)

        self._inner.submit(unit)
        self._inner.wait(pass_on)
        if any(map(is_starved, records)):
            # A race continues with its next block instead of repeating this one.
            lost = lost or STARVED
        if records:
            self._told(unit.block, self._race.keep(unit.block, block_costs(records, self._advised)))
        on(UnitEnded(whole, lost))

    def cancel(self) -> None:
        super().cancel()
        self._inner.cancel()

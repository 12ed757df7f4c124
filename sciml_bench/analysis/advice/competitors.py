"""The ways that compete: the cost of each, the ones near the best, and the accuracy that is within reach."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sciml_bench.analysis.advice.call_cost import call_cost
from sciml_bench.analysis.process_summary import ProcessSummary, reduce_record
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.planning.purpose import Advised
from sciml_bench.record.record import Record
from sciml_bench.record.task import Cell
from sciml_bench.stats.race import Race

COUNT = 1000
"""Calls, by default."""

NEAR, MOST = 3.0, 8
"""Ways within this factor of the best one in the screening compete with it, at most this many."""


def block_costs(records: Iterable[Record], advised: Advised) -> dict[Cell, float | None]:
    """The cost of each way of a block in seconds, ``None`` if it failed; starved processes give none."""
    found = {record.cell: reduce_record(record) for record in records}
    return {cell: total_s(process, advised) for cell, process in found.items() if not process.starved}


def total_s(process: ProcessSummary, advised: Advised) -> float | None:
    """The cost of the calls in seconds by one process; ``None`` if it never gets to the accuracy."""
    found = call_cost(process, advised.call, advised.digits).cost
    return None if found is None else found.total_s(advised.count)


def replayed(cells: Sequence[CellSummary], advised: Advised) -> Race[Cell]:
    """The race that the processes of these cells ran, block by block."""
    race = Race(tuple(item.cell for item in cells))
    blocks: dict[int, dict[Cell, float | None]] = {}
    for item in cells:
        for process in item.processes:
            if not process.starved:
                blocks.setdefault(process.block, {})[item.cell] = total_s(process, advised)
    for block in sorted(blocks):
        race.keep(block, {cell: cost for cell, cost in blocks[block].items() if cell in race.running})
    return race


def nearest(cells: Iterable[CellSummary], advised: Advised) -> list[CellSummary]:
    """The ways near the best one, the best first: the competitors."""
    costs = {item.cell: cost for item in cells for process in item.processes if (cost := total_s(process, advised))}
    order = sorted((item for item in cells if item.cell in costs), key=lambda item: costs[item.cell])
    least = min(costs.values(), default=0.0)
    return [item for item in order if costs[item.cell] <= NEAR * least][:MOST]


_LEAST_DIGITS = 2.0
"""Fewer are no answer to anybody."""


def within_reach(cells: Iterable[CellSummary], advised: Advised) -> Advised:
    """The question, with the best accuracy that a way reached, a power of ten, if none reached the requested one."""
    best = max((most_digits(item, advised.call) for item in cells), default=0.0)
    if best >= advised.digits or best < _LEAST_DIGITS:
        return advised
    return replace(advised, accuracy=float(f"1e-{math.floor(best)}"), requested=advised.accuracy)


def most_digits(item: CellSummary, call: str) -> float:
    """The most digits that a way reached at a tolerance; 0 if none has a known error."""
    works = (point.half(call).work for process in item.processes for point in process.points)
    return max((work.digits for work in works if work is not None), default=0.0)

"""The best choice for so many gradients, and after how many one cell overtakes another.

A cell costs its time to the first gradient, from the start of the process, and then as many steady gradients as are
wanted, at the accuracy at which the table compares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sciml_bench.report.rows import Row
from sciml_bench.stats.breakeven import BreakEven, Cost, best, break_even, break_even_spread, near_best

GRADIENTS = (10, 1_000, 100_000)


@dataclass(frozen=True)
class Best:
    """The cheapest row for so many gradients, its total, and the others that cost at most 5 % more."""

    gradients: int
    row: Row
    total_s: float
    near: tuple[Row, ...]


@dataclass(frozen=True)
class Overtaking:
    """From ``gradients`` on ``late`` is the cheapest row, in the place of ``early``. ``spread`` is over the blocks."""

    gradients: int
    early: Row
    late: Row
    spread: BreakEven | None


@dataclass(frozen=True)
class Choice:
    """What to take, of the rows of one table."""

    best: tuple[Best, ...]
    overtakings: tuple[Overtaking, ...]


def choice(rows: Sequence[Row]) -> Choice | None:
    """The choice among rows with both a first and a steady gradient; ``None`` where there are fewer than two."""
    known = {index: of_row for index, row in enumerate(rows) if (of_row := cost(row)) is not None}
    if len(known) < 2:
        return None
    return Choice(
        best=tuple(_best(rows, known, gradients) for gradients in GRADIENTS),
        overtakings=tuple(_overtakings(rows, known)),
    )


def _best(rows: Sequence[Row], costs: dict[int, Cost], gradients: int) -> Best:
    first, *near = near_best(costs, gradients)
    return Best(gradients, rows[first], costs[first].total_s(gradients), tuple(rows[index] for index in near))


def _overtakings(rows: Sequence[Row], costs: dict[int, Cost]) -> list[Overtaking]:
    """The changes of the cheapest row as the number of gradients grows."""
    found: list[Overtaking] = []
    now, gradients = best(costs, 1), 1
    while True:
        # Only a row with a cheaper gradient can overtake, so this ends.
        ahead = [index for index, cost in costs.items() if cost.each_s < costs[now].each_s]
        numbers = [number for index in ahead if (number := break_even(costs[now], costs[index])) is not None]
        later = [number for number in numbers if number > gradients]
        if not later:
            return found
        gradients = min(later)
        late = best(costs, gradients)
        found.append(Overtaking(gradients, rows[now], rows[late], _spread(rows[now], rows[late])))
        now = late


def cost(row: Row) -> Cost | None:
    """What a row costs; ``None`` where its first or its steady gradient is not known."""
    first, each = row.summary.first_gradient_process, row.gradient.seconds
    return None if first is None or each is None else Cost(first.median, each.median)


def _spread(early: Row, late: Row) -> BreakEven | None:
    a, b = block_costs(early), block_costs(late)
    blocks = sorted(a.keys() & b.keys())
    return break_even_spread([a[block] for block in blocks], [b[block] for block in blocks]) if blocks else None


def block_costs(row: Row) -> dict[int, Cost]:
    """What a row costs in each block in which it has both a first and a steady gradient."""
    first = {process.block: process.first_gradient_process_s for process in row.summary.processes}
    return {
        block: Cost(started, each)
        for block, each in row.gradient.blocks.items()
        if each is not None and (started := first.get(block)) is not None
    }

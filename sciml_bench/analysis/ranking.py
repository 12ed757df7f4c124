"""Whether the row with the least time leads beyond chance: its standing against all the others in one word."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from sciml_bench.analysis.rows import Row, RowTable, Time
from sciml_bench.stats.front import on_axis
from sciml_bench.stats.ratio import Ratio, pair, paired_ratio
from sciml_bench.stats.verdict import Judgement, Verdict, judge, with_bound

# Verdicts between the rows of a table: every row against its fastest one.

QUANTITIES = ("gradient", "solve")


@dataclass(frozen=True)
class Standing:
    """One row against the fastest row of its table; the ratio is its time over that of the fastest."""

    quantity: str
    fastest: Row
    row: Row
    judgement: Judgement

    @property
    def row_bound(self) -> bool:
        """Whether a time is known from above only, so that not every verdict can be said."""
        return _time(self.row, self.quantity).at_most or _time(self.fastest, self.quantity).at_most


@dataclass(frozen=True)
class Standings:
    """The standings of each table, in its order, and the number of comparisons that they were judged among."""

    of_table: tuple[tuple[Standing, ...], ...]
    family: int


def standings(tables: Sequence[RowTable]) -> Standings:
    """Judge the rows of all tables of a run together."""
    judged = judged_pairs(tables)
    found: list[tuple[Standing, ...]] = []
    for number, table in enumerate(tables):
        of_table: list[Standing] = []
        for quantity in QUANTITIES:
            fastest = _fastest(table, quantity)
            if fastest is None:
                continue
            for other in range(len(table.rows)):
                judgement = between(judged, tables, (number, quantity, fastest, other))
                if judgement is not None:
                    of_table.append(Standing(quantity, table.rows[fastest], table.rows[other], judgement))
        found.append(tuple(of_table))
    return Standings(tuple(found), sum(judgement.ratio.n > 1 for judgement in judged.values()))


Pair = tuple[int, str, int, int]
"""The number of a table, a quantity, and the places of two of its rows: the base and the other."""


def judged_pairs(tables: Sequence[RowTable]) -> dict[Pair, Judgement]:
    """All pairs of rows of all tables of a run that have a block in common, the earlier row as the base."""
    family: dict[Pair, Ratio] = {}
    for number, table in enumerate(tables):
        for quantity in QUANTITIES:
            for first, second in combinations(range(len(table.rows)), 2):
                ratio = _ratio(_time(table.rows[first], quantity), _time(table.rows[second], quantity))
                if ratio is not None:
                    family[number, quantity, first, second] = ratio
    return judge(family, independent=_independent(tables))


def _independent(tables: Sequence[RowTable]) -> int:
    """How many of the comparisons are independent of each other: on each problem one less than it has cells, taking a
    cell's solves and gradients as one."""
    cells: dict[str, set[str]] = {}
    for table in tables:
        cells.setdefault(table.problem, set()).update(row.summary.cell.label for row in table.rows)
    return sum(len(of_problem) - 1 for of_problem in cells.values())


def between(judged: Mapping[Pair, Judgement], tables: Sequence[RowTable], pair: Pair) -> Judgement | None:
    """The judgement on a pair of rows in either order; ``None`` when it has none."""
    number, quantity, base, other = pair
    found = judged.get((number, quantity, min(base, other), max(base, other)))
    if found is None or base == other:
        return None
    rows = tables[number].rows
    judgement = found if base < other else turned(found)
    return with_bound(judgement, _time(rows[base], quantity).at_most, _time(rows[other], quantity).at_most)


def lead(rows: Sequence[Row], found: Sequence[Standing], quantity: str) -> tuple[Lead, tuple[Tied, ...]]:
    """Whether the row of a table with the least time is the fastest beyond chance, and which others may be as fast."""
    timed = [row for row in rows if _time(row, quantity).seconds is not None]
    least = min(timed, key=lambda row: _median(row, quantity), default=None)
    judged = {item.row.summary.cell_id: item.judgement for item in found if item.quantity == quantity}
    return of_lead([(row, judged.get(row.summary.cell_id)) for row in timed if row is not least])


def _time(row: Row, quantity: str) -> Time:
    return row.gradient if quantity == "gradient" else row.solve


def _ratio(base: Time, new: Time) -> Ratio | None:
    pairs = pair(base.blocks, new.blocks)
    return on_axis(paired_ratio(pairs.base, pairs.new), base.axis, new.axis) if pairs.blocks else None


def _fastest(table: RowTable, quantity: str) -> int | None:
    timed = [index for index, row in enumerate(table.rows) if _time(row, quantity).seconds is not None]
    return min(timed, key=lambda index: _median(table.rows[index], quantity), default=None)


def _median(row: Row, quantity: str) -> float:
    seconds = _time(row, quantity).seconds
    return math.inf if seconds is None else seconds.median


class Lead(StrEnum):
    """What is said of the row with the least time: it is faster than all others, the same as some, or undecided."""

    CLEAR = "clear"
    SAME = "same"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Tied:
    """A row that is not judged slower than the one with the least time; without a common block it is not judged."""

    row: Row
    judgement: Judgement | None


def of_lead(against: Sequence[tuple[Row, Judgement | None]]) -> tuple[Lead, tuple[Tied, ...]]:
    """The word, and who is not slower, of the judgements on all others against the row with the least time."""
    tied = tuple(
        Tied(row, judgement)
        for row, judgement in against
        if judgement is None or judgement.verdict is not Verdict.SLOWER
    )
    return lead_of([item.judgement for item in tied]), tied


def lead_of(even: Sequence[Judgement | None]) -> Lead:
    """The word, from the judgements on those that are not slower; ``None`` is one that cannot be judged."""
    if not even:
        return Lead.CLEAR
    same = all(judgement is not None and judgement.verdict is Verdict.SAME for judgement in even)
    return Lead.SAME if same else Lead.UNDECIDED


def turned(judgement: Judgement) -> Judgement:
    """The same judgement with the sides exchanged."""
    opposite = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}
    verdict = opposite.get(judgement.verdict, judgement.verdict)
    return dataclasses.replace(judgement, verdict=verdict, ratio=judgement.ratio.inverse)

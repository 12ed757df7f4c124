"""Verdicts between the rows of a table: every row against its fastest one.

The fastest row is chosen after looking at the times, so the family is not the comparisons with it but all pairs of
rows of all tables of the run: whichever row turned out to be the fastest, its comparisons are among them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from sciml_bench.report.rows import Row, Time
from sciml_bench.report.tables import RowTable
from sciml_bench.stats.ratio import Ratio, pair, paired_ratio
from sciml_bench.stats.verdict import Judgement, Verdict, judge

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
    return judge(family)


def between(judged: Mapping[Pair, Judgement], tables: Sequence[RowTable], pair: Pair) -> Judgement | None:
    """The judgement on a pair of rows in either order; ``None`` when it has none."""
    number, quantity, base, other = pair
    found = judged.get((number, quantity, min(base, other), max(base, other)))
    if found is None or base == other:
        return None
    rows = tables[number].rows
    return _with_bounds(found if base < other else _turned(found), rows[base], rows[other], quantity)


def _time(row: Row, quantity: str) -> Time:
    return row.gradient if quantity == "gradient" else row.solve


def _ratio(base: Time, new: Time) -> Ratio | None:
    pairs = pair(base.blocks, new.blocks)
    return paired_ratio(pairs.base, pairs.new) if pairs.blocks else None


def _fastest(table: RowTable, quantity: str) -> int | None:
    timed = [
        (seconds.median, index)
        for index, row in enumerate(table.rows)
        if (seconds := _time(row, quantity).seconds) is not None
    ]
    return min(timed)[1] if timed else None


def _turned(judgement: Judgement) -> Judgement:
    """The same judgement with the sides exchanged."""
    turned = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}
    verdict = turned.get(judgement.verdict, judgement.verdict)
    return dataclasses.replace(judgement, verdict=verdict, ratio=judgement.ratio.inverse)


def _with_bounds(judgement: Judgement, fastest: Row, row: Row, quantity: str) -> Judgement:
    """A row that is known from above only cannot be called slower, nor equal; the fastest one may be even faster."""
    if not _time(row, quantity).at_most:
        if not _time(fastest, quantity).at_most or judgement.verdict is Verdict.SLOWER:
            return judgement
    return dataclasses.replace(judgement, verdict=Verdict.UNDECIDED, more_processes=None)

"""The fastest row of a problem beyond chance: all rows with a time against one that no other is judged faster than."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import TypeVar

from sciml_bench.analysis.rows import Comparison, Row, Time
from sciml_bench.stats.autocorrelation import Earlier
from sciml_bench.stats.axis_error import on_axis
from sciml_bench.stats.ratio import Ratio, pair, paired_ratio
from sciml_bench.stats.run_spread import RunSpread, run_spreads
from sciml_bench.stats.verdict import Judgement, Verdict, judge, with_bound

R = TypeVar("R")

QUANTITIES = ("gradient", "solve")

APART = 2.0
"""A provisional winner took less than the others by this factor in every block, even its slowest against their
fastest."""
FEWEST_BLOCKS = 3
"""A provisional winner needs this many blocks."""


class Lead(StrEnum):
    """The verdict on the row with the least time.

    It is faster than all others (``clear``), the same as some, undecided, or the only one with a time (``alone``). In a
    run that other work disturbed it may be ``provisional``; in one that names no winner it is only ``shown``.
    """

    CLEAR = "clear"
    SAME = "same"
    UNDECIDED = "undecided"
    ALONE = "alone"
    PROVISIONAL = "provisional"
    SHOWN = "shown"


@dataclass(frozen=True)
class Tie:
    """A row that is not judged slower than the one with the least time; without a common block it is not judged."""

    row: Row
    judgement: Judgement | None


@dataclass(frozen=True)
class PairwiseVerdict:
    """One row against the fastest; the ratio is its time over the fastest row's."""

    quantity: str
    fastest: Row
    row: Row
    judgement: Judgement


@dataclass(frozen=True)
class Ranking:
    """Rows with a time, the least first unless another is judged faster, and how the others stand against the first.

    ``standings`` are empty if no winner may be named. ``tied`` are the rows that may be as fast as the first.
    """

    quantity: str
    rows: tuple[Row, ...]
    standings: tuple[PairwiseVerdict, ...]
    lead: Lead
    tied: tuple[Tie, ...]

    @property
    def fastest(self) -> Row:
        """The row with the least time, or one that is judged faster."""
        return self.rows[0]

    def standing(self, row: Row) -> PairwiseVerdict | None:
        """Return the comparison of a row with the fastest; ``None`` for the fastest and for rows without verdict."""
        return next((item for item in self.standings if item.row is row), None)

    def verdict(self, row: Row) -> str:
        """The word on a row, empty if it is not judged. On the fastest: ``fastest``, or why it is not called so."""
        if row is self.fastest:
            judged = self.standings or self.lead is Lead.PROVISIONAL
            return "" if not judged else "fastest" if self.lead is Lead.CLEAR else self.lead.value
        found = self.standing(row)
        return "" if found is None else found.judgement.verdict.value


class Judged:
    """The judgements on all pairs of rows of each problem that have a block in common: one family for a run.

    ``repeated`` are the rows of runs that repeat it; ``runs`` is, by quantity, the average spread between runs in the
    judgements, empty with fewer than three runs.
    """

    def __init__(
        self,
        comparisons: Mapping[str, Comparison],
        earlier: Earlier | None = None,
        repeated: Sequence[Mapping[str, Comparison]] = (),
    ):
        family = ratios(comparisons)
        spreads = _spreads([family, *map(ratios, repeated)])
        family = {pair: spreads[pair].of_ratio(ratio) if pair in spreads else ratio for pair, ratio in family.items()}
        self.runs = {quantity: spread for quantity in QUANTITIES if (spread := _typical(spreads, quantity)) is not None}
        self._judged = judge(family, independent=_independent(comparisons), earlier=earlier)
        self.family = sum(judgement.ratio.n > 1 for judgement in self._judged.values())

    def between(self, quantity: str, base: Row, other: Row) -> Judgement | None:
        """The judgement on two rows of a problem, of ``other`` over ``base``; ``None`` if they have none."""
        problem, first, second = base.summary.cell.problem, base.summary.cell.label, other.summary.cell.label
        found = self._judged.get((problem, quantity, first, second))
        if found is None:
            reverse = self._judged.get((problem, quantity, second, first))
            if reverse is None:
                return None
            found = turned(reverse)
        return with_bound(found, time_of(base, quantity).at_most, time_of(other, quantity).at_most)


Pair = tuple[str, str, str, str]
"""A problem, a quantity, and the cells of two rows by their labels: the base and the other."""


def _spreads(runs: Sequence[Mapping[Pair, Ratio]]) -> dict[Pair, RunSpread]:
    """The spread of each pair of the first run over all of them, whatever the order of its rows."""
    found: dict[Pair, RunSpread] = {}
    for quantity in QUANTITIES:
        found |= run_spreads([{pair: ratio for pair, ratio in run.items() if pair[1] == quantity} for run in runs])
    return found


def _typical(spreads: Mapping[Pair, RunSpread], quantity: str) -> RunSpread | None:
    """The least spread of a quantity, which is the average over its pairs."""
    of = [spread for pair, spread in spreads.items() if pair[1] == quantity]
    return min(of, key=lambda spread: spread.sd, default=None)


def ratios(comparisons: Mapping[str, Comparison]) -> dict[Pair, Ratio]:
    """The ratio of each pair of rows of a problem that have a block in common, for each quantity."""
    found: dict[Pair, Ratio] = {}
    for problem, comparison in comparisons.items():
        for quantity in QUANTITIES:
            for first, second in combinations(comparison.rows, 2):
                ratio = _ratio(time_of(first, quantity), time_of(second, quantity))
                a, b = first.summary.cell.label, second.summary.cell.label
                # One key for a pair, whichever of its rows comes first.
                if ratio is not None and a < b:
                    found[problem, quantity, a, b] = ratio
                elif ratio is not None:
                    found[problem, quantity, b, a] = ratio.inverse
    return found


def ranking(rows: Sequence[Row], quantity: str, judged: Judged | None, *, disturbed: bool = False) -> Ranking | None:
    """Rank rows of one problem; ``None`` if none has a time.

    Without judgements no winner is named, except a provisional one if the run is ``disturbed``.
    """
    timed = sorted(_timed(rows, quantity), key=lambda row: _median(row, quantity))
    if not timed:
        return None
    if judged is not None:
        timed = with_unbeaten_first(timed, lambda base, other: judged.between(quantity, base, other))
    first, others = timed[0], timed[1:]
    if judged is None:
        provisional = disturbed and others and all(_apart(first, other, quantity) for other in others)
        return Ranking(quantity, tuple(timed), (), Lead.PROVISIONAL if provisional else Lead.SHOWN, ())
    against = [(row, judged.between(quantity, first, row)) for row in others]
    standings = tuple(PairwiseVerdict(quantity, first, row, found) for row, found in against if found is not None)
    lead, tied = of_lead(against) if others else (Lead.ALONE, ())
    return Ranking(quantity, tuple(timed), standings, lead, tied)


def with_unbeaten_first(rows: Sequence[R], judge: Callable[[R, R], Judgement | None]) -> list[R]:
    """Rows with one ahead that no other is judged faster than, the first one if that is so.

    Blocks are fast or slow as a whole: a row that failed in the slow ones may have the least median, and be slower in
    every block that it shares with another.
    """
    first = rows[0]
    for _ in rows:
        found = ((row, judge(first, row)) for row in rows if row is not first)
        ahead = [
            (item.ratio.estimate, row) for row, item in found if item is not None and item.verdict is Verdict.FASTER
        ]
        if not ahead:
            break
        first = min(ahead, key=lambda item: item[0])[1]
    return [first, *(row for row in rows if row is not first)]


def _apart(first: Row, other: Row, quantity: str) -> bool:
    """Return whether the slowest block of a row is faster than the fastest of another by the factor ``APART``."""
    fast, slow = (
        [time for time in time_of(row, quantity).blocks.values() if time is not None] for row in (first, other)
    )
    bounded = time_of(other, quantity).at_most
    return min(len(fast), len(slow)) >= FEWEST_BLOCKS and APART * max(fast) <= min(slow) and not bounded


def _independent(comparisons: Mapping[str, Comparison]) -> int:
    """Return the number of independent comparisons: on each problem one less than it has rows, taking a
    row's solves and gradients as one."""
    return sum(max(0, len(comparison.rows) - 1) for comparison in comparisons.values())


def time_of(row: Row, quantity: str) -> Time:
    """The time of a row for a quantity."""
    return row.gradient if quantity == "gradient" else row.solve


def _timed(rows: Sequence[Row], quantity: str) -> list[Row]:
    return [row for row in rows if time_of(row, quantity).seconds is not None]


def _median(row: Row, quantity: str) -> float:
    seconds = time_of(row, quantity).seconds
    return math.inf if seconds is None else seconds.median


def _ratio(base: Time, new: Time) -> Ratio | None:
    if base.seconds is None or new.seconds is None:
        return None
    pairs = pair(base.blocks, new.blocks)
    return on_axis(paired_ratio(pairs.base, pairs.new), base.axis, new.axis) if pairs.blocks else None


def of_lead(against: Sequence[tuple[Row, Judgement | None]]) -> tuple[Lead, tuple[Tie, ...]]:
    """The word, and who is not slower, of the judgements on all others against the first row."""
    tied = tuple(
        Tie(row, judgement)
        for row, judgement in against
        if judgement is None or judgement.verdict is not Verdict.SLOWER
    )
    return lead_of([item.judgement for item in tied]), tied


def lead_of(even: Sequence[Judgement | None]) -> Lead:
    """The verdict, from the judgements on the rows that are not slower; ``None`` is one that cannot be judged."""
    if not even:
        return Lead.CLEAR
    same = all(judgement is not None and judgement.verdict is Verdict.SAME for judgement in even)
    return Lead.SAME if same else Lead.UNDECIDED


def turned(judgement: Judgement) -> Judgement:
    """Return the judgement with its sides exchanged."""
    opposite = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}
    verdict = opposite.get(judgement.verdict, judgement.verdict)
    return dataclasses.replace(judgement, verdict=verdict, ratio=judgement.ratio.inverse)

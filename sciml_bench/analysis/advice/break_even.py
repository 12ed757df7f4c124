"""The best choice for a number of gradients, and the number after which one cell overtakes another.

A cell costs its time to the first gradient, from the start of the process, and then as many steady gradients as are
wanted, at the accuracy at which the table compares. The cheapest is chosen by looking, so the family of its
comparisons is all pairs of rows of the table, for each number of gradients.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from sciml_bench.analysis.ranking import Lead, Tie, of_lead, turned, with_unbeaten_first
from sciml_bench.analysis.rows import Row
from sciml_bench.stats.autocorrelation import Earlier
from sciml_bench.stats.axis_error import relative
from sciml_bench.stats.break_even import Cost, best, break_even, even_range
from sciml_bench.stats.ratio import Ratio, paired_ratio, with_alike, with_fixed
from sciml_bench.stats.run_spread import RunSpread
from sciml_bench.stats.verdict import Judgement, judge, with_bound

GRADIENTS = (10, 1_000, 100_000)
_SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True)
class Best:
    """The row that no other is judged cheaper than for ``gradients`` gradients, and whether that is beyond chance.

    ``tied`` are the others that are not judged more expensive: the same within the band, or undecided.
    """

    gradients: int
    row: Row
    total_s: float
    lead: Lead
    tied: tuple[Tie, ...]


@dataclass(frozen=True)
class Overtaking:
    """From ``gradients`` on ``late`` has the least total, in the place of ``early``.

    From ``low`` to ``high`` gradients the two are not distinguished, at ``confidence`` and over ``blocks`` blocks: the
    range that holds the true number. ∞ means never. With fewer than two blocks the range is missing. A gradient
    whose time is known from above only leaves all numbers open.
    """

    gradients: int
    early: Row
    late: Row
    low: float | None
    high: float | None
    blocks: int
    confidence: float = 0.95

    @property
    def decided(self) -> bool:
        """Return whether one of the two is ahead beyond chance at any number of gradients."""
        return self.low is not None and self.high is not None and (self.low > 1 or self.high < float("inf"))


@dataclass(frozen=True)
class BreakEven:
    """The choice among the rows of one table; ``family`` comparisons were judged together."""

    best: tuple[Best, ...]
    overtakings: tuple[Overtaking, ...]
    family: int


def find_break_even(
    rows: Sequence[Row], earlier: Earlier | None = None, runs: RunSpread | None = None
) -> BreakEven | None:
    """The choice among rows with both a first and a steady gradient; ``None`` for fewer than two.

    ``earlier`` is the correlation of neighbouring blocks, ``runs`` the difference between runs, if they are known.
    """
    known = {index: of_row for index, row in enumerate(rows) if (of_row := cost(row)) is not None}
    if len(known) < 2:
        return None
    judged = _judged(rows, known, earlier, runs)
    return BreakEven(
        best=tuple(_best(rows, known, gradients, judged) for gradients in GRADIENTS),
        overtakings=tuple(_overtakings(rows, known, _Guard.of(judged, runs))),
        family=sum(judgement.ratio.n > 1 for judgement in judged.values()),
    )


_Pair = tuple[int, int, int]
"""A number of gradients, and the places of two rows: the base and the other."""


def _judged(
    rows: Sequence[Row], costs: Mapping[int, Cost], earlier: Earlier | None, runs: RunSpread | None
) -> dict[_Pair, Judgement]:
    family: dict[_Pair, Ratio] = {}
    blocks = {index: block_costs(rows[index]) for index in costs}
    for gradients in GRADIENTS:
        for first, second in combinations(costs, 2):
            ratio = total_ratio(blocks[first], blocks[second], gradients, (rows[first], rows[second]))
            if ratio is not None:
                family[gradients, first, second] = ratio if runs is None else runs.of_ratio(ratio)
    return judge(family, independent=len(costs) - 1, earlier=earlier)


def _best(rows: Sequence[Row], costs: Mapping[int, Cost], gradients: int, judged: Mapping[_Pair, Judgement]) -> Best:
    def judgement(base: int, other: int) -> Judgement | None:
        found = judged.get((gradients, min(base, other), max(base, other)))
        found = found if found is None or base < other else turned(found)
        return None if found is None else with_bound(found, rows[base].gradient.at_most, rows[other].gradient.at_most)

    order = sorted(costs, key=lambda index: costs[index].total_s(gradients))
    chosen, *others = with_unbeaten_first(order, judgement)
    lead, tied = of_lead([(rows[other], judgement(chosen, other)) for other in others])
    return Best(gradients, rows[chosen], costs[chosen].total_s(gradients), lead, tied)


@dataclass(frozen=True)
class _Guard:
    """The widening of the interval of a ratio: correlation of neighbouring blocks, and how far runs differ."""

    factor: float
    runs: RunSpread | None

    @classmethod
    def of(cls, judged: Mapping[_Pair, Judgement], runs: RunSpread | None) -> _Guard:
        """The guard of a family."""
        return cls(max((item.widening for item in judged.values()), default=1.0), runs)

    def __call__(self, ratio: Ratio | None) -> Ratio | None:
        """The ratio with its wider interval."""
        if ratio is None:
            return None
        return with_alike(ratio if self.runs is None else self.runs.of_ratio(ratio), self.factor)


def _overtakings(rows: Sequence[Row], costs: dict[int, Cost], guard: _Guard) -> Iterator[Overtaking]:
    """The changes of the cheapest row as the number of gradients grows."""
    now, gradients = best(costs, 1), 1
    while True:
        # Only a row with a cheaper gradient can overtake, so this ends.
        ahead = [index for index, cost in costs.items() if cost.each_s < costs[now].each_s]
        numbers = [number for index in ahead if (number := break_even(costs[now], costs[index])) is not None]
        later = [number for number in numbers if number > gradients]
        if not later:
            return
        gradients = min(later)
        late = best(costs, gradients)
        yield _overtaking(gradients, rows[now], rows[late], guard)
        now = late


def _overtaking(gradients: int, early: Row, late: Row, guard: _Guard) -> Overtaking:
    sides = block_costs(early), block_costs(late)
    blocks = len(sides[0].keys() & sides[1].keys())
    if blocks > 1 and (early.gradient.at_most or late.gradient.at_most):
        return Overtaking(gradients, early, late, 1.0, math.inf, blocks)
    found = even_range(lambda n: guard(total_ratio(*sides, n, (early, late)))) if blocks > 1 else None
    low, high = found if found is not None else (None, None)
    return Overtaking(gradients, early, late, low, high, blocks)


def cost(row: Row) -> Cost | None:
    """The cost of a row; ``None`` if its first or its steady gradient is not known."""
    first, each = row.summary.first_gradient_process, row.gradient.seconds
    return None if first is None or each is None else Cost(first.median, each.median)


def price_of(seconds: float | None, per_hour: float | None, calls: float = 1.0) -> float | None:
    """The price of ``calls`` calls on a machine at this hourly price; ``None`` if a number is not known."""
    return None if seconds is None or per_hour is None else seconds * calls / _SECONDS_PER_HOUR * per_hour


def million_gradients_cost(row: Row, per_hour: float | None) -> float | None:
    """The price of the first gradient and of 999 999 more; ``None`` where a time or the price is not known."""
    of_row = cost(row)
    return None if of_row is None else price_of(of_row.total_s(10**6), per_hour)


def total_ratio(
    base: Mapping[int, Cost], new: Mapping[int, Cost], gradients: int, rows: tuple[Row, Row] | None = None
) -> Ratio | None:
    """The total of ``new`` over the total of ``base``, paired by block; ``None`` without a common block.

    ``rows`` are the rows of base and new: the error of reading their gradients at equal accuracy counts by the share
    of the gradients in the totals.
    """
    blocks = sorted(base.keys() & new.keys())
    if not blocks:
        return None
    before, after = ([side[block].total_s(gradients) for block in blocks] for side in (base, new))
    found = paired_ratio(before, after)
    if rows is None:
        return found
    totals = [(side, row.gradient.axis) for side, row in zip((base, new), rows, strict=True)]
    shares = [_share([side[block] for block in blocks], gradients) for side, _ in totals]
    sd, df = relative(totals[0][1], totals[1][1], (shares[0], shares[1]))
    return with_fixed(found, sd, df) if sd > 0 else found


def _share(costs: Sequence[Cost], gradients: int) -> float:
    """The share of the steady gradients in the totals."""
    return sum((gradients - 1) * cost.each_s for cost in costs) / sum(cost.total_s(gradients) for cost in costs)


def block_costs(row: Row) -> dict[int, Cost]:
    """The cost of a row in each block in which it has both a first and a steady gradient."""
    first = {process.block: process.first_gradient_process_s for process in row.summary.processes}
    return {
        block: Cost(started, each)
        for block, each in row.gradient.blocks.items()
        if each is not None and (started := first.get(block)) is not None
    }

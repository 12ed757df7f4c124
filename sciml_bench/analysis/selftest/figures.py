"""Figures of a self-test, from the times of its measured processes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from sciml_bench.analysis.selftest.bias import DRIFT, Bias, Interval, bias
from sciml_bench.analysis.selftest.blocks import AGAIN, BASE, JUDGED, ROLES, SLOW_DOWNS, Order, order_of
from sciml_bench.stats.effects import level
from sciml_bench.stats.error_rates import trials
from sciml_bench.stats.power import processes_for, smallest_change
from sciml_bench.stats.proportion import Proportion, share
from sciml_bench.stats.ratio import paired_ratio

NOMINAL = 0.05
MOST_FALSE_POSITIVES = 0.07
LEAST_FOUND = 0.9
BAND = 0.05
"""Verdicts call cells that differ by less the same."""
EXCLUDED = 0.08
"""A bias as large as this must be excluded by the interval."""
READ_TO = 0.005
"""The wait that is injected leaves caches a little colder for the next call: a quiet machine reads 10.2 to 10.5 %."""
SEEN = 0.025
"""A bias beyond half the band that is seen to be one fails the test."""
SEEN_LEVEL = 0.01
"""The largest frequency of seeing one if there is none."""

BLOCKS_PER_TRIAL = 10
FEWEST_BLOCKS = 12
FEWEST_OF_ORDER = 3
TRIALS_PER_SERIES = 500

PROCESSES = (3, 10, 30)
"""The numbers of processes of the profiles."""

Times = Mapping[str, Mapping[int, float | None]]
"""Seconds by role and block; ``None`` where a process failed."""

Count = tuple[int, int]
"""A number of cases, and the number of all."""


class Doubt(StrEnum):
    """A reason why a self-test is not passed."""

    FALSE_POSITIVES = "false positives"
    POWER = "slowdown not found"
    CALIBRATION = "slowdown read wrong"
    BIAS = "bias"
    DRIFT = "drift"
    NOISE = "bias not excluded"


@dataclass(frozen=True)
class Series:
    """One quantity of one workload: a cell against itself, and against itself slowed down.

    ``again`` and ``slower`` are ratios over all blocks; ``sd_log`` is the spread of the log ratio of the cell to itself
    in one block. ``false_*`` count trials with the same cell on both sides and the labels drawn, ``labelled`` with the
    labels as they are; ``found`` and ``named`` trials with a slowdown, by role: p below 5 %, and moreover an estimate
    outside the band of 5 %, which makes a verdict.
    """

    name: str
    blocks: int
    sd_log: float
    again: Interval
    slower: Mapping[str, Interval]
    false_positives: Count
    false_winners: Count
    labelled: Count
    bias: Bias
    found: Mapping[str, Count]
    named: Mapping[str, Count]


@dataclass(frozen=True)
class Figures:
    """The results of a self-test, over all its series.

    ``smallest_change`` is the smallest slowdown (0.05 is 5 %) that the self-test's number of processes finds here with
    a probability of 80 %; ``processes_needed`` is the number that finds this slowdown here with a probability of 90 %.
    """

    series: tuple[Series, ...]
    blocks_per_trial: int
    smallest_change: Mapping[int, float]
    processes_needed: Mapping[float, int]

    @property
    def false_positives(self) -> Proportion:
        """Of trials with the same cell on both sides, the share with p < 5 %."""
        return _sum(item.false_positives for item in self.series)

    @property
    def false_winners(self) -> Proportion:
        """Of these trials, those in which one side would have been called faster."""
        return _sum(item.false_winners for item in self.series)

    def found(self, role: str) -> Proportion:
        """Of trials with this slowdown, the share with p < 5 %."""
        return _sum(item.found[role] for item in self.series)

    def named(self, role: str) -> Proportion:
        """Of these trials, those in which the slower side was called slower."""
        return _sum(item.named[role] for item in self.series)

    @property
    def sd_log(self) -> float:
        """The spread of the log ratio in one block: the median of the series."""
        return median(item.sd_log for item in self.series)

    @property
    def labelled(self) -> Proportion:
        """Of trials with the same cell on both sides and the original labels, the share with p < 5 %."""
        return _sum(item.labelled for item in self.series)

    @property
    def level(self) -> float:
        """Return the error rate of a plain t-test with the blocks' autocorrelation, for the worst series."""
        return max(item.bias.level(self.blocks_per_trial, NOMINAL) for item in self.series)

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Return why verdicts of this machine cannot be trusted now; empty when the test is passed."""
        seen = self._seen()
        found = {
            Doubt.FALSE_POSITIVES: self.false_positives.share > MOST_FALSE_POSITIVES,
            Doubt.POWER: self.found(JUDGED).share < LEAST_FOUND,
            Doubt.CALIBRATION: not all(map(calibrated, self.series)),
            Doubt.BIAS: any(what != DRIFT for what in seen),
            Doubt.DRIFT: DRIFT in seen,
            Doubt.NOISE: not all(map(excluded, self.series)),
        }
        return tuple(doubt for doubt, holds in found.items() if holds)

    @property
    def passed(self) -> bool:
        """Return whether the harness is as good as it must be."""
        return not self.doubts

    def _seen(self) -> set[str]:
        """The orders, and the drift, in which a cell is seen to differ from itself by more than half the band.

        At 1 % over all of them in all series (Holm 1979, Scandinavian Journal of Statistics 6, 65–70).
        """
        tests = sorted(
            ((p, what, item) for item in self.series for what, p in item.bias.p.items()), key=lambda test: test[0]
        )
        beyond: set[str] = set()
        for place, (p, what, item) in enumerate(tests):
            if p * (len(tests) - place) >= SEEN_LEVEL:
                break
            estimate, _, _ = item.bias.drift if what == DRIFT else item.bias.orders[what]
            if abs(math.log(estimate)) > math.log1p(SEEN):
                beyond.add(what)
        return beyond


def calibrated(series: Series) -> bool:
    """Return whether the measured interval contains the true slowdown of 10 %, to half a point."""
    _, low, high = series.slower[JUDGED]
    made = 1 + SLOW_DOWNS[JUDGED]
    return low <= made + READ_TO and made - READ_TO <= high


def excluded(series: Series) -> bool:
    """Return whether the intervals exclude an effect of 8 % of a label, in any order, or of a place in the block."""
    edge, of = 1 + EXCLUDED, series.bias
    return all(1 / edge < low and high < edge for _, low, high in (of.label, of.position, *of.orders.values()))


def figures(measured: Mapping[str, Times], seed: int = 0) -> Figures:
    """The figures of the series that have enough blocks in which every process gave a time.

    Raises:
        ValueError: there is no such series.
    """
    complete = {name: _complete(times) for name, times in measured.items()}
    usable = {name: (blocks, times) for name, (blocks, times) in complete.items() if _enough(blocks)}
    if not usable:
        most = max((len(blocks) for blocks, _ in complete.values()), default=0)
        raise ValueError(
            f"{most} complete blocks were measured, at least {FEWEST_BLOCKS} are needed, "
            f"{FEWEST_OF_ORDER} of each order"
        )
    series = tuple(_series(name, blocks, times, seed) for name, (blocks, times) in usable.items())
    sd_log = median(item.sd_log for item in series)
    changes = {n: smallest_change(sd_log, n) if sd_log > 0 else 0.0 for n in PROCESSES}
    needed = {by: processes_for(by, sd_log, LEAST_FOUND) if sd_log > 0 else 2 for by in SLOW_DOWNS.values()}
    return Figures(series, BLOCKS_PER_TRIAL, changes, needed)


def _complete(times: Times) -> tuple[list[int], dict[str, list[float]]]:
    """The blocks in which every role has a time, and the times of each role in their order."""
    blocks: list[int] = []
    kept: dict[str, list[float]] = {role: [] for role in ROLES}
    for block in sorted(times[BASE]):
        row = [times[role].get(block) for role in ROLES]
        known = [seconds for seconds in row if seconds is not None]
        if len(known) == len(row):
            blocks.append(block)
            for role, seconds in zip(ROLES, known, strict=True):
                kept[role].append(seconds)
    return blocks, kept


def _enough(blocks: Sequence[int]) -> bool:
    of_order = Counter(map(order_of, blocks))
    return len(blocks) >= FEWEST_BLOCKS and min(of_order[order] for order in Order) >= FEWEST_OF_ORDER


def _series(name: str, blocks: Sequence[int], times: Mapping[str, Sequence[float]], seed: int) -> Series:
    base, again = times[BASE], times[AGAIN]
    n, count = BLOCKS_PER_TRIAL, TRIALS_PER_SERIES
    same = trials(base, again, n, count, seed, NOMINAL, swap=True)
    labelled = trials(base, again, n, count, seed, NOMINAL)
    slower = {role: trials(base, times[role], n, count, seed, NOMINAL) for role in SLOW_DOWNS}
    return Series(
        name=name,
        blocks=len(base),
        sd_log=paired_ratio(base, again).sd_log or 0.0,
        again=_interval(base, again),
        slower={role: _interval(base, times[role]) for role in SLOW_DOWNS},
        false_positives=_count(same.significant),
        false_winners=_count(same.winners),
        labelled=_count(labelled.significant),
        bias=bias(blocks, base, again, seed),
        found={role: _count(of_role.significant) for role, of_role in slower.items()},
        named={role: _count(of_role.winners) for role, of_role in slower.items()},
    )


def _interval(base: Sequence[float], new: Sequence[float]) -> Interval:
    return level([math.log(b / a) for a, b in zip(base, new, strict=True)]).interval()


def _count(of: Proportion) -> Count:
    return of.count, of.total


def _sum(counts: Iterable[Count]) -> Proportion:
    pairs = list(counts)
    return share(sum(count for count, _ in pairs), sum(total for _, total in pairs))

"""Figures of a self-test, from the times of its measured processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from sciml_bench.stats.levels import processes_for, smallest_change
from sciml_bench.stats.ratio import paired_ratio
from sciml_bench.stats.share import Share, share
from sciml_bench.stats.trials import trials

NOMINAL = 0.05
MOST_FALSE_POSITIVES = 0.07
LEAST_FOUND = 0.9

# Roles of the processes of a block: a cell, the same cell again, and the cell slowed down by a share.
BASE, AGAIN = "base", "again"
SLOW_DOWNS = {"slower-3": 0.03, "slower-10": 0.10}
ROLES = (BASE, AGAIN, *SLOW_DOWNS)

BLOCKS_PER_TRIAL = 10
FEWEST_BLOCKS = 12
TRIALS_PER_SERIES = 500

PROCESSES = (3, 10, 30)
"""The numbers of processes of the profiles."""

Times = Mapping[str, Mapping[int, float | None]]
"""Seconds by role and block; ``None`` where a process failed."""

Count = tuple[int, int]
"""How many, of how many."""

Interval = tuple[float, float, float]
"""A ratio and its 95 % interval: estimate, low, high."""


@dataclass(frozen=True)
class Series:
    """One quantity of one workload: a cell against itself, and against itself slowed down.

    ``again`` and ``slower`` are ratios over all blocks; ``sd_log`` is the spread of the log ratio of the cell to itself
    in one block. ``false_*`` count trials with the same cell on both sides, ``found`` and ``named`` trials with a
    slow-down, by role: p below 5 %, and moreover an estimate outside the band of 5 %, which makes a verdict.
    """

    name: str
    blocks: int
    sd_log: float
    again: Interval
    slower: Mapping[str, Interval]
    false_positives: Count
    false_winners: Count
    found: Mapping[str, Count]
    named: Mapping[str, Count]


@dataclass(frozen=True)
class Figures:
    """What a self-test found, over all its series.

    ``smallest_change`` is the smallest slow-down (0.05 is 5 %) that so many processes a side find here with a
    probability of 80 %; ``processes_needed`` how many find this slow-down here with a probability of 90 %.
    """

    series: tuple[Series, ...]
    blocks_per_trial: int
    smallest_change: Mapping[int, float]
    processes_needed: Mapping[float, int]

    @property
    def false_positives(self) -> Share:
        """Of trials with the same cell on both sides, those with p < 5 %."""
        return _sum(item.false_positives for item in self.series)

    @property
    def false_winners(self) -> Share:
        """Of these trials, those in which one side would have been called faster."""
        return _sum(item.false_winners for item in self.series)

    def found(self, role: str) -> Share:
        """Of trials with this slow-down, those with p < 5 %."""
        return _sum(item.found[role] for item in self.series)

    def named(self, role: str) -> Share:
        """Of these trials, those in which the slower side was called slower."""
        return _sum(item.named[role] for item in self.series)

    @property
    def sd_log(self) -> float:
        """The spread of the log ratio in one block: the median of the series."""
        return median(item.sd_log for item in self.series)

    @property
    def passed(self) -> bool:
        """Whether the harness is as good as it must be: at most 7 % false positives, 10 % found nine times of ten."""
        return self.false_positives.share <= MOST_FALSE_POSITIVES and self.found("slower-10").share >= LEAST_FOUND


def figures(measured: Mapping[str, Times], seed: int = 0) -> Figures:
    """The figures of the series that have enough blocks in which every process gave a time.

    Raises:
        ValueError: there is no such series.
    """
    complete = {name: _complete(times) for name, times in measured.items()}
    usable = {name: times for name, times in complete.items() if len(times[BASE]) >= FEWEST_BLOCKS}
    if not usable:
        most = max((len(times[BASE]) for times in complete.values()), default=0)
        raise ValueError(f"{most} complete blocks were measured, at least {FEWEST_BLOCKS} are needed")
    series = tuple(_series(name, times, seed) for name, times in usable.items())
    sd_log = median(item.sd_log for item in series)
    changes = {n: smallest_change(sd_log, n) if sd_log > 0 else 0.0 for n in PROCESSES}
    needed = {by: processes_for(by, sd_log, LEAST_FOUND) if sd_log > 0 else 2 for by in SLOW_DOWNS.values()}
    return Figures(series, BLOCKS_PER_TRIAL, changes, needed)


def _complete(times: Times) -> dict[str, list[float]]:
    """The times of the blocks in which every role has one, in order of the blocks."""
    kept: dict[str, list[float]] = {role: [] for role in ROLES}
    for block in sorted(times[BASE]):
        row = [times[role].get(block) for role in ROLES]
        known = [seconds for seconds in row if seconds is not None]
        if len(known) == len(row):
            for role, seconds in zip(ROLES, known, strict=True):
                kept[role].append(seconds)
    return kept


def _series(name: str, times: Mapping[str, Sequence[float]], seed: int) -> Series:
    base, again = times[BASE], times[AGAIN]
    n, count = BLOCKS_PER_TRIAL, TRIALS_PER_SERIES
    same = trials(base, again, n, count, seed, NOMINAL, swap=True)
    slower = {role: trials(base, times[role], n, count, seed, NOMINAL) for role in SLOW_DOWNS}
    return Series(
        name=name,
        blocks=len(base),
        sd_log=paired_ratio(base, again).sd_log or 0.0,
        again=_interval(base, again),
        slower={role: _interval(base, times[role]) for role in SLOW_DOWNS},
        false_positives=_count(same.significant),
        false_winners=_count(same.winners),
        found={role: _count(of_role.significant) for role, of_role in slower.items()},
        named={role: _count(of_role.winners) for role, of_role in slower.items()},
    )


def _interval(base: Sequence[float], new: Sequence[float]) -> Interval:
    ratio = paired_ratio(base, new)
    return ratio.estimate, ratio.low, ratio.high


def _count(of: Share) -> Count:
    return of.count, of.total


def _sum(counts: Iterable[Count]) -> Share:
    pairs = list(counts)
    return share(sum(count for count, _ in pairs), sum(total for _, total in pairs))

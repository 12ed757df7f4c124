"""The resolution of a profile: the smallest change that its number of processes finds, from the spread of earlier
runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from sciml_bench.analysis.summary import CellSummary, RunSummary
from sciml_bench.planning.profiles import Profile
from sciml_bench.record.task import CALLS
from sciml_bench.stats.power import smallest_named
from sciml_bench.stats.ratio import pair, paired_ratio
from sciml_bench.stats.verdict import FEW_PROCESSES, LEAST_RATIO_OF_FEW

# Two cells whose processes spread by 2 % each: the spread between processes that harnesses see on an idle machine.
ASSUMED_SD_LOG = 0.02 * math.sqrt(2.0)

POWER = 0.8

# Fewer differences do not determine a spread.
_FEWEST_PROCESSES = 3


@dataclass(frozen=True)
class Spread:
    """The standard deviation of the log ratio of two cells in one block, and its source."""

    sd_log: float
    source: str


@dataclass(frozen=True)
class Sight:
    """The resolution of a profile. ``change`` is relative (0.05 is 5 %), infinite if no change can be seen."""

    profile: str
    processes: int
    change: float
    note: str = ""


ASSUMED = Spread(ASSUMED_SD_LOG, "assumed: 2 % between the processes of a cell; no earlier run shows it")


def spread_of(summary: RunSummary, name: str) -> Spread | None:
    """The spread that a run shows: the median over pairs of cells of one problem, over solves and gradients.

    A run whose cells have no partner, or fewer than three common blocks, gives none.
    """
    found = [sd for problem in summary.problems for sd in _spreads(summary.of_problem(problem))]
    if not found:
        return None
    return Spread(median(found), f"from {len(found)} pairs of cells in {name}")


def sights(spread: Spread, profiles: Iterable[Profile]) -> Iterator[Sight]:
    """The smallest change that a verdict of each profile names with a probability of 80 %, at 5 %."""
    for profile in profiles:
        if not profile.comparable:
            yield Sight(profile.name, profile.processes, math.inf, "one process: its times are never compared")
            continue
        few = profile.processes < FEW_PROCESSES
        note = f"fewer than {FEW_PROCESSES} processes name no winner below a factor of {LEAST_RATIO_OF_FEW:g}"
        change = smallest_named(spread.sd_log, profile.processes, power=POWER)
        yield Sight(profile.name, profile.processes, change, note if few else "")


def _spreads(cells: list[CellSummary]) -> Iterator[float]:
    for call in CALLS:
        times = [_tightest(cell, call) for cell in cells]
        for a, b in combinations(times, 2):
            pairs = pair(a, b)
            if len(pairs.blocks) >= _FEWEST_PROCESSES:
                sd = paired_ratio(pairs.base, pairs.new).sd_log
                # Bitwise equality is not a measurement of a spread.
                if sd:
                    yield sd


def _tightest(cell: CellSummary, call: str) -> dict[int, float | None]:
    """Each process's time at the tightest tolerance at which all of them have one."""
    by_block = {p.block: {point.rtol: point.half(call).seconds for point in p.points} for p in cell.processes}
    rtols = [
        rtol
        for rtol in sorted({point.rtol for point in cell.points})
        if all(times.get(rtol) is not None for times in by_block.values())
    ]
    return {block: times[rtols[0]] for block, times in by_block.items()} if rtols else {}

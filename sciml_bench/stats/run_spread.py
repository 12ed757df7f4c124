"""The amount by which a ratio of two cells differs from run to run, by runs that repeat each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sciml_bench.stats.log_means import mean_and_sd
from sciml_bench.stats.ratio import Ratio, with_fixed
from sciml_bench.stats.verdict import Key

FEWEST_RUNS = 3
"""Two runs may agree by chance: with one repetition, equal runs differed in 10 % of trials."""


@dataclass(frozen=True)
class RunSpread:
    """The standard deviation of the log ratio of two cells from run to run.

    Cells may move together, so only the ``runs`` give degrees of freedom, not their pairs of cells. The noise of
    processes is in it too and counts twice, so intervals are rather too wide.
    """

    sd: float
    runs: int

    def of_ratio(self, ratio: Ratio) -> Ratio:
        """The ratio with the difference between runs in its interval and its p."""
        return with_fixed(ratio, self.sd, self.runs - 1) if ratio.n > 1 else ratio


def run_spreads(runs: Sequence[Mapping[Key, Ratio]]) -> dict[Key, RunSpread]:
    """The spread of each ratio of the first run: its own over the runs that have it, or all ratios' if that is more.

    Ratios that fewer than three runs have count with the others; without any there is none.
    """
    own: dict[Key, RunSpread] = {}
    for key in runs[0]:
        logs = [math.log(run[key].estimate) for run in runs if key in run]
        if len(logs) >= FEWEST_RUNS:
            own[key] = RunSpread(mean_and_sd(logs)[1], len(logs))
    if not own:
        return {}
    pooled = RunSpread(
        math.sqrt(math.fsum(spread.sd**2 for spread in own.values()) / len(own)),
        min(spread.runs for spread in own.values()),
    )
    return {key: max((own.get(key, pooled), pooled), key=lambda spread: spread.sd) for key in runs[0]}

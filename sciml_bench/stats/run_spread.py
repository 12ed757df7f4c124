"""The amount by which a ratio of two cells differs from run to run, by runs that repeat each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sciml_bench.stats.centre import mean_and_sd
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


def run_spread(runs: Sequence[Mapping[Key, Ratio]]) -> RunSpread | None:
    """The spread of the ratios of runs, averaged over the variances of the pairs that all runs have; ``None`` for fewer
    than three runs, or without such a pair.
    """
    if len(runs) < FEWEST_RUNS:
        return None
    shared = [key for key in runs[0] if all(key in run for run in runs)]
    squares = [mean_and_sd([math.log(run[key].estimate) for run in runs])[1] ** 2 for key in shared]
    return RunSpread(math.sqrt(math.fsum(squares) / len(squares)), len(runs)) if squares else None

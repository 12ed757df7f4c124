"""The difference between runs of the same program, from repeated runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sciml_bench.analysis.comparison.requirements import changes, refusals
from sciml_bench.analysis.comparison.series import Quantity, same_cell
from sciml_bench.analysis.comparison.sides import Side
from sciml_bench.stats.log_means import mean_and_sd
from sciml_bench.stats.ratio import Ratio, with_fixed

FEWEST_DF = 2
"""A single repetition may be as quick as its run by chance: with one, equal runs differed in 10 % of trials."""


@dataclass(frozen=True)
class RunEffect:
    """The standard deviation of the logarithm of a run's time for each quantity, as of one run.

    The variances of all cells are averaged. Cells of a run may well move together, so only runs give degrees of
    freedom: ``runs`` less one for each set of runs of the same software.
    """

    sd: Mapping[Quantity, float]
    runs: int
    df: int

    @property
    def known(self) -> bool:
        """Return whether winners may be named by it below a factor of two."""
        return self.df >= FEWEST_DF

    def of_ratio(self, ratio: Ratio, quantity: Quantity) -> Ratio:
        """The ratio of two runs, with what runs differ by in its interval and its p.

        That was estimated from the means of runs, which hold the noise of their processes too: it is counted twice, so
        the interval is rather too wide.
        """
        sd = self.sd.get(quantity)
        return ratio if sd is None else with_fixed(ratio, math.sqrt(2.0) * sd, self.df)


def run_effect(base: Side, new: Side, repeated: Sequence[Side]) -> RunEffect | None:
    """The effect, from runs that repeat ``base`` or ``new``; ``None`` without such runs."""
    sets = [[base], [new]]
    for side in repeated:
        home = next((of for of in sets if not why_no_repeat(of[0], side)), None)
        if home is not None:
            home.append(side)
    sets = [of for of in sets if len(of) > 1]
    if not sets:
        return None
    df = sum(len(of) - 1 for of in sets)
    squares: dict[Quantity, list[tuple[float, int]]] = {}
    for of in sets:
        for quantity, logs in _logs(of):
            squares.setdefault(quantity, []).append((mean_and_sd(logs)[1] ** 2 * (len(of) - 1), len(of) - 1))
    found = {
        quantity: math.sqrt(math.fsum(square for square, _ in of) / sum(weight for _, weight in of))
        for quantity, of in squares.items()
    }
    return RunEffect(found, sum(map(len, sets)), df) if found else None


def why_no_repeat(of: Side, side: Side) -> str:
    """Return why a run does not repeat another; empty when it does."""
    return next((str(item) for item in (*refusals(of, side), *changes(of, side))), "")


def _logs(sides: Sequence[Side]) -> Iterator[tuple[Quantity, list[float]]]:
    """For each quantity of each cell of all these runs the mean log time of each run, as against the first of them."""
    first, *others = sides
    for label in first.cells:
        if all(label in side.cells for side in others):
            read = [{item.quantity: item for item in same_cell(first, side, label)} for side in others]
            for quantity in read[0] if read else ():
                apart = [_mean(of[quantity].new, of[quantity].base) for of in read if quantity in of]
                known = [value for value in apart if value is not None]
                if len(known) == len(others):
                    yield quantity, [0.0, *known]


def _mean(new: Mapping[int, float | None], base: Mapping[int, float | None]) -> float | None:
    """The mean log time of one run minus the other's."""
    sides = [[math.log(seconds) for seconds in side.values() if seconds] for side in (new, base)]
    if not all(sides):
        return None
    return math.fsum(sides[0]) / len(sides[0]) - math.fsum(sides[1]) / len(sides[1])

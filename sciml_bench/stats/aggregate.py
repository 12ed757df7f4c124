"""Across problems: a mean of ratios where both sides solved a problem, and profiles that count failures."""

from __future__ import annotations

import bisect
import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from sciml_bench.stats.log_means import logs, t_interval
from sciml_bench.stats.student import check_confidence

Solver = TypeVar("Solver", bound=Hashable)
Problem = TypeVar("Problem", bound=Hashable)


@dataclass(frozen=True)
class GeometricMean:
    """The geometric mean of ``n`` ratios with its interval; ``missing`` more have no ratio, since a side failed."""

    estimate: float
    low: float
    high: float
    n: int
    missing: int
    confidence: float = 0.95


def geometric_mean(ratios: Iterable[float | None], confidence: float = 0.95) -> GeometricMean:
    """The geometric mean, the only mean of ratios that does not depend on which side is the base, with a t interval.

    Fleming & Wallace 1986 (Communications of the ACM 29, 218–221). The interval is Student's, of the mean log ratio:
    it says how far the mean would move with other problems *like these*, not how well each ratio is known. One ratio
    gives (0, ∞). Hoefler & Belli 2015 (rule 4) ask to summarise costs rather than ratios wherever costs add up; times
    of different problems do not. ``None`` marks a problem without a ratio. It is counted, because a mean hides
    failures: show a profile next to it.

    Raises:
        ValueError: there is no ratio at all, or one is not positive and finite.
    """
    check_confidence(confidence)
    given = list(ratios)
    known = logs((ratio for ratio in given if ratio is not None), "the values of a geometric mean")
    if not known:
        raise ValueError("a geometric mean needs at least one value")
    return GeometricMean(*t_interval(known, confidence), len(known), len(given) - len(known), confidence)


@dataclass(frozen=True)
class Profile:
    """One solver's steps: of all problems it solves ``shares[i]`` within ``ratios[i]`` times the least cost.

    ``ratios`` rises from 1 on; between its entries the share stays. A solver that solves nothing has no steps.
    """

    ratios: tuple[float, ...]
    shares: tuple[float, ...]

    def at(self, ratio: float) -> float:
        """The share of problems solved within ``ratio`` times the least cost."""
        place = bisect.bisect_right(self.ratios, ratio)
        return self.shares[place - 1] if place else 0.0

    @property
    def best(self) -> float:
        """The share of problems on which nothing is cheaper."""
        return self.at(1.0)

    @property
    def solved(self) -> float:
        """The share of problems solved at any cost."""
        return self.shares[-1] if self.shares else 0.0


def performance_profile(
    costs: Mapping[Solver, Mapping[Problem, float | None]], least: Mapping[Problem, float | None] | None = None
) -> dict[Solver, Profile]:
    """Performance profiles; a cost of ``None`` is a failure and its ratio is never reached.

    ``least`` is the least cost of each problem, if solvers without a profile count too.

    Dolan & Moré 2002 (Mathematical Programming 91, 201–213, §2): each cost is divided by the least cost of any solver
    on that problem, and ρ(τ) is the share of problems with a ratio of at most τ. A problem that nobody solves stays
    in the denominator. Only the comparison with the best solver can be read off, not the order of the others (Gould &
    Scott 2016, ACM Transactions on Mathematical Software 43, 15).

    Raises:
        ValueError: there is no problem, the solvers do not name the same problems, or a cost is not positive and
            finite, or below the least.
    """
    problems = list(dict.fromkeys(problem for of in costs.values() for problem in of))
    if not problems:
        raise ValueError("a profile needs at least one problem")
    for solver, of in costs.items():
        if lacking := [problem for problem in problems if problem not in of]:
            raise ValueError(f"{solver} has no entry for {lacking[0]}; give None for a failure")
    table = np.array([[_cost(of[problem]) for problem in problems] for of in costs.values()])
    lowest = table.min(axis=0) if least is None else np.array([_cost(least[problem]) for problem in problems])
    if np.any(table < lowest):
        raise ValueError("a cost is below the least cost of its problem")
    ratios = np.divide(table, lowest, out=np.full_like(table, math.inf), where=np.isfinite(table))
    return {solver: _steps(row[np.isfinite(row)], len(problems)) for solver, row in zip(costs, ratios, strict=True)}


def _cost(cost: float | None) -> float:
    if cost is None:
        return math.inf
    if not 0 < cost < math.inf:
        raise ValueError(f"a cost must be positive and finite, or None for a failure, got {cost!r}")
    return cost


def _steps(ratios: np.ndarray[tuple[int], np.dtype[np.float64]], problems: int) -> Profile:
    steps, counts = np.unique(ratios, return_counts=True)
    return Profile(tuple(steps.tolist()), tuple((np.cumsum(counts) / problems).tolist()))

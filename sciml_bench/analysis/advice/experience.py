"""Measurements on other problems, and the expectation for a new one: which way to try first.

A table of problems with a few features each, and the cost of every way there at every accuracy. On a new problem a
way's expected cost, over the cheapest, is its cost over the cheapest on the most similar problems. This only orders
ways: the race on the problem itself decides.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sciml_bench.adapters.base import ProblemTraits
from sciml_bench.planning.written_plan import WrittenProblem
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.probe import Probed
from sciml_bench.record.task import Cell
from sciml_bench.stats.break_even import Cost
from sciml_bench.stats.front import WorkPoint, time_at

WORST = 100.0
"""The factor over the cheapest that represents a failure, and everything slower."""

_NEAR = 0.5
"""Problems this much farther than the nearest count for 60 %; a decade in one feature is a distance of 1."""

_UNDECIDED = 3.0
"""An explicit method that did not finish would have taken at least this multiple of its evaluations."""

Way = tuple[str, str, str, str]
"""Adapter, method, sensitivity and mode."""


@dataclass(frozen=True)
class Features:
    """The features that decide which way is fast: sizes, and the evaluations of the probe (``None`` if it gave up)."""

    n_states: int
    n_theta: int
    batch: int = 1
    explicit: int | None = None
    implicit: int | None = None
    limit: int | None = None

    @classmethod
    def of(cls, facts: ProblemTraits) -> Features:
        """Return the features of a problem."""
        return cls(facts.n_states, facts.n_theta, facts.batch, *_counts(facts.probed))

    @classmethod
    def of_written(cls, problem: WrittenProblem) -> Features | None:
        """Return the features of a problem in a plan; ``None`` of a model, and in a plan without them."""
        n_states, n_theta, batch = problem.n_states, problem.n_theta, problem.batch
        if problem.is_model or n_states is None or n_theta is None or batch is None:
            return None
        return cls(n_states, n_theta, batch, *_counts(problem.probe))

    @property
    def stiffness(self) -> float | None:
        """Evaluations of an explicit method over the implicit one's; ``None`` if neither count is known."""
        if not self.implicit:
            return None
        if self.explicit is not None:
            return self.explicit / self.implicit
        return None if self.limit is None else _UNDECIDED * self.limit / self.implicit

    def distance(self, other: Features) -> float:
        """Return how unlike two problems are, in decades over all features."""
        pairs = [
            (self.n_states, other.n_states),
            (self.n_theta, other.n_theta),
            (self.batch, other.batch),
            (self.stiffness, other.stiffness),
            (self.explicit or self.implicit, other.explicit or other.implicit),
        ]
        # A feature that only one of them has just makes them dissimilar.
        return math.hypot(*(_decades(a, b) for a, b in pairs))


def _counts(probed: Probed | None) -> tuple[int | None, int | None, int | None]:
    return (None, None, None) if probed is None else (probed.explicit, probed.implicit, probed.limit)


def _decades(a: float | None, b: float | None) -> float:
    if a is None or b is None:
        return 0.0 if a is b else 1.0
    return abs(math.log10(max(a, 1e-3)) - math.log10(max(b, 1e-3)))


@dataclass(frozen=True)
class Measured:
    """A way on a problem: seconds to the first gradient, and (digits, seconds) of its points; empty if it failed."""

    way: Way
    outcome: Outcome
    first_s: float | None
    points: tuple[tuple[float, float], ...] = ()

    def cost(self, digits: float) -> Cost | None:
        """The cost at this accuracy; ``None`` if the way does not reach it."""
        each_s = time_at((WorkPoint(*point) for point in self.points), digits).time
        return None if each_s is None or self.first_s is None else Cost(self.first_s, each_s)


@dataclass(frozen=True)
class Known:
    """A problem and the ways that were measured on it."""

    problem: str
    spec_hash: str
    features: Features
    ways: tuple[Measured, ...]

    def factors(self, digits: float, gradients: int) -> dict[Way, float]:
        """Each way's cost for ``gradients`` gradients over the cheapest way's, at most :data:`WORST`; empty if no way
        reaches the accuracy.
        """
        costs = {item.way: item.cost(digits) for item in self.ways}
        totals = {way: cost.total_s(gradients) for way, cost in costs.items() if cost is not None}
        if not totals:
            return {}
        least = min(totals.values())
        return {way: min(WORST, totals[way] / least) if way in totals else WORST for way in costs}


@dataclass(frozen=True)
class Expected:
    """A way, its expected cost over the cheapest way's, and the problems behind that expectation."""

    way: Way
    factor: float
    problems: tuple[str, ...]


def expected(
    features: Features, ways: Collection[Way], known: Iterable[Known], *, digits: float, gradients: int
) -> list[Expected]:
    """The ways in the order in which they should be tried, with their expected costs.

    A way that was never measured counts like its method in other modes and sensitivities, or otherwise like its
    adapter, and names no problems.
    """
    near = [(item, features.distance(item.features)) for item in known]
    factors = [(item, distance, found) for item, distance in near if (found := item.factors(digits, gradients))]
    nearest = min((distance for _, distance, _ in factors), default=0.0)
    weighted = [
        (item.problem, math.exp(-((distance**2 - nearest**2) / (2 * _NEAR**2))), found)
        for item, distance, found in factors
    ]
    result = [_expected(way, weighted) for way in ways]
    return sorted(result, key=lambda item: item.factor)


_Weighted = Sequence[tuple[str, float, Mapping[Way, float]]]


def _expected(way: Way, weighted: _Weighted) -> Expected:
    for alike in (lambda other: other == way, lambda other: other[:2] == way[:2], lambda other: other[:1] == way[:1]):
        logs = [
            (problem, weight, math.log(factor))
            for problem, weight, found in weighted
            for other, factor in found.items()
            if alike(other)
        ]
        total = math.fsum(weight for _, weight, _ in logs)
        if total > 0:
            mean = math.fsum(weight * value for _, weight, value in logs) / total
            exact = any(way in found for _, _, found in weighted)
            return Expected(way, math.exp(mean), tuple(problem for problem, _, _ in logs) if exact else ())
    return Expected(way, math.sqrt(WORST), ())


_TIER = 0.5
"""Decades that a tier of the rules is worth if no similar problem was measured."""


def turns(
    tiers: Mapping[Cell, int], features: Features, known: Sequence[Known], *, digits: float, gradients: int
) -> dict[Cell, float]:
    """Return the order in which ways are tried, as decades of expected cost over the cheapest; the first ones first.

    The less similar the measured problems, the more the rules' tiers count: half at a distance of a decade.
    """
    found = expected(features, [way_of(cell) for cell in tiers], known, digits=digits, gradients=gradients)
    factors = {item.way: item.factor for item in found}
    taught = (item for item in known if item.factors(digits, gradients))
    nearest = min((features.distance(item.features) for item in taught), default=math.inf)
    trust = 1 / (1 + nearest**2)

    def turn(cell: Cell) -> float:
        return trust * math.log10(factors[way_of(cell)]) + (1 - trust) * _TIER * tiers[cell]

    order = {cell: turn(cell) for cell in tiers}
    return dict(sorted(order.items(), key=lambda item: item[1]))


def way_of(cell: Cell) -> Way:
    """A cell without its problem, precision and device."""
    return cell.adapter, cell.method, cell.sensitivity, cell.mode_and_saving

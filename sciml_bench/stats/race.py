"""A race: candidates leave as soon as they are beaten, until one is left or the rest cannot be distinguished.

After every block each pair of candidates is compared with each other by the evidence of the blocks that both took part
in (:mod:`sciml_bench.stats.sequential`). A beaten candidate leaves. There is no schedule of looks and no number of
blocks to fix beforehand: evidence may be looked at at any time, and whether a candidate continues may depend on all
that was seen.

**What is promised**, at an error rate α over k candidates, of which each comparison gets α / (k − 1):

- the best candidate leaves with a probability of at most α: k − 1 others can beat it;
- if all are equal, a winner is named with a probability of at most α: that takes k − 1 candidates that leave, of
  k (k − 1) / 2 pairs, by Markov's inequality at most α k / (2 (k − 1)).

Candidates count from the start, also late or untried ones. Whom only a candidate had beaten that fails later is back in
the race: each comparison with the others has its own evidence.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from sciml_bench.stats.sequential import interval, log_evidence

Key = TypeVar("Key", bound=Hashable)

ERROR_RATE = 0.05
BAND = 0.05
"""Costs whose ratio certainly lies within 1/(1 + band) … 1 + band are the same."""


@dataclass(frozen=True)
class Beaten(Generic[Key]):
    """The reason why a candidate left: its rival and their common blocks, or that it ``failed`` in a block."""

    block: int
    by: Key | None = None
    n: int = 0

    @property
    def failed(self) -> bool:
        """Return whether it left since it gave nothing."""
        return self.by is None


@dataclass(frozen=True)
class Standing(Generic[Key]):
    """The standing of a race: who ``leads``, who is ``even`` with it, cheapest first, and whether that is ``decided``.

    It is decided when nobody is even with the leader, or all who are certainly cost the same.
    """

    leads: Key | None
    even: tuple[Key, ...]
    decided: bool


@dataclass
class Race(Generic[Key]):
    """Candidates and their costs, block by block. ``keys`` are all that may ever take part.

    Raises:
        ValueError: there is no candidate, or the error rate or the band make no sense.
    """

    keys: tuple[Key, ...]
    error_rate: float = ERROR_RATE
    band: float = BAND
    left: dict[Key, Beaten[Key]] = field(default_factory=dict["Key", "Beaten[Key]"])
    _costs: dict[Key, dict[int, float]] = field(default_factory=dict["Key", "dict[int, float]"])

    def __post_init__(self) -> None:
        if not self.keys or len(set(self.keys)) < len(self.keys):
            raise ValueError("a race needs candidates, each once")
        if not (0 < self.error_rate < 1 and self.band > 0):
            raise ValueError(f"no race at error rate {self.error_rate!r} with a band of {self.band!r}")

    @property
    def running(self) -> tuple[Key, ...]:
        """Return the ways that have not left, in their order; some may be untried."""
        return tuple(key for key in self.keys if key not in self.left)

    @property
    def tried(self) -> tuple[Key, ...]:
        """Return the ways that have costs or failed, in their order."""
        return tuple(key for key in self.keys if key in self._costs or key in self.left)

    @property
    def pair_rate(self) -> float:
        """The error rate of one comparison."""
        return self.error_rate / max(1, len(self.keys) - 1)

    def keep(self, block: int, costs: Mapping[Key, float | None]) -> tuple[Key, ...]:
        """Add the costs of a block, ``None`` where a candidate failed in it; who leaves because of it.

        Whoever had left because a failed one beat it comes back.

        Raises:
            ValueError: a candidate is unknown, has left, was there in this block before, or has no positive cost.
        """
        self._check(block, costs)
        leaving: dict[Key, Beaten[Key]] = {}
        for key, cost in costs.items():
            if cost is None:
                leaving[key] = Beaten(block)
            else:
                self._costs.setdefault(key, {})[block] = math.log(cost)
        returning = {key for key, beaten in self.left.items() if beaten.by in leaving}
        for key in returning:
            del self.left[key]
        self.left |= leaving
        # Decided for all before anyone leaves: the order in which candidates are looked at decides nothing.
        rivals = self._by_cost(key for key in self.running if key in self._costs)
        for key in rivals:
            if (block in self._costs[key] or key in returning) and (
                beaten := self._beaten(key, block, rivals)
            ) is not None:
                leaving[key] = beaten
        self.left |= leaving
        return tuple(leaving)

    def _check(self, block: int, costs: Mapping[Key, float | None]) -> None:
        for key, cost in costs.items():
            if key not in self.keys or key in self.left:
                raise ValueError(f"{key!r} does not run in this race")
            if block in self._costs.get(key, {}):
                raise ValueError(f"{key!r} has a cost in block {block} already")
            if cost is not None and not 0 < cost < math.inf:
                raise ValueError(f"a cost is positive and finite, got {cost!r} of {key!r}")

    def _beaten(self, key: Key, block: int, rivals: Iterable[Key]) -> Beaten[Key] | None:
        threshold = -math.log(self.pair_rate)
        for rival in rivals:
            if rival == key:
                continue
            differences = self.differences(rival, key)
            if math.fsum(differences) > 0 and log_evidence(differences) >= threshold:
                return Beaten(block, rival, len(differences))
        return None

    def differences(self, base: Key, other: Key) -> list[float]:
        """log(other / base) in the blocks that both took part in, in order."""
        a, b = self._costs.get(base, {}), self._costs.get(other, {})
        return [b[block] - a[block] for block in sorted(a.keys() & b.keys())]

    def ratio_interval(self, base: Key, other: Key, error: float | None = None) -> tuple[float, float]:
        """Cost of ``other`` over the cost of ``base``, as [low, high]; valid at any time.

        ``error`` is this interval's own error rate; by default, the rate of one comparison.
        """
        low, high = interval(self.differences(base, other), self.pair_rate if error is None else error)
        return math.exp(low), math.exp(high)

    @property
    def standing(self) -> Standing[Key]:
        """The leader, and whether the race is decided."""
        order = self._by_cost(key for key in self.running if key in self._costs)
        if not order:
            return Standing(None, (), decided=False)
        leads, *even = order
        untried = len(order) < len(self.running)
        same = all(self._same(leads, other) for other in even)
        return Standing(leads, tuple(even), decided=same and not untried)

    def _same(self, base: Key, other: Key) -> bool:
        low, high = self.ratio_interval(base, other)
        return 1 / (1 + self.band) <= low and high <= 1 + self.band

    def _by_cost(self, keys: Iterable[Key]) -> list[Key]:
        """Cheapest first. Blocks are fast or slow as a whole: costs count relative to whoever ran in the most blocks,
        in the blocks that both took part in; if there are none, overall."""
        measure = max(self._costs, key=lambda key: len(self._costs[key]), default=None)
        if measure is None:
            return []

        def cost(key: Key) -> float:
            paired = self.differences(measure, key)
            return _mean(paired) if paired else _mean(self._costs[key].values()) - _mean(self._costs[measure].values())

        return sorted(keys, key=cost)


def _mean(values: Collection[float]) -> float:
    return math.fsum(values) / len(values)

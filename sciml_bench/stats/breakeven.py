"""After how many gradients a framework that is slow to start overtakes one that is quick to start."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Cost:
    """Seconds to the first gradient, everything before it included, and seconds for each further one.

    Raises:
        ValueError: a time is negative or not finite.
    """

    first_s: float
    each_s: float

    def __post_init__(self) -> None:
        if not (0 <= self.first_s < math.inf and 0 <= self.each_s < math.inf):
            raise ValueError(f"a cost needs finite times that are not negative, got {self.first_s!r}, {self.each_s!r}")

    def total_s(self, n: int) -> float:
        """Seconds for ``n`` gradients (at least one)."""
        return self.first_s + (_gradients(n) - 1) * self.each_s


@dataclass(frozen=True)
class BreakEven:
    """The break-even over ``n`` blocks: median and extremes, in gradients. ∞ is a block in which it never comes."""

    median: float
    low: float
    high: float
    n: int
    never: int


def break_even(a: Cost, b: Cost) -> int | None:
    """The least number of gradients at which the one that was behind after the first is ahead; ``None``: never.

    Neither side has a part in the definition: exchanging them changes nothing.
    """
    if a.first_s == b.first_s:
        return None
    early, late = (a, b) if a.first_s < b.first_s else (b, a)
    return overtakes(late, early)


def overtakes(late: Cost, early: Cost) -> int | None:
    """The least number of gradients from which on ``late`` costs less than ``early``; ``None`` if it never does.

    Totals are ``first + (n − 1)·each``. Times are taken as the exact numbers that they are in memory, so nothing is
    lost where almost equal ones are subtracted.
    """
    behind = Fraction(late.first_s) - Fraction(early.first_s)
    gained = Fraction(early.each_s) - Fraction(late.each_s)
    if gained < 0 or (gained == 0 and behind >= 0):
        return None
    return max(1, math.floor(behind / gained) + 2) if gained else 1


def break_even_spread(a: Sequence[Cost], b: Sequence[Cost]) -> BreakEven:
    """The break-even of each block by itself: how well it is known.

    ``a[i]`` and ``b[i]`` are of the same block. The side with the larger median of times to the first gradient is the
    late one in every block. A quotient of two differences has no useful mean or standard error, so the median and the
    extremes are given; the extremes of n blocks enclose the true median with a probability of 1 − 2·(1/2)ⁿ.

    Raises:
        ValueError: the sides differ in length or are empty.
    """
    if len(a) != len(b) or not a:
        raise ValueError(f"break-even needs a cost of each side per block, got {len(a)} and {len(b)}")
    early, late = sorted((a, b), key=lambda side: median(cost.first_s for cost in side))
    each = [overtakes(*pair) for pair in zip(late, early, strict=True)]
    reached = sorted(math.inf if number is None else float(number) for number in each)
    return BreakEven(median(reached), reached[0], reached[-1], len(reached), each.count(None))


def best(costs: Mapping[Key, Cost], n: int) -> Key:
    """The cheapest for ``n`` gradients; of equals the one named first.

    Raises:
        ValueError: there is nothing to choose from, or ``n`` is below 1.
    """
    return near_best(costs, n, band=0.0)[0]


def near_best(costs: Mapping[Key, Cost], n: int, band: float = 0.05) -> tuple[Key, ...]:
    """All whose total for ``n`` gradients is at most 1 + ``band`` times the least, cheapest first.

    Two totals this close are no reason to choose.

    Raises:
        ValueError: there is nothing to choose from, ``n`` is below 1, or ``band`` is negative.
    """
    if not costs:
        raise ValueError("there are no costs to choose from")
    if not band >= 0:
        raise ValueError(f"the band must not be negative, got {band!r}")
    totals = sorted(((cost.total_s(n), key) for key, cost in costs.items()), key=lambda entry: entry[0])
    return tuple(key for total, key in totals if total <= totals[0][0] * (1 + band))


def _gradients(n: int) -> int:
    if n < 1:
        raise ValueError(f"there is at least one gradient, got {n!r}")
    return n

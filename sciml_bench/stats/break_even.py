"""After how many gradients a framework that is slow to start overtakes one that is quick to start."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TypeVar

from sciml_bench.stats.ratio import Ratio

Key = TypeVar("Key", bound=Hashable)

# The range is searched among this many numbers; the first gradient does not count in the last of them.
_DECADES, _PER_DECADE = 12, 4


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


def even_range(ratio_at: Callable[[int], Ratio | None]) -> tuple[float, float] | None:
    """The numbers of gradients at which two sides are not distinguished, as [low, high]; ``None`` if there are none.

    ``ratio_at`` gives the ratio of the totals of two sides for a number of gradients. The range is made of all numbers
    whose ratio has 1 in its interval, so it holds the true break-even with the confidence of the interval, at any
    number of blocks: a test inverted, as by Fieller (1954, J. R. Stat. Soc. B 16, 175–185). A quotient of two
    differences has no mean, and no standard error to take an interval from. ``high`` is ∞ if it may never come,
    ``low`` is 1 if it may be there from the start; the numbers in between need not all be open.
    """
    numbers = sorted({round(10 ** (place / _PER_DECADE)) for place in range(_DECADES * _PER_DECADE + 1)})
    signs = [_sign(ratio_at(number)) for number in numbers]
    inside = [place for place, sign in enumerate(signs) if sign == 0]
    if not inside:
        # Told apart at every number tried, with different winners: it lies between two of them.
        between = [place for place, (a, b) in enumerate(pairwise(signs)) if a * b < 0]
        if not between:
            return None
        left, right, sign = numbers[between[0]], numbers[between[0] + 1], signs[between[0]]
        low = _edge(left, right, lambda n: _sign(ratio_at(n)) == sign)
        return float(low), float(_edge(low, right, lambda n: _sign(ratio_at(n)) == 0) if low < right else low)
    first, last = inside[0], inside[-1]
    low, high = float(numbers[first]), math.inf
    if first:
        low = _edge(numbers[first - 1], numbers[first], lambda n: _sign(ratio_at(n)) != 0)
    if last + 1 < len(numbers):
        high = _edge(numbers[last], numbers[last + 1], lambda n: _sign(ratio_at(n)) == 0)
    return float(low), float(high)


def _sign(ratio: Ratio | None) -> int:
    """-1 or 1 if the interval lies below or above 1, otherwise 0."""
    if ratio is None or ratio.n < 2:
        return 0
    return -1 if ratio.high < 1 else 1 if ratio.low > 1 else 0


def _edge(left: int, right: int, as_left: Callable[[int], bool]) -> int:
    """The least number that is not as ``left`` is; ``right`` is not."""
    while right - left > 1:
        middle = (left + right) // 2
        left, right = (middle, right) if as_left(middle) else (left, middle)
    return right


def best(costs: Mapping[Key, Cost], n: int) -> Key:
    """The cheapest for ``n`` gradients; of equals the one named first.

    Raises:
        ValueError: there is nothing to choose from, or ``n`` is below 1.
    """
    if not costs:
        raise ValueError("there are no costs to choose from")
    return min(costs, key=lambda key: costs[key].total_s(n))


def _gradients(n: int) -> int:
    if n < 1:
        raise ValueError(f"there is at least one gradient, got {n!r}")
    return n

"""Tables of points with straight lines between them, as choices between formulas."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from sympy.core.parameters import distribute

from sciml_bench.spec.language.operators import Node, Where

MOST_POINTS = 400
"""Every framework gets each line between two points as a separate formula."""


@dataclass(frozen=True)
class Table:
    """Values at increasing places, which are numbers.

    Raises:
        ValueError: there are fewer than two, too many, not as many values as places, or these do not increase.
    """

    places: tuple[Node, ...]
    values: tuple[Node, ...]

    def __post_init__(self) -> None:
        if len(self.places) != len(self.values):
            raise ValueError(f"the table has {len(self.places)} places and {len(self.values)} values")
        if not 2 <= len(self.places) <= MOST_POINTS:
            raise ValueError(f"a table has 2 to {MOST_POINTS} points, this one has {len(self.places)}")
        for a, b in pairwise(self.places):
            if not a < b:
                raise ValueError(f"the places of a table increase, {b} does not come after {a}")

    def at(self, x: Node) -> Node:
        """The value at x: by halves, so that few conditions are asked; outside, the nearest value."""
        with distribute(False):
            points = list(zip(self.places, self.values, strict=True))
            lines = [v + (w - v) * ((x - a) / (b - a)) for (a, v), (b, w) in pairwise(points)]
            return self._chosen(x, [self.values[0], *lines, self.values[-1]], 0)

    def _chosen(self, x: Node, pieces: list[Node], first: int) -> Node:
        """One of the pieces; piece i ends at the place ``first + i``."""
        if len(pieces) == 1:
            return pieces[0]
        half = len(pieces) // 2
        before, after = pieces[:half], pieces[half:]
        end = self.places[first + half - 1]
        return Where(x < end, self._chosen(x, before, first), self._chosen(x, after, first + half))

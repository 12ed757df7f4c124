"""Data that belong to the trajectories of a problem: one row of a table for each of them."""

from __future__ import annotations

from dataclasses import dataclass

from sciml_bench.problem.shapes import Shape


@dataclass(frozen=True)
class Given:
    """A named quantity that each trajectory has its own values of; ``rows`` hold them flat, in C order.

    Its shape is that of one trajectory's: a number (), a vector (n,), or a series (times, channels).
    """

    name: str
    shape: Shape
    rows: tuple[tuple[float, ...], ...]

    def part(self, row: int) -> Given:
        """The same quantity of one trajectory alone."""
        return Given(self.name, self.shape, (self.rows[row],))

    @property
    def is_series(self) -> bool:
        """Whether it runs over times, as recurrent networks and losses take it."""
        return len(self.shape) == 2

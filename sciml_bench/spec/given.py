"""Data that belong to the trajectories of a problem: one row of a table for each of them."""

from __future__ import annotations

from dataclasses import dataclass

from sciml_bench.spec.language.shapes import Shape


@dataclass(frozen=True)
class Given:
    """A named quantity that each trajectory has its own values of; ``rows`` hold them flat, in C order.

    Its shape is one trajectory's: a number (), a vector (n,), or a series (times, channels).
    """

    name: str
    shape: Shape
    rows: tuple[tuple[float, ...], ...]

    def part(self, row: int) -> Given:
        """Return the quantity for one trajectory."""
        return Given(self.name, self.shape, (self.rows[row],))

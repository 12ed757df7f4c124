"""Charts with a lane for each cell: its name above, and what is drawn of it below, over one common axis.

Names stand above, not beside, so that long ones fit and the figure stays readable on a narrow screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sciml_bench.charts import axes as canvas
from sciml_bench.charts.axes import TEXT_PT, Pane
from sciml_bench.charts.paper import Paper
from sciml_bench.charts.style import Style

Item = TypeVar("Item")

_NAME_IN = 0.19
_HEADER_IN = 0.32


@dataclass(frozen=True)
class Lane(Generic[Item]):
    """One lane: what it is of, its name, and how its cell looks in other charts."""

    item: Item
    name: str
    style: Style


@dataclass(frozen=True)
class Group(Generic[Item]):
    """Lanes that belong together; without a header when its title is empty."""

    title: str
    lanes: Sequence[Lane[Item]]


class Lanes(Generic[Item]):
    """The geometry of lanes. In their pane y counts inches from the top."""

    def __init__(self, groups: Sequence[Group[Item]], bar_in: float, *, left_in: float = 0.15, right_in: float = 0.2):
        self._groups = [group for group in groups if group.lanes]
        self._bar_in = bar_in
        self._left_in = left_in
        self._right_in = right_in
        lanes = sum(len(group.lanes) for group in self._groups)
        headers = sum(bool(group.title) for group in self._groups)
        self.height_in = lanes * (_NAME_IN + bar_in + 0.09) + headers * _HEADER_IN + 0.04

    @property
    def width_in(self) -> float:
        """The width of the pane."""
        return canvas.WIDTH_IN - self._left_in - self._right_in

    def pane(self, figure: Paper, bottom_in: float) -> tuple[Pane, list[tuple[Item, float]]]:
        """The pane with the names written in, and the upper edge of each lane's bar."""
        pane = Pane(figure, self._left_in, bottom_in, self.width_in, self.height_in)
        pane.limits(y=(self.height_in, 0))
        found: list[tuple[Item, float]] = []
        y = 0.04
        for group in self._groups:
            if group.title:
                pane.beside(0, self.height_in - y - 0.2, group.title, size=TEXT_PT, fontweight="bold")
                y += _HEADER_IN
            for lane in group.lanes:
                base = self.height_in - y - 0.145
                pane.line([0.05], [base + 0.04], **lane.style.look(linestyle="", scale=pane.inches))
                pane.beside(0.15, base, lane.name)
                found.append((lane.item, y + _NAME_IN))
                y += _NAME_IN + self._bar_in + 0.09
        return pane, found

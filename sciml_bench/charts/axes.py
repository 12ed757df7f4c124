"""Axes: a rectangle of a figure with two linear scales, and the drawing in it. Lengths are inches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sciml_bench.charts.backend import Backend, Box, Ends
from sciml_bench.charts.style import INK

TEXT_PT = 9.0
SMALL_PT = 8.0

_TICK_IN = 0.045
Limits = tuple[float, float]


@dataclass(frozen=True)
class Scale:
    """Turns values into inches from the left lower corner of the figure."""

    x0: float
    y0: float
    x_in: float = 1.0
    y_in: float = 1.0

    def x(self, value: float) -> float:
        """Position of a value from left to right."""
        return self.x0 + self.x_in * value

    def y(self, value: float) -> float:
        """Position of a value from the bottom to the top."""
        return self.y0 + self.y_in * value


class Axes:
    """A rectangle of a figure. ``data`` is its scale, ``inches`` the scale of lengths from its left lower corner."""

    def __init__(self, backend: Backend, left: float, bottom: float, width: float, height: float):
        self.width = width
        self.height = height
        self._backend = backend
        self._x: Limits = (0.0, 1.0)
        self._y: Limits = (0.0, 1.0)
        self.inches = Scale(left, bottom)
        self.data = self._scaled()

    def limits(self, *, x: Limits | None = None, y: Limits | None = None) -> None:
        """Set the ends of the scales: left and right, lower and upper. Earlier drawings stay in place."""
        self._x, self._y = x or self._x, y or self._y
        self.data = self._scaled()

    @property
    def x_limits(self) -> Limits:
        """The values at the left and at the right."""
        return self._x

    @property
    def y_limits(self) -> Limits:
        """The values at the lower and at the upper edge."""
        return self._y

    def _scaled(self) -> Scale:
        (left, right), (low, high) = self._x, self._y
        x_in, y_in = self.width / (right - left), self.height / (high - low)
        return Scale(self.inches.x0 - left * x_in, self.inches.y0 - low * y_in, x_in, y_in)

    def line(
        self, xs: Sequence[float], ys: Sequence[float], *, steps: bool = False, scale: Scale | None = None, **look: Any
    ) -> None:
        """A line with its markers; ``steps`` go to the right first."""
        at = scale or self.data
        drawstyle = {"drawstyle": "steps-post"} if steps else {}
        self._backend.line([at.x(x) for x in xs], [at.y(y) for y in ys], drawstyle | look)

    def segments(self, ends: Sequence[Ends], colour: str = INK, *, scale: Scale | None = None, **look: Any) -> None:
        """Straight lines, each from its first to its second point, all of one look."""
        at = scale or self.data
        look = {"color": colour, "linewidth": 1.0, "zorder": 2, **look}
        self._backend.segments([(at.x(x0), at.y(y0), at.x(x1), at.y(y1)) for x0, y0, x1, y1 in ends], look)

    def boxes(self, boxes: Sequence[Box], colour: str, *, scale: Scale | None = None, **look: Any) -> None:
        """Filled rectangles of one look."""
        at = scale or self.data
        edge = "white" if look.get("hatch") else "none"
        look = {"facecolor": colour, "linewidth": 0.0, "edgecolor": edge, **look}
        self._backend.boxes([(at.x(x), at.y(y), at.x_in * w, at.y_in * h) for x, y, w, h in boxes], look)

    def text(
        self, x: float, y: float, text: str, *, size: float = SMALL_PT, scale: Scale | None = None, **look: Any
    ) -> None:
        """A line of text with its base line at ``y``."""
        at = scale or self.data
        self._backend.text(at.x(x), at.y(y), text, {"color": INK, "fontsize": size, **look})

    def beside(self, x_in: float, y_in: float, text: str, **look: Any) -> None:
        """Text at a place in inches from the left lower corner."""
        self.text(x_in, y_in, text, scale=self.inches, **look)

    def x_axis(self, ticks: Mapping[float, str], label: str = "", *, grid: bool = True) -> None:
        """The lower edge with ticks at these values, their names, and the label."""
        places = {self._x_in(value): name for value, name in ticks.items()}
        if grid:
            self._grid([(x, 0.0, x, self.height) for x in places])
        marks = [(x, 0.0, x, -_TICK_IN) for x in places]
        self.segments([(0, 0, self.width, 0), *marks], linewidth=0.8, scale=self.inches)
        for x, name in places.items():
            self.beside(x, -0.18, name, ha="center")
        if label:
            self.beside(self.width / 2, -0.36, label, ha="center", size=TEXT_PT)

    def y_axis(self, ticks: Mapping[float, str], label: str = "") -> None:
        """The left edge; the label of its ticks is above it."""
        places = {self._y_in(value): name for value, name in ticks.items()}
        self._grid([(0.0, y, self.width, y) for y in places])
        marks = [(0.0, y, -_TICK_IN, y) for y in places]
        self.segments([(0, 0, 0, self.height), *marks], linewidth=0.8, scale=self.inches)
        for y, name in places.items():
            self.beside(-0.09, y - 0.038, name, ha="right")
        if label:
            self.beside(-0.6, self.height + 0.08, label, size=TEXT_PT)

    def in_inches(self, x: float, y: float) -> tuple[float, float]:
        """The place of a value, in inches from the left lower corner."""
        return self._x_in(x), self._y_in(y)

    def _grid(self, ends: Sequence[Ends]) -> None:
        self.segments(ends, linewidth=0.6, alpha=0.13, scale=self.inches, zorder=0.5)

    def _x_in(self, value: float) -> float:
        left, right = self._x
        return (value - left) / (right - left) * self.width

    def _y_in(self, value: float) -> float:
        low, high = self._y
        return (value - low) / (high - low) * self.height

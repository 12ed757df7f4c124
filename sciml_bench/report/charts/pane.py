"""A place in a figure with two linear scales, and what is drawn in it. Sizes are inches.

Not matplotlib's axes: a report has hundreds of figures, and axes with their ticks take most of the time of drawing one.
Here a grid is one artist, and text knows its place without being laid out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import CARETLEFTBASE
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Affine2D

from sciml_bench.report.charts.palette import INK

TEXT_PT = 9.0
SMALL_PT = 8.0

AT_MOST: Any = CARETLEFTBASE
"""The marker beside a point whose value is a bound: an arrow to smaller values."""

_TICK_IN = 0.045
_RECTANGLE = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
Limits = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, lower edge, width, height."""


class PlainText(Text):
    """One level line of text, written from its base line. Viewers of SVG centre it themselves, so nothing is laid out
    for them."""

    def draw(self, renderer: Any) -> None:
        """Write the text."""
        figure = self.get_figure(root=True)
        if figure is None or not isinstance(figure.canvas, FigureCanvasSVG) or self.get_rotation():
            super().draw(renderer)
            return
        x, y = self.get_transform().transform(self.get_unitless_position())
        gc = renderer.new_gc()
        gc.set_foreground(self.get_color())
        height = renderer.get_canvas_width_height()[1]
        renderer.draw_text(gc, x, height - y, self.get_text(), self.get_fontproperties(), 0, mtext=self)
        gc.restore()


class Pane:
    """A rectangle of a figure. ``data`` turns the scales into pixels, ``inches`` lengths from its left lower corner."""

    def __init__(self, figure: Figure, left: float, bottom: float, width: float, height: float):
        self.figure = figure
        self.width = width
        self.height = height
        self._left, self._bottom = left, bottom
        self._x: Limits = (0.0, 1.0)
        self._y: Limits = (0.0, 1.0)
        self._scale = Affine2D()
        self.data = self._scale + figure.dpi_scale_trans
        self.inches = Affine2D().translate(left, bottom) + figure.dpi_scale_trans
        self._rescale()

    def limits(self, *, x: Limits | None = None, y: Limits | None = None) -> None:
        """Set the ends of the scales: left and right, lower and upper."""
        self._x, self._y = x or self._x, y or self._y
        self._rescale()

    @property
    def x_limits(self) -> Limits:
        """The values at the left and at the right."""
        return self._x

    @property
    def y_limits(self) -> Limits:
        """The values at the lower and at the upper edge."""
        return self._y

    def _rescale(self) -> None:
        (left, right), (low, high) = self._x, self._y
        self._scale.clear().translate(-left, -low).scale(self.width / (right - left), self.height / (high - low))
        self._scale.translate(self._left, self._bottom)

    def add(self, artist: Artist) -> None:
        """Draw something; its transform is its own."""
        self.figure.add_artist(artist)

    def line(self, xs: Sequence[float], ys: Sequence[float], *, steps: bool = False, **look: Any) -> None:
        """A line with its markers; ``steps`` go to the right first."""
        drawstyle = "steps-post" if steps else "default"
        self.add(Line2D(xs, ys, drawstyle=drawstyle, transform=look.pop("transform", self.data), **look))

    def segments(self, ends: Sequence[tuple[float, float, float, float]], colour: str = INK, **look: Any) -> None:
        """Straight lines, each from its first to its second point, all of one look and in one path."""
        corners = [point for x0, y0, x1, y1 in ends for point in ((x0, y0), (x1, y1))]
        path = Path(np.reshape(corners, (-1, 2)), [Path.MOVETO, Path.LINETO] * len(ends))
        look = {"linewidth": 1.0, "zorder": 2, "transform": self.data, **look}
        self.add(PathPatch(path, fill=False, edgecolor=colour, **look))

    def boxes(self, boxes: Sequence[Box], colour: str, **look: Any) -> None:
        """Filled rectangles of one look, in one path."""
        corners = [p for x, y, w, h in boxes for p in ((x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y))]
        path = Path(np.reshape(corners, (-1, 2)), _RECTANGLE * len(boxes))
        edge = "white" if look.get("hatch") else "none"
        look = {"linewidth": 0.0, "edgecolor": edge, "transform": self.data, **look}
        self.add(PathPatch(path, facecolor=colour, **look))

    def text(self, x: float, y: float, text: str, *, size: float = SMALL_PT, **look: Any) -> None:
        """A line of text with its base line at ``y``."""
        transform = look.pop("transform", self.data)
        look = {"color": INK, "fontsize": size, "va": "baseline", **look}
        self.add(PlainText(x, y, text, transform=transform, **look))

    def beside(self, x_in: float, y_in: float, text: str, **look: Any) -> None:
        """Text at a place in inches from the left lower corner."""
        self.text(x_in, y_in, text, transform=self.inches, **look)

    def x_axis(self, ticks: Mapping[float, str], label: str = "", *, grid: bool = True) -> None:
        """The lower edge with ticks at these values, their names, and what they are of."""
        places = {self._x_in(value): name for value, name in ticks.items()}
        if grid:
            self._grid([(x, 0.0, x, self.height) for x in places])
        marks = [(x, 0.0, x, -_TICK_IN) for x in places]
        self.segments([(0, 0, self.width, 0), *marks], linewidth=0.8, transform=self.inches)
        for x, name in places.items():
            self.beside(x, -0.18, name, ha="center")
        if label:
            self.beside(self.width / 2, -0.36, label, ha="center", size=TEXT_PT)

    def y_axis(self, ticks: Mapping[float, str], label: str = "") -> None:
        """The left edge; what its ticks are of stands above it."""
        places = {self._y_in(value): name for value, name in ticks.items()}
        self._grid([(0.0, y, self.width, y) for y in places])
        marks = [(0.0, y, -_TICK_IN, y) for y in places]
        self.segments([(0, 0, 0, self.height), *marks], linewidth=0.8, transform=self.inches)
        for y, name in places.items():
            self.beside(-0.09, y - 0.038, name, ha="right")
        if label:
            self.beside(-0.6, self.height + 0.08, label, size=TEXT_PT)

    def _grid(self, ends: Sequence[tuple[float, float, float, float]]) -> None:
        self.segments(ends, linewidth=0.6, alpha=0.13, transform=self.inches, zorder=0.5)

    def _x_in(self, value: float) -> float:
        left, right = self._x
        return (value - left) / (right - left) * self.width

    def _y_in(self, value: float) -> float:
        low, high = self._y
        return (value - low) / (high - low) * self.height

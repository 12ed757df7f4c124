"""Paper for files: a figure of matplotlib."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import CARETLEFTBASE
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from sciml_bench.charts.backend import Box, Ends, Look
from sciml_bench.charts.style import AT_MOST

_RECTANGLE = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]


class FileBackend:
    """Draws on a figure. Not on axes: their ticks and layout take longer than all that a chart draws."""

    def __init__(self, figure: Figure):
        self._figure = figure

    def set_size(self, width: float, height: float) -> None:
        """Give it its size."""
        self._figure.set_size_inches(width, height)

    @property
    def size(self) -> tuple[float, float]:
        """Its width and height."""
        width, height = self._figure.get_size_inches()
        return float(width), float(height)

    def line(self, xs: Sequence[float], ys: Sequence[float], look: Look) -> None:
        """A line with its markers."""
        marker: Look = {"marker": CARETLEFTBASE} if look.get("marker") == AT_MOST else {}
        self._figure.add_artist(Line2D(xs, ys, transform=self._figure.dpi_scale_trans, **(look | marker)))

    def segments(self, ends: Sequence[Ends], look: Look) -> None:
        """Straight lines of one look, in one path."""
        corners = [point for x0, y0, x1, y1 in ends for point in ((x0, y0), (x1, y1))]
        path = Path(np.reshape(corners, (-1, 2)), [Path.MOVETO, Path.LINETO] * len(ends))
        look = {"edgecolor" if name == "color" else name: value for name, value in look.items()}
        self._figure.add_artist(PathPatch(path, fill=False, transform=self._figure.dpi_scale_trans, **look))

    def boxes(self, boxes: Sequence[Box], look: Look) -> None:
        """Rectangles of one look, in one path."""
        corners = [p for x, y, w, h in boxes for p in ((x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y))]
        path = Path(np.reshape(corners, (-1, 2)), _RECTANGLE * len(boxes))
        self._figure.add_artist(PathPatch(path, transform=self._figure.dpi_scale_trans, **look))

    def text(self, x: float, y: float, text: str, look: Look) -> None:
        """One level line of text."""
        self._figure.text(x, y, text, va="baseline", transform=self._figure.dpi_scale_trans, **look)

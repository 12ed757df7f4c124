"""Names of the lines of a chart: at their right ends, or in a legend below if there are too many."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from sciml_bench.charts.axes import Axes
from sciml_bench.charts.backend import Backend
from sciml_bench.charts.layout import Legend, LegendLine, text_width_in

MOST = 12
"""More names than this are in a legend: next to the lines they would be in each other's way."""

_LETTERS, _LINES = 30, 2
_STRIP_IN, _MARKER_IN, _GAP_IN, _LINE_IN = 0.42, 0.2, 0.05, 0.135

End = tuple[float, float] | None
"""The end of a line in the data of its axes; ``None`` if it is not drawn."""


class LineNames:
    """The names of lines in a figure of ``panels``. ``below_in`` and ``right_in`` is the room that they take."""

    def __init__(self, entries: Sequence[LegendLine], panels: int = 1):
        self._entries = entries
        self._direct = panels == 1 and len(entries) <= MOST
        self._legend = Legend([] if self._direct else entries)
        self._texts = [_wrapped(entry.text) for entry in entries]
        self.below_in = self._legend.height_in
        widest = max((text_width_in(line) for lines in self._texts for line in lines), default=0.0)
        self.right_in = _STRIP_IN + _MARKER_IN + widest + 0.08 if self._direct else 0.5

    def draw(self, backend: Backend, axes: Axes, ends: Sequence[End]) -> None:
        """Draw them for lines of the axes that end there, in the order of the entries."""
        if not self._direct:
            self._legend.draw(backend)
            return
        heights = [len(lines) * _LINE_IN + _GAP_IN for lines in self._texts]
        # Lines that are not drawn are named at the top, next to the strip of failures.
        points = [None if end is None else axes.in_inches(*end) for end in ends]
        wanted = [axes.height if point is None else point[1] for point in points]
        for index, middle in _apart(wanted, heights, axes.height):
            self._draw_one(axes, index, points[index], middle)

    def _draw_one(self, axes: Axes, index: int, point: tuple[float, float] | None, middle: float) -> None:
        style, lines = self._entries[index].style, self._texts[index]
        left = axes.width + _STRIP_IN
        if point is not None:
            lead = [(point[0], point[1], axes.width, middle), (axes.width, middle, left, middle)]
            axes.segments(lead, style.colour, scale=axes.inches, linewidth=0.6, alpha=0.5, zorder=1)
        axes.line([left + 0.06], [middle], **style.look(linestyle="", scale=axes.inches))
        top = middle + (len(lines) / 2 - 1) * _LINE_IN + 0.025
        for number, line in enumerate(lines):
            axes.beside(left + _MARKER_IN, top - number * _LINE_IN, line)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _LETTERS, max_lines=_LINES, placeholder="…") or [""]


def _apart(wanted: Sequence[float], heights: Sequence[float], room: float) -> list[tuple[int, float]]:
    """(index, middle) of labels of these heights as near to the wanted places as they can be without overlap.

    Labels that are too many for the room hang out at the bottom.
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    lower: list[float] = []
    for place, index in enumerate(order):
        least = 0.0 if place == 0 else lower[-1] + heights[order[place - 1]]
        lower.append(max(wanted[index] - heights[index] / 2, least))
    most = room
    for place in reversed(range(len(order))):
        lower[place] = min(lower[place], most - heights[order[place]])
        most = lower[place]
    return [(index, lower[place] + heights[index] / 2) for place, index in enumerate(order)]

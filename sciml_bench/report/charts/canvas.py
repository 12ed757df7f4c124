"""Where things stand in a figure: sizes, titles, panels and the strip of what failed. Sizes are inches."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sciml_bench.report.charts.palette import INK, Style
from sciml_bench.report.charts.pane import SMALL_PT, TEXT_PT, Pane
from sciml_bench.report.charts.paper import Paper

WIDTH_IN = 7.2


def text_width_in(text: str, size_pt: float = SMALL_PT) -> float:
    """About how wide a text is; a little too much rather than too little, with wide letters of far scripts double."""
    return sum(0.53 if ord(letter) < 0x1100 else 1.1 for letter in text) * size_pt / 72


def joined(first: str, second: str) -> str:
    """A title and what makes it more exact, where there is something."""
    return f"{first}, {second}" if second else first


def page(figure: Paper) -> Pane:
    """The whole figure, for what stands beside its panes."""
    return Pane(figure, 0.0, 0.0, *figure.get_size_inches())


def title(figure: Paper, text: str, caution: str = "") -> None:
    """The title at the top left, and below it what warns of its times, or makes it more exact."""
    whole = page(figure)
    whole.beside(0.1, whole.height - 0.22, text, size=TEXT_PT + 1, fontweight="bold")
    if caution:
        whole.beside(0.1, whole.height - 0.4, caution, fontstyle="italic")


class Grid:
    """Panels of one kind above a legend: one across the whole width, more in two columns."""

    def __init__(self, panels: int, legend_in: float, *, cautioned: bool = False, height_in: float | None = None):
        self._columns = 1 if panels == 1 else 2
        self._rows = math.ceil(panels / self._columns)
        self._height_in = height_in or (3.1 if panels == 1 else 2.3)
        self._row_in = self._height_in + (0.85 if panels == 1 else 1.05)
        self._legend_in = legend_in
        self._top_in = 0.42 if cautioned else 0.25

    @property
    def single(self) -> bool:
        """Whether there is one panel only."""
        return self._columns == 1

    def leftmost(self, place: int) -> bool:
        """Whether a panel stands at the left."""
        return place % self._columns == 0

    def open(self, figure: Paper) -> None:
        """Give the figure its size."""
        figure.set_size_inches(WIDTH_IN, self._top_in + self._rows * self._row_in + self._legend_in)

    def pane(self, figure: Paper, place: int) -> Pane:
        """A panel, with room for a strip at its right."""
        line, column = divmod(place, self._columns)
        left = 0.75 + column * WIDTH_IN / self._columns
        bottom = self._legend_in + (self._rows - 1 - line) * self._row_in + 0.5
        return Pane(figure, left, bottom, self._width_in, self._height_in)

    @property
    def _width_in(self) -> float:
        return WIDTH_IN / self._columns - 1.25

    def title(self, pane: Pane, text: str) -> None:
        """The title of a panel, shortened to what fits; that of a single one stands in the title of the figure."""
        if self.single:
            return
        most = int(self._width_in / text_width_in("n", TEXT_PT))
        shown = text if len(text) <= most else f"{text[: most - 1].rstrip(' ,:')}…"
        pane.beside(0.0, pane.height + 0.26, shown, size=TEXT_PT, fontweight="bold")


def failed_strip(pane: Pane, styles: Sequence[Style], word: str = "failed") -> None:
    """A strip at the right margin with the markers of what has no place in a pane, each with a cross."""
    left, wide = pane.width + 0.06, 0.28
    pane.boxes([(left, 0, wide, pane.height)], INK, alpha=0.07, scale=pane.inches)
    pane.beside(left + wide / 2, pane.height + 0.05, word, ha="center")
    gap = min(0.22, pane.height / (len(styles) + 1))
    for place, style in enumerate(styles):
        y = pane.height - gap * (place + 0.7)
        pane.line([left + 0.08], [y], **style.look(scale=pane.inches))
        pane.line([left + 0.2], [y], marker="x", color=INK, markersize=4.5, scale=pane.inches)

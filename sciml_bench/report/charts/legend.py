"""Legends: lines with markers, and coloured areas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sciml_bench.report.charts.canvas import WIDTH_IN, page, text_width_in
from sciml_bench.report.charts.palette import Style
from sciml_bench.report.charts.paper import Paper

LINE_IN = 0.175
"""The height of one line of small text."""


@dataclass(frozen=True)
class Entry:
    """A line of a legend."""

    style: Style
    text: str


class Legend:
    """A legend below the axes, in as many columns as its longest entry leaves room for."""

    def __init__(self, entries: Sequence[Entry], width_in: float = WIDTH_IN - 0.2):
        self._entries = entries
        widest = max((text_width_in(entry.text) for entry in entries), default=1.0) + 0.55
        self._columns = max(1, min(3, int(width_in / widest)))
        self._column_in = width_in / self._columns
        self._lines = math.ceil(len(entries) / self._columns)

    @property
    def height_in(self) -> float:
        """How high it is."""
        return self._lines * LINE_IN + 0.08 if self._entries else 0.0

    def draw(self, figure: Paper, left: float = 0.1, bottom: float = 0.06) -> None:
        """Draw it with its left lower corner at a place in inches."""
        whole = page(figure)
        for place, entry in enumerate(self._entries):
            column, line = divmod(place, self._lines)
            x = left + column * self._column_in
            y = bottom + (self._lines - 1 - line) * LINE_IN
            look = entry.style.look(markevery=[1], scale=whole.inches)
            whole.line([x, x + 0.18, x + 0.36], [y + 0.04] * 3, **look)
            whole.beside(x + 0.45, y, entry.text)


@dataclass(frozen=True)
class Swatch:
    """A coloured area and what it means."""

    colour: str
    text: str
    hatch: str = ""


def swatches(figure: Paper, items: Sequence[Swatch], bottom: float = 0.32) -> None:
    """A legend of areas in one line."""
    whole = page(figure)
    x = 0.15
    for item in items:
        hatch = {"hatch": item.hatch} if item.hatch else {}
        whole.boxes([(x, bottom - 0.02, 0.2, 0.14)], item.colour, scale=whole.inches, **hatch)
        whole.beside(x + 0.25, bottom, item.text)
        x += 0.25 + text_width_in(item.text) + 0.06

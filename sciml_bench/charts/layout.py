"""The layout of a figure: titles, panels, lanes, the strip of failures, and legends. Lengths are inches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sciml_bench.charts.axes import SMALL_PT, TEXT_PT, Axes
from sciml_bench.charts.backend import Backend
from sciml_bench.charts.style import INK, Style

WIDTH_IN = 7.2


def text_width_in(text: str, size_pt: float = SMALL_PT) -> float:
    """About how wide a text is; a little too much rather than too little, with wide letters of far scripts double."""
    return sum(0.53 if ord(letter) < 0x1100 else 1.1 for letter in text) * size_pt / 72


def joined(first: str, second: str) -> str:
    """A title and its qualification, if any."""
    return f"{first}, {second}" if second else first


def whole(backend: Backend) -> Axes:
    """The whole figure, for drawing outside its panes."""
    return Axes(backend, 0.0, 0.0, *backend.size)


def title(backend: Backend, text: str, caution: str = "") -> None:
    """The title at the top left, and below it what warns of its times, or makes it more exact."""
    page = whole(backend)
    page.beside(0.1, page.height - 0.22, text, size=TEXT_PT + 1, fontweight="bold")
    if caution:
        page.beside(0.1, page.height - 0.4, caution, fontstyle="italic")


class Grid:
    """Panels of one kind above a legend: one across the whole width, more in two columns.

    ``right_in`` is the room at the right of a single panel.
    """

    def __init__(
        self,
        panels: int,
        legend_in: float,
        *,
        cautioned: bool = False,
        height_in: float | None = None,
        right_in: float = 0.5,
    ):
        self._right_in = right_in if panels == 1 else 0.5
        self._columns = 1 if panels == 1 else 2
        self._rows = math.ceil(panels / self._columns)
        self._height_in = height_in or (3.1 if panels == 1 else 2.3)
        self._row_in = self._height_in + (0.85 if panels == 1 else 1.05)
        self._legend_in = legend_in
        self._top_in = 0.42 if cautioned else 0.25

    @property
    def single(self) -> bool:
        """Return whether there is one panel only."""
        return self._columns == 1

    def leftmost(self, place: int) -> bool:
        """Return whether a panel is the leftmost one."""
        return place % self._columns == 0

    def open(self, backend: Backend) -> None:
        """Give the figure its size."""
        backend.set_size(WIDTH_IN, self._top_in + self._rows * self._row_in + self._legend_in)

    def axes(self, backend: Backend, place: int) -> Axes:
        """A panel, with room for a strip at its right."""
        line, column = divmod(place, self._columns)
        left = 0.75 + column * WIDTH_IN / self._columns
        bottom = self._legend_in + (self._rows - 1 - line) * self._row_in + 0.5
        return Axes(backend, left, bottom, self._width_in, self._height_in)

    @property
    def _width_in(self) -> float:
        return WIDTH_IN / self._columns - 0.75 - self._right_in

    def title(self, axes: Axes, text: str) -> None:
        """The title of a panel, shortened to fit; a single panel's title is in the title of the figure."""
        if self.single:
            return
        most = int(self._width_in / text_width_in("n", TEXT_PT))
        shown = text if len(text) <= most else f"{text[: most - 1].rstrip(' ,:')}…"
        axes.beside(0.0, axes.height + 0.26, shown, size=TEXT_PT, fontweight="bold")


def failed_strip(axes: Axes, styles: Sequence[Style], word: str = "failed") -> None:
    """A strip at the right margin with the markers of cells without a place in the axes, each with a cross."""
    left, wide = axes.width + 0.06, 0.28
    axes.boxes([(left, 0, wide, axes.height)], INK, alpha=0.07, scale=axes.inches)
    axes.beside(left + wide / 2, axes.height + 0.05, word, ha="center")
    gap = min(0.22, axes.height / (len(styles) + 1))
    for place, style in enumerate(styles):
        y = axes.height - gap * (place + 0.7)
        axes.line([left + 0.08], [y], **style.look(scale=axes.inches))
        axes.line([left + 0.2], [y], marker="x", color=INK, markersize=4.5, scale=axes.inches)


LINE_IN = 0.175
"""The height of one line of small text."""


@dataclass(frozen=True)
class LegendLine:
    """A line of a legend."""

    style: Style
    text: str


class Legend:
    """A legend below the axes, in as many columns as its longest entry leaves room for."""

    def __init__(self, entries: Sequence[LegendLine], width_in: float = WIDTH_IN - 0.2):
        self._entries = entries
        widest = max((text_width_in(entry.text) for entry in entries), default=1.0) + 0.55
        self._columns = max(1, min(3, int(width_in / widest)))
        self._column_in = width_in / self._columns
        self._lines = math.ceil(len(entries) / self._columns)

    @property
    def height_in(self) -> float:
        """Return how high it is."""
        return self._lines * LINE_IN + 0.08 if self._entries else 0.0

    def draw(self, backend: Backend, left: float = 0.1, bottom: float = 0.06) -> None:
        """Draw it with its left lower corner at a place in inches."""
        page = whole(backend)
        for place, entry in enumerate(self._entries):
            column, line = divmod(place, self._lines)
            x = left + column * self._column_in
            y = bottom + (self._lines - 1 - line) * LINE_IN
            look = entry.style.look(markevery=[1], scale=page.inches)
            page.line([x, x + 0.18, x + 0.36], [y + 0.04] * 3, **look)
            page.beside(x + 0.45, y, entry.text)


@dataclass(frozen=True)
class Swatch:
    """A coloured area and its meaning."""

    colour: str
    text: str
    hatch: str = ""


def swatches(backend: Backend, items: Sequence[Swatch], bottom: float = 0.32) -> None:
    """A legend of areas in one line."""
    page = whole(backend)
    x = 0.15
    for item in items:
        hatch = {"hatch": item.hatch} if item.hatch else {}
        page.boxes([(x, bottom - 0.02, 0.2, 0.14)], item.colour, scale=page.inches, **hatch)
        page.beside(x + 0.25, bottom, item.text)
        x += 0.25 + text_width_in(item.text) + 0.06


Item = TypeVar("Item")

_NAME_IN = 0.19
_HEADER_IN = 0.32


@dataclass(frozen=True)
class Lane(Generic[Item]):
    """One lane: its subject, its name, and the look of its cell in other charts."""

    item: Item
    name: str
    style: Style


@dataclass(frozen=True)
class Group(Generic[Item]):
    """Lanes that belong together; without a header when its title is empty."""

    title: str
    lanes: Sequence[Lane[Item]]


class Lanes(Generic[Item]):
    """The geometry of lanes. In their axes y counts inches from the top."""

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
        """The width of the axes."""
        return WIDTH_IN - self._left_in - self._right_in

    def axes(self, backend: Backend, bottom_in: float) -> tuple[Axes, list[tuple[Item, float]]]:
        """The axes with the names written in, and the upper edge of each lane's bar."""
        axes = Axes(backend, self._left_in, bottom_in, self.width_in, self.height_in)
        axes.limits(y=(self.height_in, 0))
        found: list[tuple[Item, float]] = []
        y = 0.04
        for group in self._groups:
            if group.title:
                axes.beside(0, self.height_in - y - 0.2, group.title, size=TEXT_PT, fontweight="bold")
                y += _HEADER_IN
            for lane in group.lanes:
                base = self.height_in - y - 0.145
                axes.line([0.05], [base + 0.04], **lane.style.look(linestyle="", scale=axes.inches))
                axes.beside(0.15, base, lane.name)
                found.append((lane.item, y + _NAME_IN))
                y += _NAME_IN + self._bar_in + 0.09
        return axes, found

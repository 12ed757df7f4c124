"""Legends: lines with markers, and coloured areas."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sciml_bench.analysis import quantities
from sciml_bench.charts.paper import Box, Ends, Paper
from sciml_bench.charts.style import INK, Style

# Scales of logarithms and of counts: limits, ticks, and the names of ticks.

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MOST_TICKS = 8
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def power(exponent: int) -> str:
    """A power of ten, such as ``10⁻⁶``."""
    return f"10{str(exponent).translate(_SUPERSCRIPTS)}"


def duration_tick(log_s: float) -> str:
    """A tick on an axis of log10 seconds, such as ``20 ms``; a power of ten far from everyday times."""
    if not -9.5 < log_s < 3.5:
        return f"{power_tick(log_s)} s"
    seconds = 10.0**log_s
    scale, unit = next(((scale, unit) for scale, unit in _TIMES if seconds > 0.999 * scale), _TIMES[-1])
    return f"{seconds / scale:.4g} {unit}"


def power_tick(log_value: float) -> str:
    """A tick on an axis of log10 of a plain number."""
    if abs(log_value - round(log_value)) < 1e-9:
        return power(round(log_value))
    return f"{10.0**log_value:.0e}".replace("e-0", "e-").replace("e+0", "e")


def ratio_tick(log_ratio: float) -> str:
    """A tick on an axis of log10 of a ratio."""
    return f"{10.0**log_ratio:g}" if -3 < log_ratio < 4 else power_tick(log_ratio)


def count_tick(log_count: float) -> str:
    """A tick on an axis of log10 of a number of calls."""
    count = 10.0**log_count
    return quantities.count(round(count)) if count < 99_999 else power_tick(log_count)


def log_limits(values: Sequence[float], margin: float = 0.06, least: float = 1.0) -> tuple[float, float]:
    """The limits of an axis of logs: around the values, at least ``least`` decades wide."""
    low, high = min(values), max(values)
    if high - low < least:
        middle = (low + high) / 2
        low, high = middle - least / 2, middle + least / 2
    pad = margin * (high - low)
    return low - pad, high + pad


def log_ticks(low: float, high: float) -> list[float]:
    """Ticks between the limits of an axis of logs: decades, or 1, 2 and 5 where there are few of them."""
    first, last = math.ceil(low), math.floor(high)
    if last - first >= 2:
        step = math.ceil((last - first + 1) / _MOST_TICKS)
        return [float(tick) for tick in range(first, last + 1) if tick % step == 0]
    parts = (0.0, math.log10(2), math.log10(5))
    return [tick for decade in range(first - 1, last + 1) for part in parts if low <= (tick := decade + part) <= high]


def linear_ticks(longest: float, most: int = 6) -> list[float]:
    """Round numbers from 0 up to ``longest``."""
    rough = longest / most
    decade = 10.0 ** math.floor(math.log10(rough))
    step = next(decade * part for part in (1, 2, 5, 10) if decade * part >= rough)
    return [step * count for count in range(int(longest / step) + 1)]


def named_ticks(limits: tuple[float, float], name: Callable[[float], str]) -> dict[float, str]:
    """The ticks between the limits of a scale of logs, and their names."""
    return {tick: name(tick) for tick in log_ticks(*limits)}


# A place on paper with two linear scales, and what is drawn in it. Sizes are inches.

TEXT_PT = 9.0
SMALL_PT = 8.0

_TICK_IN = 0.045
Limits = tuple[float, float]


@dataclass(frozen=True)
class Scale:
    """Turns values into inches from the left lower corner of the paper."""

    x0: float
    y0: float
    x_in: float = 1.0
    y_in: float = 1.0

    def x(self, value: float) -> float:
        """Where a value stands from left to right."""
        return self.x0 + self.x_in * value

    def y(self, value: float) -> float:
        """Where a value stands from the bottom to the top."""
        return self.y0 + self.y_in * value


class Pane:
    """A rectangle of a figure. ``data`` is its scale, ``inches`` that of lengths from its left lower corner."""

    def __init__(self, paper: Paper, left: float, bottom: float, width: float, height: float):
        self.width = width
        self.height = height
        self._paper = paper
        self._x: Limits = (0.0, 1.0)
        self._y: Limits = (0.0, 1.0)
        self.inches = Scale(left, bottom)
        self.data = self._scaled()

    def limits(self, *, x: Limits | None = None, y: Limits | None = None) -> None:
        """Set the ends of the scales: left and right, lower and upper. What is drawn already stays where it is."""
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
        self._paper.line([at.x(x) for x in xs], [at.y(y) for y in ys], drawstyle | look)

    def segments(self, ends: Sequence[Ends], colour: str = INK, *, scale: Scale | None = None, **look: Any) -> None:
        """Straight lines, each from its first to its second point, all of one look."""
        at = scale or self.data
        look = {"color": colour, "linewidth": 1.0, "zorder": 2, **look}
        self._paper.segments([(at.x(x0), at.y(y0), at.x(x1), at.y(y1)) for x0, y0, x1, y1 in ends], look)

    def boxes(self, boxes: Sequence[Box], colour: str, *, scale: Scale | None = None, **look: Any) -> None:
        """Filled rectangles of one look."""
        at = scale or self.data
        edge = "white" if look.get("hatch") else "none"
        look = {"facecolor": colour, "linewidth": 0.0, "edgecolor": edge, **look}
        self._paper.boxes([(at.x(x), at.y(y), at.x_in * w, at.y_in * h) for x, y, w, h in boxes], look)

    def text(
        self, x: float, y: float, text: str, *, size: float = SMALL_PT, scale: Scale | None = None, **look: Any
    ) -> None:
        """A line of text with its base line at ``y``."""
        at = scale or self.data
        self._paper.text(at.x(x), at.y(y), text, {"color": INK, "fontsize": size, **look})

    def beside(self, x_in: float, y_in: float, text: str, **look: Any) -> None:
        """Text at a place in inches from the left lower corner."""
        self.text(x_in, y_in, text, scale=self.inches, **look)

    def x_axis(self, ticks: Mapping[float, str], label: str = "", *, grid: bool = True) -> None:
        """The lower edge with ticks at these values, their names, and what they are of."""
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
        """The left edge; what its ticks are of stands above it."""
        places = {self._y_in(value): name for value, name in ticks.items()}
        self._grid([(0.0, y, self.width, y) for y in places])
        marks = [(0.0, y, -_TICK_IN, y) for y in places]
        self.segments([(0, 0, 0, self.height), *marks], linewidth=0.8, scale=self.inches)
        for y, name in places.items():
            self.beside(-0.09, y - 0.038, name, ha="right")
        if label:
            self.beside(-0.6, self.height + 0.08, label, size=TEXT_PT)

    def _grid(self, ends: Sequence[Ends]) -> None:
        self.segments(ends, linewidth=0.6, alpha=0.13, scale=self.inches, zorder=0.5)

    def _x_in(self, value: float) -> float:
        left, right = self._x
        return (value - left) / (right - left) * self.width

    def _y_in(self, value: float) -> float:
        low, high = self._y
        return (value - low) / (high - low) * self.height


# Where things stand in a figure: sizes, titles, panels and the strip of what failed. Sizes are inches.

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

"""Axes, ticks, legends and margins that all charts share. Sizes are inches; logarithms are taken before drawing.

Data is drawn on linear axes as log10 of its values, with ticks of our own: that takes a fraction of the time of
logarithmic axes, and no label is ever read as mathematical text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import CARETLEFTBASE
from matplotlib.patches import Rectangle

from sciml_bench.report import quantities
from sciml_bench.report.charts.palette import INK, Style

WIDTH_IN = 7.2
TEXT_PT = 9.0
SMALL_PT = 8.0
LINE_IN = 0.175
"""The height of one line of small text."""


AT_MOST: Any = CARETLEFTBASE
"""The marker beside a point whose value is a bound: an arrow to smaller values."""

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MOST_TICKS = 8
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def text_width_in(text: str, size_pt: float = SMALL_PT) -> float:
    """About how wide a text is; a little too much rather than too little, with wide letters of far scripts double."""
    return sum(0.53 if ord(letter) < 0x1100 else 1.1 for letter in text) * size_pt / 72


def add_axes(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes at a place in inches, with a faint grid below the data and no box."""
    whole_width, whole_height = figure.get_size_inches()
    place = (left / whole_width, bottom / whole_height, width / whole_width, height / whole_height)
    axes = figure.add_axes(place)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return axes


def size_in(axes: Axes) -> tuple[float, float]:
    """Width and height of axes in inches."""
    figure = axes.figure
    assert isinstance(figure, Figure)
    (width, height), box = figure.get_size_inches(), axes.get_position()
    return width * box.width, height * box.height


def write(figure: Figure, x_in: float, y_in: float, text: str, **look: Any) -> None:
    """A line of text with its left lower corner at a place in inches."""
    width, height = figure.get_size_inches()
    figure.text(x_in / width, y_in / height, text, **{"fontsize": SMALL_PT, "color": INK, **look})


def title(figure: Figure, text: str, caution: str = "") -> None:
    """The title at the top left, and below it what warns of its times."""
    height = figure.get_size_inches()[1]
    write(figure, 0.1, height - 0.22, text, fontsize=TEXT_PT + 1, fontweight="bold")
    if caution:
        write(figure, 0.1, height - 0.4, caution, fontstyle="italic")


def power(exponent: int) -> str:
    """A power of ten, such as ``10⁻⁶``."""
    return f"10{str(exponent).translate(_SUPERSCRIPTS)}"


def duration_tick(log_s: float) -> str:
    """A tick on an axis of log10 seconds, such as ``20 ms``; a power of ten far from everyday times."""
    if not -9.5 < log_s < 3.5:
        return f"{power_tick(log_s)} s"
    seconds = 10.0**log_s
    scale, unit = next(((scale, unit) for scale, unit in _TIMES if seconds > 0.999 * scale), _TIMES[-1])
    return f"{seconds / scale:.3g} {unit}"


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


def ticks(axes: Axes, which: str, limits: tuple[float, float], name: Callable[[float], str]) -> None:
    """Set the limits and ticks of one axis (``x`` or ``y``) of logs."""
    found = log_ticks(*limits)
    if which == "x":
        axes.set_xlim(*limits)
        axes.set_xticks(found, [name(tick) for tick in found])
    else:
        axes.set_ylim(*limits)
        axes.set_yticks(found, [name(tick) for tick in found])


def line_look(style: Style, **changes: Any) -> dict[str, Any]:
    """How a line and its markers are drawn, with ``changes`` to it."""
    look: dict[str, Any] = {
        "color": style.colour,
        "marker": style.marker,
        "markersize": 5.0,
        "markerfacecolor": style.colour if style.filled else "none",
        "markeredgecolor": style.colour,
        "linestyle": (0, style.dashes) if style.dashes else "-",
        "linewidth": 1.4,
    }
    return look | changes


@dataclass(frozen=True)
class Entry:
    """A line of a legend."""

    style: Style
    text: str


class Grid:
    """Panels of one kind above a legend: one across the whole width, more in two columns."""

    def __init__(self, panels: int, legend_in: float, *, cautioned: bool = False, height_in: float | None = None):
        self._columns = 1 if panels == 1 else 2
        self._rows = math.ceil(panels / self._columns)
        self._height_in = height_in or (3.1 if panels == 1 else 2.3)
        self._row_in = self._height_in + (0.75 if panels == 1 else 0.85)
        self._legend_in = legend_in
        self._top_in = 0.42 if cautioned else 0.25

    @property
    def single(self) -> bool:
        """Whether there is one panel only."""
        return self._columns == 1

    def leftmost(self, place: int) -> bool:
        """Whether a panel stands at the left."""
        return place % self._columns == 0

    def open(self, figure: Figure) -> None:
        """Give the figure its size."""
        figure.set_size_inches(WIDTH_IN, self._top_in + self._rows * self._row_in + self._legend_in)

    def axes(self, figure: Figure, place: int) -> Axes:
        """The axes of a panel, with room for a strip at their right."""
        line, column = divmod(place, self._columns)
        left = 0.75 + column * WIDTH_IN / self._columns
        bottom = self._legend_in + (self._rows - 1 - line) * self._row_in + 0.5
        return add_axes(figure, left, bottom, self._width_in, self._height_in)

    @property
    def _width_in(self) -> float:
        return WIDTH_IN / self._columns - 1.25

    def title(self, axes: Axes, text: str) -> None:
        """The title of a panel, shortened to what fits."""
        most = int(self._width_in / text_width_in("n", TEXT_PT))
        axes.set_title(text if len(text) <= most else f"{text[: most - 1].rstrip(' ,:')}…", loc="left")


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

    def draw(self, figure: Figure, left: float = 0.1, bottom: float = 0.06) -> None:
        """Draw it with its left lower corner at a place in inches."""
        width, height = figure.get_size_inches()
        for place, entry in enumerate(self._entries):
            column, line = divmod(place, self._lines)
            x = left + column * self._column_in
            y = bottom + (self._lines - 1 - line) * LINE_IN
            middle = (y + 0.055) / height
            look = line_look(entry.style)
            xs = [x / width, (x + 0.18) / width, (x + 0.36) / width]
            figure.add_artist(Line2D(xs, [middle] * 3, markevery=[1], transform=figure.transFigure, **look))
            write(figure, x + 0.45, y, entry.text)


@dataclass(frozen=True)
class Swatch:
    """A coloured area and what it means."""

    colour: str
    text: str
    hatch: str = ""


def swatches(figure: Figure, items: Sequence[Swatch], bottom: float = 0.32) -> None:
    """A legend of areas in one line."""
    width, height = figure.get_size_inches()
    x = 0.15
    for item in items:
        place, size = (x / width, (bottom - 0.01) / height), (0.2 / width, 0.14 / height)
        box = Rectangle(place, *size, transform=figure.transFigure, facecolor=item.colour, edgecolor="white", lw=0)
        if item.hatch:
            box.set_hatch(item.hatch)
        figure.add_artist(box)
        write(figure, x + 0.25, bottom, item.text)
        x += 0.25 + text_width_in(item.text) + 0.1


def failed_strip(axes: Axes, styles: Sequence[Style], word: str = "failed") -> None:
    """A strip at the right margin with the markers of what has no place among the axes, crossed out."""
    width_in, height_in = size_in(axes)
    left, wide = 1 + 0.06 / width_in, 0.28 / width_in
    outside: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False}
    axes.add_patch(Rectangle((left, 0), wide, 1, facecolor=INK, alpha=0.07, linewidth=0, **outside))
    axes.text(left + wide / 2, 1 + 0.05 / height_in, word, ha="center", va="bottom", fontsize=SMALL_PT, **outside)
    gap = min(0.09, 1 / (len(styles) + 1))
    for place, style in enumerate(styles):
        x, y = left + wide / 2, 1 - gap * (place + 0.7)
        axes.plot([x], [y], **outside, **line_look(style))
        axes.plot([x], [y], "x", color=INK, markersize=7, markeredgewidth=0.9, **outside)

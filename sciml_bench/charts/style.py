"""The style of each cell in every figure of a run: a colour for its framework, and its own marker and line."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sciml_bench.adapters.base import PlotStyle
from sciml_bench.record.task import Cell

INK = "#1c1b1e"
"""Axes and text. An inlined figure has the colour of the text around it instead."""

RIGHT, HONEST, SILENT = "#0072b2", "#c08400", "#d5405e"
"""The colours of outcomes: right, honest about failing, silently wrong."""

# Of adapters that declare no look.
_OTHERS = (
    PlotStyle("#5b7d9e", "<>"), PlotStyle("#7a7a2a", "hd"), PlotStyle("#b3446c", "8s"), PlotStyle("#3d8c8c", "p^"),
    PlotStyle("#8a6d5a", "Dv"), PlotStyle("#7566c4", "o*"),
)  # fmt: skip
_LINES: tuple[tuple[float, ...], ...] = (
    (), (5, 1.6), (5, 1.4, 1.2, 1.4), (1.2, 1.4), (5, 1.4, 1.2, 1.4, 1.2, 1.4),
)  # fmt: skip


@dataclass(frozen=True)
class Style:
    """A colour, a marker that is ``filled`` or hollow, and a line: lengths drawn and left out, none when solid."""

    colour: str
    marker: str
    dashes: tuple[float, ...]
    filled: bool

    def look(self, **changes: Any) -> dict[str, Any]:
        """Return how a line and its markers are drawn, with ``changes`` to it."""
        look: dict[str, Any] = {
            "color": self.colour,
            "marker": self.marker,
            "markersize": 5.0,
            "markerfacecolor": self.colour if self.filled else "none",
            "markeredgecolor": self.colour,
            "linestyle": (0, self.dashes) if self.dashes else "-",
            "linewidth": 1.4,
        }
        return look | changes


Configuration = tuple[str, ...]


def configuration(cell: Cell) -> Configuration:
    """A cell without its problem: adapter, method, sensitivity, mode, precision, device, saving."""
    return dataclasses.astuple(cell)[1:]


class Palette:
    """The styles of a run: a configuration looks the same in all of its figures. ``looks`` are the ones that adapters
    declare.
    """

    def __init__(self, cells: Iterable[Cell], looks: Mapping[str, PlotStyle]):
        configurations = dict.fromkeys(configuration(cell) for cell in cells)
        self._frameworks = _with_others((of[0] for of in configurations), looks)
        self._places: dict[Configuration, int] = {}
        counts: dict[str, int] = {}
        for of in configurations:
            self._places[of] = counts.get(of[0], 0)
            counts[of[0]] = self._places[of] + 1
        self._lines = self._shared_out()

    def _shared_out(self) -> dict[Configuration, int]:
        """The line of every configuration. No line is used twice before all are used, for where lines lie close to
        each other, neither colours seen in grey nor markers help; and ways of one framework with the same marker
        differ in it while they can."""
        turns = {adapter: turn for turn, adapter in enumerate(self._frameworks)}
        uses, alike = Counter[int](), Counter[tuple[object, ...]]()
        found: dict[Configuration, int] = {}
        for of, place in sorted(self._places.items(), key=lambda item: item[1]):
            marker = (of[0], *self._marker(of))
            turned = [(turns[of[0]] + place + step) % len(_LINES) for step in range(len(_LINES))]
            line = min(turned, key=lambda line: (alike[*marker, line], uses[line]))
            uses[line] += 1
            alike[*marker, line] += 1
            found[of] = line
        return found

    def _marker(self, of: Configuration) -> tuple[str, bool]:
        place, markers = self._places[of], self._frameworks[of[0]].markers
        return markers[place % len(markers)], place % 8 < 4

    def colour(self, adapter: str) -> str:
        """The colour of a framework."""
        return self._frameworks[adapter].colour

    def library(self, adapter: str) -> Style:
        """Return the style of a framework, whichever of its ways is drawn."""
        names = list(self._frameworks)
        return Style(self.colour(adapter), self._frameworks[adapter].markers[0], _LINES[names.index(adapter) % 5], True)

    def style(self, of: Configuration) -> Style:
        """The style of a configuration."""
        marker, filled = self._marker(of)
        return Style(self.colour(of[0]), marker, _LINES[self._lines[of]], filled)


def _with_others(adapters: Iterable[str], looks: Mapping[str, PlotStyle]) -> dict[str, PlotStyle]:
    """The look of every framework; without a declaration it is chosen by name, and the next free one if another
    framework of the run has it.
    """
    found = dict(looks)
    taken: set[int] = set()
    for name in sorted(set(adapters) - set(found)):
        place = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) % len(_OTHERS)
        if len(taken) < len(_OTHERS):
            while place in taken:
                place = (place + 1) % len(_OTHERS)
        taken.add(place)
        found[name] = _OTHERS[place]
    return found

"""The shapes of markers as paths of SVG, drawn around the place they mark; those that matplotlib draws, too."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sciml_bench.record.task import Cell

# How each cell looks in every figure of a run: a colour for its framework, a marker and a line of its own.

INK = "#1c1b1e"
"""Axes and text. An inlined figure has the colour of the text around it instead."""

RIGHT, HONEST, SILENT = "#0072b2", "#c08400", "#d5405e"
"""What became of a trial: right, honest about failing, silently wrong."""

_FRAMEWORKS: Mapping[str, tuple[str, str]] = {
    "scipy": ("#00916a", "oH"),
    "torchdiffeq": ("#d55e00", "^v"),
    "diffrax": ("#0072b2", "sD"),
    "tensorflow": ("#b07d00", "PX"),
    "julia": ("#aa4499", "*p"),
}
_OTHERS = (
    ("#5b7d9e", "<>"), ("#7a7a2a", "hd"), ("#b3446c", "8s"), ("#3d8c8c", "p^"), ("#8a6d5a", "Dv"), ("#7566c4", "o*"),
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
        """How a line and its markers are drawn, in matplotlib's words, with ``changes`` to it."""
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
    """A cell without its problem: adapter, method, sensitivity, mode, precision, device."""
    return (cell.adapter, cell.method, cell.sensitivity, cell.mode, cell.precision, cell.device)


class Palette:
    """The styles of a run: a configuration looks the same in all of its figures."""

    def __init__(self, cells: Iterable[Cell]):
        configurations = dict.fromkeys(configuration(cell) for cell in cells)
        self._frameworks = _with_others(of[0] for of in configurations)
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
        place, (_, markers) = self._places[of], self._frameworks[of[0]]
        return markers[place % len(markers)], place % 8 < 4

    def colour(self, adapter: str) -> str:
        """The colour of a framework."""
        return self._frameworks[adapter][0]

    def style(self, of: Configuration) -> Style:
        """The style of a configuration."""
        marker, filled = self._marker(of)
        return Style(self.colour(of[0]), marker, _LINES[self._lines[of]], filled)


def _with_others(adapters: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The look of every framework; those that this suite does not bring take one by their name, and the next if
    another one of the run has it."""
    found = dict(_FRAMEWORKS)
    taken: set[int] = set()
    for name in sorted(set(adapters) - set(found)):
        place = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) % len(_OTHERS)
        if len(taken) < len(_OTHERS):
            while place in taken:
                place = (place + 1) % len(_OTHERS)
        taken.add(place)
        found[name] = _OTHERS[place]
    return found


Corners = tuple[tuple[float, float], ...]

AT_MOST = "at most"
"""The marker beside a point whose value is a bound: an arrow to smaller values."""

OPEN = frozenset({"x", AT_MOST})
"""Markers that are lines, and are never filled."""

# Circles, by their radius in units of the size.
_ROUND = {"o": 0.5, ".": 0.25}


def _regular(corners: int, turned: float = 0.0, inner: float = 1.0) -> Corners:
    """A polygon in a circle of radius 1/2, its first corner at the top; every second corner is drawn ``inner``."""
    angles = [math.pi / 2 + 2 * math.pi * (place + turned) / corners for place in range(corners)]
    radii = [0.5 * (inner if place % 2 else 1.0) for place in range(corners)]
    return tuple(
        (radius * math.cos(angle), radius * math.sin(angle)) for radius, angle in zip(radii, angles, strict=True)
    )


def _turned(corners: Sequence[tuple[float, float]], quarters: int) -> Corners:
    """The same corners, turned to the left by so many right angles."""
    turned = tuple(corners)
    for _ in range(quarters):
        turned = tuple((-y, x) for x, y in turned)
    return turned


_UP = ((0.0, 0.5), (-0.5, -0.5), (0.5, -0.5))
_PLUS = tuple(
    (x / 6, y / 6)
    for x, y in (
        (-1, -3), (1, -3), (1, -1), (3, -1), (3, 1), (1, 1), (1, 3), (-1, 3), (-1, 1), (-3, 1), (-3, -1), (-1, -1)
    )
)  # fmt: skip
_CROSS = tuple(
    (x / 4, y / 4)
    for x, y in (
        (-1, -2), (0, -1), (1, -2), (2, -1), (1, 0), (2, 1), (1, 2), (0, 1), (-1, 2), (-2, 1), (-1, 0), (-2, -1)
    )
)  # fmt: skip
_HALF_DIAGONAL = math.sqrt(0.5)
_STAR = 0.381966

_CORNERS: Mapping[str, tuple[Corners, ...]] = {
    "^": (_UP,),
    "<": (_turned(_UP, 1),),
    "v": (_turned(_UP, 2),),
    ">": (_turned(_UP, 3),),
    "s": (((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)),),
    "D": (((0.0, -_HALF_DIAGONAL), (_HALF_DIAGONAL, 0.0), (0.0, _HALF_DIAGONAL), (-_HALF_DIAGONAL, 0.0)),),
    "d": (((0.0, -_HALF_DIAGONAL), (0.6 * _HALF_DIAGONAL, 0.0), (0.0, _HALF_DIAGONAL), (-0.6 * _HALF_DIAGONAL, 0.0)),),
    "P": (_PLUS,),
    "X": (_CROSS,),
    "*": (_regular(10, inner=_STAR),),
    "p": (_regular(5),),
    "h": (_regular(6),),
    "H": (_regular(6, turned=0.5),),
    "8": (_regular(8, turned=0.5),),
    "x": (((-0.5, -0.5), (0.5, 0.5)), ((-0.5, 0.5), (0.5, -0.5))),
    AT_MOST: (((0.0, 0.5), (-0.75, 0.0), (0.0, -0.5)),),
}
"""The corners of each shape's parts for a size of 1; y counts upwards."""

SHAPES = frozenset({*_ROUND, *_CORNERS})
"""All markers there are."""


@cache
def shape(marker: str, size: float) -> tuple[tuple[float, float, str], ...]:
    """The parts of a marker: how far right and down of the marked place each begins, and the path from there.

    Raises:
        KeyError: there is no such marker.
    """
    if marker in _ROUND:
        radius = size * _ROUND[marker]
        half = f"a{_short(radius)} {_short(radius)} 0 1 0 "
        return ((-radius, 0.0, f"{half}{_short(2 * radius)} 0{half}{_short(-2 * radius)} 0z"),)
    return tuple(_part([(size * x, -size * y) for x, y in part], marker in OPEN) for part in _CORNERS[marker])


def _part(corners: Sequence[tuple[float, float]], is_open: bool) -> tuple[float, float, str]:
    first, *others = corners
    path, last = "l", first
    for corner in others:
        path += f"{_short(corner[0] - last[0])} {_short(corner[1] - last[1])} "
        last = corner
    return (*first, path.rstrip() + ("" if is_open else "z"))


def _short(length: float) -> str:
    return f"{length:.2f}".rstrip("0").rstrip(".")

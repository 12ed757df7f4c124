"""The one back end: SVG, written as a chart is drawn.

A page holds hundreds of figures. Written directly, each takes a tenth of the time that matplotlib needs, and half the
bytes: a line of markers is one path, and no place has more digits than are visible. The drawing in a page, in an SVG
file and, read again by :mod:`~sciml_bench.charts.raster`, in a PNG or PDF file is therefore the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape as escape_markup

from sciml_bench.charts.markers import OPEN, shape
from sciml_bench.charts.style import INK

Ends = tuple[float, float, float, float]
"""The first and the second point of a straight line."""

Box = tuple[float, float, float, float]
"""Left, lower edge, width, height."""

PlotStyle = dict[str, Any]
"""Colours, widths and markers, in the words that matplotlib has for them."""

_POINTS = 72.0
# Characters that XML cannot represent, not even escaped.
_UNWRITABLE = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DOTTED = (1.0, 1.65)
_EDGE_PT = 1.0
# Drawing order where a look does not set it; as in matplotlib.
_BOXES, _LINES, _TEXT = 1.0, 2.0, 3.0
# The side of a tile in points, and the white lines in it.
_HATCHES = {
    "///": (6, "M-1 1L1-1M0 6L6 0M5 7L7 5"),
    "xxxx": (4, "M0 0L4 4M0 4L4 0"),
}


class Backend:
    """A figure without axes. Places and lengths are inches from its left lower corner; later drawings lie above
    earlier ones, unless their ``zorder`` is less. ``name`` begins the ids of its patterns.
    """

    def __init__(self, name: str):
        self._name = name
        self._size = (1.0, 1.0)
        self._elements: list[tuple[float, str]] = []
        self._patterns: dict[tuple[str, str], str] = {}

    def set_size(self, width: float, height: float) -> None:
        """Give it its size. To be done before anything is drawn, since y counts downwards in SVG."""
        assert not self._elements, "drawn before the size was known"
        self._size = (width, height)

    @property
    def size(self) -> tuple[float, float]:
        """Its width and height."""
        return self._size

    @property
    def size_points(self) -> tuple[str, str]:
        """Its width and height in points, as they are written."""
        return _place(self._size[0] * _POINTS), _place(self._size[1] * _POINTS)

    @property
    def drawn(self) -> str:
        """The elements that were drawn, from the lowest layer to the highest."""
        return "".join(element for _, element in sorted(self._elements, key=lambda item: item[0]))

    def line(self, xs: Sequence[float], ys: Sequence[float], look: PlotStyle) -> None:
        """A line with its markers."""
        places = [(x * _POINTS, self._y(y)) for x, y in zip(xs, ys, strict=True)]
        layer, line = look.get("zorder", _LINES), look.get("linestyle", "-")
        if line not in ("", "none") and len(places) > 1:
            steps = look.get("drawstyle") == "steps-post"
            self._add(layer, _stepped(places) if steps else _straight(places), _stroke(look))
        marker = look.get("marker", "")
        if marker:
            self._marks(layer, marker, _chosen(places, look.get("markevery", 1)), look)

    def segments(self, ends: Sequence[Ends], look: PlotStyle) -> None:
        """Straight lines of one look, in one path."""
        lines = ([(x0 * _POINTS, self._y(y0)), (x1 * _POINTS, self._y(y1))] for x0, y0, x1, y1 in ends)
        self._add(look.get("zorder", _BOXES), "".join(map(_straight, lines)), _stroke(look))

    def boxes(self, boxes: Sequence[Box], look: PlotStyle) -> None:
        """Rectangles of one look, in one path; their height may count downwards."""
        path = "".join(
            f"M{_place(x * _POINTS)} {_place(self._y(y))}h{_side(w * _POINTS)}v{_side(-h * _POINTS)}"
            f"h{_side(-w * _POINTS)}z"
            for x, y, w, h in boxes
        )
        colour, hatch = look["facecolor"], look.get("hatch", "")
        edge = look.get("linewidth", 0.0)
        styles = [] if hatch else [f"fill:{_colour(colour)}"]
        if edge:
            styles.append(f"stroke:{_colour(look['edgecolor'])};stroke-width:{edge:g}")
        fill = f' fill="url(#{self._pattern(colour, hatch)})"' if hatch else ""
        self._add(look.get("zorder", _BOXES), path, ";".join(styles) + _faint(look), fill)

    def text(self, x: float, y: float, text: str, look: PlotStyle) -> None:
        """One level line of text, written from its base line."""
        anchor = {"left": "", "center": ";text-anchor:middle", "right": ";text-anchor:end"}[look.get("ha", "left")]
        style = f"font-size:{look['fontsize']:g}px{anchor}"
        style += "".join(f";{css}:{look[name]}" for name, css in _FONT.items() if look.get(name, "normal") != "normal")
        if look["color"] != INK:
            style += f";fill:{look['color']}"
        at = f'x="{_place(x * _POINTS)}" y="{_place(self._y(y))}"'
        self._elements.append((look.get("zorder", _TEXT), f'<text {at} style="{style}">{escape(text)}</text>'))

    def _y(self, inches: float) -> float:
        return (self._size[1] - inches) * _POINTS

    def _add(self, layer: float, path: str, style: str, attributes: str = "") -> None:
        if path:
            styled = f' style="{style}"' if style else ""
            self._elements.append((layer, f'<path d="{path}"{styled}{attributes}/>'))

    def _marks(self, layer: float, marker: str, places: Sequence[tuple[float, float]], look: PlotStyle) -> None:
        size = look.get("markersize", 6.0)
        if marker == ".":
            # The round end of a stroke without length is the shortest path to a dot.
            path = "".join(f"M{_place(x)} {_place(y)}h0" for x, y in places)
            self._add(
                layer,
                path,
                f"stroke:{_colour(look['color'])};stroke-width:{size / 2 + _EDGE_PT:g};stroke-linecap:round",
            )
            return
        begun = ((x + right, y + down, part) for x, y in places for right, down, part in shape(marker, size))
        path = "".join(f"M{_place(x)} {_place(y)}{part}" for x, y, part in begun)
        self._add(layer, path, _face(look, marker))

    def _pattern(self, colour: str, hatch: str) -> str:
        """The id of a pattern, which is drawn at its first use."""
        if (colour, hatch) not in self._patterns:
            name = f"{self._name}-hatch{len(self._patterns)}"
            self._patterns[colour, hatch] = name
            side, lines = _HATCHES[hatch]
            self._elements.append(
                (-1.0, f'<pattern id="{name}" width="{side}" height="{side}" patternUnits="userSpaceOnUse">'
                 f'<path d="M0 0h{side}v{side}h-{side}z" style="fill:{colour}"/>'
                 f'<path d="{lines}" style="stroke:#fff;stroke-width:1"/></pattern>')
            )  # fmt: skip
        return self._patterns[colour, hatch]


def escape(text: str) -> str:
    """Text as XML holds it: markup is escaped, and what no document can hold becomes a blank."""
    return escape_markup(_UNWRITABLE.sub(" ", text))


_FONT = {"fontweight": "font-weight", "fontstyle": "font-style"}


def _place(points: float) -> str:
    """To a tenth of a point."""
    text = f"{points:.1f}"
    return text[:-2] if text.endswith(".0") else text


def _side(points: float) -> str:
    """To a hundredth of a point: a thin box shall not vanish."""
    return f"{points:.2f}".rstrip("0").rstrip(".")


def _straight(places: Sequence[tuple[float, float]]) -> str:
    return "M" + " ".join(f"{_place(x)} {_place(y)}" for x, y in places)


def _stepped(places: Sequence[tuple[float, float]]) -> str:
    (x, y), *others = places
    return f"M{_place(x)} {_place(y)}" + "".join(f"H{_place(x)}V{_place(y)}" for x, y in others)


def _colour(colour: str) -> str:
    return "currentColor" if colour == INK else colour


def _faint(look: PlotStyle) -> str:
    return f";opacity:{look['alpha']:g}" if "alpha" in look else ""


def _stroke(look: PlotStyle) -> str:
    width = look.get("linewidth", 1.5)
    dashes = "".join(_dashes(look.get("linestyle", "-"), width))
    return f"fill:none;stroke:{_colour(look['color'])};stroke-width:{width:g}{dashes}{_faint(look)}"


def _dashes(style: object, width: float) -> Iterator[str]:
    """Dashes are multiples of the width of their line."""
    lengths = _DOTTED if style == ":" else style[1] if isinstance(style, tuple) else ()
    if lengths:
        yield f";stroke-dasharray:{','.join(_side(length * width) for length in lengths)}"


def _face(look: PlotStyle, marker: str) -> str:
    face = "none" if marker in OPEN else look.get("markerfacecolor", look["color"])
    edge = look.get("markeredgecolor", look["color"])
    return f"fill:{_colour(face)};stroke:{_colour(edge)};stroke-width:{_EDGE_PT:g}"


def _chosen(places: Sequence[tuple[float, float]], every: int | slice | list[int]) -> Sequence[tuple[float, float]]:
    """The marked places: every n-th, the places of a slice, or the places with these numbers."""
    if isinstance(every, int):
        return places[::every]
    return places[every] if isinstance(every, slice) else [places[place] for place in every]

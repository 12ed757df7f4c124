"""A drawing of :class:`~sciml_bench.charts.backend.Backend` as a PNG or PDF picture, made by matplotlib.

Only what the back end writes is understood; all else is an error, so that nothing is left out in silence.

matplotlib stays because it brings its font, needs nothing of the system, and gives the same bytes everywhere. CairoSVG
needs a libcairo of the system, resvg has no PDF, the only binding to svg2pdf has one release, vl-convert takes 84 MB,
and all of them take whatever font they find.
"""

from __future__ import annotations

import io
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, Transform

from sciml_bench.charts.style import INK

PNG_DPI = 200

_SETTINGS: dict[Any, Any] = {
    # Text from problems and libraries is text: nothing between dollar signs is mathematics.
    "text.parse_math": False,
    "text.usetex": False,
    "font.family": ["DejaVu Sans"],
    "savefig.facecolor": "white",
    # Dashes are points.
    "lines.scale_dashes": False,
    "pdf.fonttype": 42,
    "path.simplify": True,
}
# Each format's metadata on when and how it was made.
_UNDATED: Mapping[str, Mapping[str, None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
}
_CANVASES = {".png": FigureCanvasAgg, ".pdf": FigureCanvasPdf}

_SVG = "{http://www.w3.org/2000/svg}"
_POINTS = 72.0
# Elements that say nothing about the picture; the ground is the figure's own.
_WORDS = {"title", "desc", "rect"}
_PATTERN = re.compile(r"url\(#(.+)\)")
_STEP = re.compile(r"([A-Za-z])([^A-Za-z]*)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
# A stroke without length has round ends in SVG, and vanishes in Agg; so would one that is moved onto a pixel.
_SPECK = 0.01
_ANCHORS = {"start": "left", "middle": "center", "end": "right"}
_KNOWN = frozenset({
    "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity",
    "font-size", "font-weight", "font-style", "text-anchor",
})  # fmt: skip

Point = tuple[float, float]


@dataclass(frozen=True)
class Tile:
    """A pattern: the side of its tile in points, the colour of its ground, and the lines on it."""

    side: float
    ground: str
    lines: Path
    look: Mapping[str, str]


@dataclass
class Outline:
    """A path while it is read: its points and what joins them, in points from the left upper corner."""

    points: list[Point] = field(default_factory=list[Point])
    codes: list[int] = field(default_factory=list[int])
    start: Point = (0.0, 0.0)

    @property
    def last(self) -> Point:
        """The position of the pen."""
        return self.points[-1] if self.points else (0.0, 0.0)

    def add(self, code: int, point: Point) -> None:
        """Go to a point."""
        self.points.append(point)
        self.codes.append(code)

    def step(self, command: str, numbers: list[float]) -> None:
        """One command of a path.

        Raises:
            ValueError: the back end writes no such command.
        """
        (x, y), pairs = self.last, list(zip(numbers[::2], numbers[1::2], strict=False))
        match command:
            case "M":
                self.start = pairs[0]
                for code, point in zip([Path.MOVETO] + [Path.LINETO] * len(pairs), pairs, strict=False):
                    self.add(int(code), point)
            case "L":
                for point in pairs:
                    self.add(int(Path.LINETO), point)
            case "l":
                for right, down in pairs:
                    self.add(int(Path.LINETO), (self.last[0] + right, self.last[1] + down))
            case "H" | "h":
                self.add(int(Path.LINETO), (numbers[0] if command == "H" else x + (numbers[0] or _SPECK), y))
            case "V" | "v":
                self.add(int(Path.LINETO), (x, numbers[0] if command == "V" else y + numbers[0]))
            case "a":
                self._half_circle(numbers[5])
            case "z":
                self.add(int(Path.CLOSEPOLY), self.start)
            case _:
                raise ValueError(f"no command of our drawings: {command!r}")

    def _half_circle(self, right: float) -> None:
        """Half a circle to a point ``right`` further right."""
        x, y = self.last
        half = Path.arc(180, 360)
        corners = np.asarray(half.vertices) * (right / 2) + (x + right / 2, y)
        for code, corner in zip(np.asarray(half.codes)[1:], corners[1:], strict=True):
            self.add(int(code), (float(corner[0]), float(corner[1])))


def picture(svg: str, suffix: str) -> bytes:
    """A drawing as the bytes of a file of this suffix, ``.png`` or ``.pdf``; the same every time.

    Raises:
        ValueError: it holds what the back end does not write.
    """
    with _settings():
        file = io.BytesIO()
        dpi = PNG_DPI if suffix == ".png" else _POINTS
        canvas = _CANVASES[suffix](figure_of(svg))
        canvas.print_figure(file, format=suffix[1:], metadata=dict(_UNDATED[suffix]), dpi=dpi)
        return file.getvalue()


@contextmanager
def _settings() -> Iterator[None]:
    """Our settings, whatever a matplotlibrc or a notebook has set."""
    changed: dict[Any, Any] = {
        name: value
        for name, value in matplotlib.rcParamsDefault.items()
        if not name.startswith("backend") and matplotlib.rcParams[name] != value
    }
    with matplotlib.rc_context({**changed, **_SETTINGS}), warnings.catch_warnings():
        # Letters missing from the font are drawn as boxes in files; in a page the browser finds a font.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def figure_of(svg: str) -> Figure:
    """A drawing as a figure.

    Raises:
        ValueError: it holds what the back end does not write.
    """
    root = ET.fromstring(svg)
    width, height = (float(size) for size in root.attrib["viewBox"].split()[2:])
    figure = Figure(figsize=(width / _POINTS, height / _POINTS), facecolor="white")
    flipped = Affine2D().scale(1 / _POINTS, -1 / _POINTS).translate(0, height / _POINTS) + figure.dpi_scale_trans
    tiles = {tag.attrib["id"]: _tile(tag) for tag in root.iter(f"{_SVG}pattern")}
    for layer, tag in enumerate(root):
        match tag.tag.removeprefix(_SVG):
            case "path":
                _add_path(figure, tag, tiles, flipped, layer)
            case "text":
                _add_text(figure, tag, flipped, layer)
            case "pattern":
                pass
            case name if name in _WORDS:
                pass
            case name:
                raise ValueError(f"no element of our drawings: {name!r}")
    return figure


def _tile(tag: ET.Element) -> Tile:
    ground, lines = tag
    return Tile(float(tag.attrib["width"]), _look(ground)["fill"], _path(lines.attrib["d"]), _look(lines))


def _look(tag: ET.Element) -> dict[str, str]:
    """The properties of an element's style.

    Raises:
        ValueError: the back end writes no such property.
    """
    pairs = [item.split(":", 1) for item in tag.get("style", "").split(";") if item]
    found = {name: INK if value == "currentColor" else value for name, value in pairs}
    if not found.keys() <= _KNOWN:
        raise ValueError(f"no property of our drawings: {', '.join(found.keys() - _KNOWN)}")
    return found


def _path(text: str) -> Path:
    outline = Outline()
    for command, numbers in _STEP.findall(text):
        outline.step(command, [float(number) for number in _NUMBER.findall(numbers)])
    return Path(np.reshape(outline.points, (-1, 2)), outline.codes)


def _add_path(figure: Figure, tag: ET.Element, tiles: Mapping[str, Tile], at: Transform, layer: float) -> None:
    look, path = _look(tag), _path(tag.attrib["d"])
    pattern = _PATTERN.fullmatch(tag.get("fill", ""))
    tile = tiles[pattern[1]] if pattern else None
    fill = tile.ground if tile else look.get("fill", INK)
    figure.add_artist(_patch(path, fill, look, at, layer))
    if tile:
        lines = _patch(_tiled(path, tile), "none", tile.look, at, layer)
        figure.add_artist(lines)
        lines.set_clip_path(path, at)


def _patch(path: Path, fill: str, look: Mapping[str, str], at: Transform, layer: float) -> PathPatch:
    stroke = look.get("stroke", "none")
    dot = look.get("stroke-linecap") == "round"
    dashes = [float(length) for length in look.get("stroke-dasharray", "").split(",") if length]
    return PathPatch(
        path,
        transform=at,
        zorder=layer,
        facecolor=fill,
        edgecolor=stroke,
        linewidth=float(look.get("stroke-width", 1)) if stroke != "none" else 0.0,
        linestyle=(0, dashes) if dashes else "-",
        capstyle="round" if dot else "butt",
        snap=False if dot else None,
        joinstyle="round",
        alpha=float(look.get("opacity", 1)),
    )


def _tiled(path: Path, tile: Tile) -> Path:
    """The lines of all tiles that touch a part of a path."""
    corners, codes = np.asarray(tile.lines.vertices), tile.lines.codes
    places = sorted({place for part in _parts(path) for place in _places(part, tile.side)})
    return Path(np.concatenate([corners + place for place in places]), np.tile(np.asarray(codes), len(places)))


def _parts(path: Path) -> Iterator[np.ndarray]:
    """The corners of each part of a path."""
    starts = np.flatnonzero(np.asarray(path.codes) == Path.MOVETO)
    yield from np.split(np.asarray(path.vertices), starts[1:])


def _places(corners: np.ndarray, side: float) -> Iterator[Point]:
    low, high = np.floor(corners.min(axis=0) / side), np.ceil(corners.max(axis=0) / side)
    for column in np.arange(low[0], high[0]):
        for line in np.arange(low[1], high[1]):
            yield float(column * side), float(line * side)


def _add_text(figure: Figure, tag: ET.Element, at: Transform, layer: float) -> None:
    look = _look(tag)
    figure.text(
        float(tag.attrib["x"]),
        float(tag.attrib["y"]),
        tag.text or "",
        transform=at,
        zorder=layer,
        color=look.get("fill", INK),
        fontsize=float(look["font-size"].removesuffix("px")),
        fontweight=look.get("font-weight", "normal"),
        fontstyle=look.get("font-style", "normal"),
        ha=_ANCHORS[look.get("text-anchor", "start")],
        va="baseline",
    )

"""Charts as SVG inside a page, and as PNG, SVG or PDF files. The same chart gives the same bytes every time."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from sciml_bench.errors import StoreError, UsageError
from sciml_bench.report.charts.chart import Chart
from sciml_bench.report.charts.palette import INK
from sciml_bench.report.charts.pane import TEXT_PT

PNG_DPI = 200

_LOOK: dict[Any, Any] = {
    # Text from problems and libraries is text: nothing between dollar signs is mathematics.
    "text.parse_math": False,
    "text.usetex": False,
    "font.family": ["DejaVu Sans"],
    "font.size": TEXT_PT,
    "text.color": INK,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "path.simplify": True,
}

# A matplotlibrc of the user's does not change our figures.
_FACTORY: dict[Any, Any] = {
    name: value
    for name, value in matplotlib.rcParamsDefault.items()
    if not name.startswith("backend") and matplotlib.rcParams[name] != value
}

# What each format says of when and with what it was made.
_UNDATED: Mapping[str, Mapping[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    ".pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
}
_CANVASES = {".png": FigureCanvasAgg, ".svg": FigureCanvasSVG, ".pdf": FigureCanvasPdf}

SUFFIXES = tuple(_CANVASES)
"""The formats of files, by their suffix."""

_TAG = re.compile(r"<[^>]*>")
# Ids of what is drawn again by reference; matplotlib makes them from the salt and what is drawn.
_REFERRED = re.compile(r"[a-z][0-9a-f]{10}")
_ID = re.compile(r' id="([^"]*)"')
_TURNED_BY_NOTHING = re.compile(r' transform="rotate\(-0 [^"]*\)"')
_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_FAMILY = re.compile(r"font-family: [^;\"]*(?:; )?")


def save(chart: Chart, path: Path) -> None:
    """Write a chart to a file; its suffix names the format: ``.png``, ``.svg`` or ``.pdf``.

    Raises:
        UsageError: the suffix names no format.
        StoreError: the file cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in _CANVASES:
        raise UsageError(f"{path}: figures are written as {', '.join(SUFFIXES)}; end the name with one of them")
    data = _bytes(chart, suffix)
    try:
        path.write_bytes(data)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}. Choose another file with -o.") from error


def svg(chart: Chart) -> str:
    """A chart for inlining in a page: an ``svg`` element that says what it shows, in the colour of the text around it.

    It has no prolog, no style sheet and no metadata; its text is text, in the page's font. Its ids are its name, words
    after its name, and hashes salted with its name, so that many figures fit into one page.
    """
    drawn = _bytes(chart, ".svg", facecolor="none").decode()
    start = drawn.index(">", drawn.index("<svg")) + 1
    body = drawn[start : drawn.rindex("</svg>")]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, count=1, flags=re.DOTALL)
    body = re.sub(r'<defs>\s*<style type="text/css">.*?</style>\s*</defs>', "", body, count=1, flags=re.DOTALL)
    kept: list[bool] = []
    body = _TAG.sub(lambda tag: _tidied(tag[0], kept), body)
    body = re.sub(r">\s+<", "><", body).strip()
    return f"{_opening(chart, drawn[:start])}{body}</svg>"


def _opening(chart: Chart, drawn: str) -> str:
    box = re.search(r'viewBox="([^"]*)"', drawn)
    assert box is not None, "matplotlib writes the size of every figure"
    width, height = box[1].split()[2:]
    name = chart.name
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" id="{name}" class="chart" role="img" viewBox="{box[1]}" '
        f'width="{width}" height="{height}" aria-labelledby="{name}-title {name}-desc" '
        'font-family="sans-serif" stroke-linejoin="round" stroke-linecap="butt">'
        f'<title id="{name}-title">{escape(chart.title)}</title><desc id="{name}-desc">{escape(chart.alt)}</desc>'
    )


def _tidied(tag: str, kept: list[bool]) -> str:
    """One tag in the page's colour and font, with no more decimals than are seen; a group that says nothing is left
    out. ``kept`` tells of the groups around it, outermost first, whether they were kept."""
    if tag.startswith("</"):
        return tag if tag != "</g>" or kept.pop() else ""
    tag = _ID.sub(lambda found: found[0] if _REFERRED.fullmatch(found[1]) else "", tag)
    tag = _TURNED_BY_NOTHING.sub("", tag).replace(INK, "currentColor").replace("xlink:href", "href")
    if tag.startswith("<text"):
        tag = _FAMILY.sub("", tag)
    if tag == "<g/>":
        return ""
    if tag.startswith(("<g>", "<g ")) and not tag.endswith("/>"):
        kept.append(tag != "<g>")
        return tag if kept[-1] else ""
    return _NUMBER.sub(_rounded, tag.replace("\n", ""))


def _rounded(number: re.Match[str]) -> str:
    """To a hundredth of a point; to a tenth from 10 on, where it is a place and not the shape of a marker."""
    value = float(number[0])
    return (f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}").rstrip("0").rstrip(".")


def _bytes(chart: Chart, suffix: str, facecolor: str = "white") -> bytes:
    with _look(chart):
        figure = Figure(facecolor=facecolor)
        chart.draw(figure)
        canvas = _CANVASES[suffix](figure)
        file = io.BytesIO()
        dpi = PNG_DPI if suffix == ".png" else 72
        canvas.print_figure(file, format=suffix[1:], metadata=dict(_UNDATED[suffix]), facecolor=facecolor, dpi=dpi)
        return file.getvalue()


@contextmanager
def _look(chart: Chart) -> Iterator[None]:
    look = {**_FACTORY, **_LOOK, "svg.hashsalt": chart.name}
    with matplotlib.rc_context(look), warnings.catch_warnings():
        # Letters that the font lacks are drawn as boxes in files; in a page the browser finds a font.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield

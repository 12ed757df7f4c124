"""Charts as SVG, PNG or PDF files, all of the same drawing. The same chart gives the same bytes every time."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf

from sciml_bench.charts.chart import Chart
from sciml_bench.charts.svg_figure import figure_of
from sciml_bench.errors import StoreError, UsageError

PNG_DPI = 200

_LOOK: dict[Any, Any] = {
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

# A matplotlibrc of the user's does not change our figures.
_FACTORY: dict[Any, Any] = {
    name: value
    for name, value in matplotlib.rcParamsDefault.items()
    if not name.startswith("backend") and matplotlib.rcParams[name] != value
}

# What each format says of when and with what it was made.
_UNDATED: Mapping[str, Mapping[str, None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
}
_CANVASES = {".png": FigureCanvasAgg, ".pdf": FigureCanvasPdf}

SUFFIXES = (".png", ".svg", ".pdf")
"""The formats of files, by their suffix."""


def save(chart: Chart, path: Path) -> None:
    """Write a chart to a file; its suffix names the format: ``.png``, ``.svg`` or ``.pdf``.

    Raises:
        UsageError: the suffix names no format.
        StoreError: the file cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{path}: figures are written as {', '.join(SUFFIXES)}; end the name with one of them")
    data = _bytes(chart, suffix)
    try:
        path.write_bytes(data)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}. Choose another file with -o.") from error


def _bytes(chart: Chart, suffix: str) -> bytes:
    svg = chart.svg_file()
    if suffix == ".svg":
        return svg.encode()
    with _look():
        file = io.BytesIO()
        dpi = PNG_DPI if suffix == ".png" else 72
        canvas = _CANVASES[suffix](figure_of(svg))
        canvas.print_figure(file, format=suffix[1:], metadata=dict(_UNDATED[suffix]), dpi=dpi)
        return file.getvalue()


@contextmanager
def _look() -> Iterator[None]:
    with matplotlib.rc_context({**_FACTORY, **_LOOK}), warnings.catch_warnings():
        # Letters that the font lacks are drawn as boxes in files; in a page the browser finds a font.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield

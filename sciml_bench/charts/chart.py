"""The chart: one figure as data, words and a way to draw it."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sciml_bench.charts.backend import Backend, escape
from sciml_bench.charts.style import INK
from sciml_bench.errors import StoreError, UsageError

SUFFIXES = (".png", ".svg", ".pdf")
"""The formats of files, by their suffix."""

_LONGEST_LABEL = 80
_WHITE = '<rect width="100%" height="100%" fill="#fff"/>'


@dataclass(frozen=True)
class Chart:
    """One figure, its data and its words. Nothing is drawn before ``draw`` is called.

    ``name`` is unique within a page and safe as an id; ``alt`` describes the chart in words, with the numbers that
    matter; ``method`` describes the measurement. ``columns`` name the data with its units. Each of ``rows`` ends with
    its records, as ``cell_id/block/attempt``, separated by spaces.
    """

    kind: str
    name: str
    title: str
    alt: str
    method: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    draw: Callable[[Backend], None]

    def svg(self) -> str:
        """The drawing for a page: an ``svg`` element with a description, in the colour and the font of the text around
        it.

        It has no prolog, no style sheet and no metadata. Its ids are the chart's name and words after it, so that many
        figures fit into one page.
        """
        return self._element("", 'font-family="sans-serif"', "")

    def svg_file(self) -> str:
        """Return the drawing as a separate document, in ink on white; of the size in which it is drawn."""
        look = f'color="{INK}" font-family="\'DejaVu Sans\', sans-serif"'
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{self._element("pt", look, _WHITE)}\n'

    def _repr_svg_(self) -> str:
        """The drawing, for notebooks."""
        return self.svg_file().partition("?>")[2].lstrip()

    def save(self, path: Path | str) -> None:
        """Write the drawing to a file; its suffix names the format: ``.png``, ``.svg`` or ``.pdf``. The same chart
        gives the same bytes every time.

        Raises:
            UsageError: the suffix names no format.
            StoreError: the file cannot be written.
        """
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix not in SUFFIXES:
            raise UsageError(f"{path}: figures are written as {', '.join(SUFFIXES)}; end the name with one of them")
        try:
            path.write_bytes(self._bytes(suffix))
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror or error}. Choose another file with -o.") from error

    def _bytes(self, suffix: str) -> bytes:
        if suffix == ".svg":
            return self.svg_file().encode()
        from sciml_bench.charts.raster import picture

        return picture(self.svg_file(), suffix)

    def _element(self, unit: str, look: str, ground: str) -> str:
        backend = Backend(self.name)
        self.draw(backend)
        width, height = backend.size_points
        name = self.name
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" id="{name}" class="chart" role="img" '
            f'viewBox="0 0 {width} {height}" width="{width}{unit}" height="{height}{unit}" '
            f'aria-labelledby="{name}-title {name}-desc" fill="currentColor" {look} '
            'stroke-linejoin="round" stroke-linecap="butt">'
            f'<title id="{name}-title">{escape(self.title)}</title><desc id="{name}-desc">{escape(self.alt)}</desc>'
            f"{ground}{backend.drawn}</svg>"
        )


def chart_name(kind: str, *words: str) -> str:
    """An id made of a kind and names that may hold anything: two different names never give the same id."""
    return "-".join([kind, *(_safe(word) for word in words if word)])


def _safe(word: str) -> str:
    safe = re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")[:60]
    if safe == word:
        return safe
    return f"{safe or 'x'}-{hashlib.sha256(word.encode(errors='replace')).hexdigest()[:6]}"


def clean(text: str, longest: int = _LONGEST_LABEL) -> str:
    """One line that can be drawn: control characters become blanks, and a text that is too long ends in an ellipsis."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * longest]).split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def charts_document(charts: Iterable[Chart]) -> dict[str, Any]:
    """Everything but the drawing. Rows are objects; a number that JSON has no word for is ``None``."""
    return {
        "charts": [
            {
                "kind": chart.kind,
                "name": chart.name,
                "title": chart.title,
                "alt": chart.alt,
                "method": chart.method,
                "columns": list(chart.columns),
                "rows": [
                    {name: _plain(value) for name, value in zip(chart.columns, row, strict=True)} for row in chart.rows
                ],
            }
            for chart in charts
        ]
    }


def _plain(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value

"""What charts are drawn on: a file, by matplotlib, or a page, as SVG. Both take the same few strokes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

Ends = tuple[float, float, float, float]
"""The first and the second point of a straight line."""

Box = tuple[float, float, float, float]
"""Left, lower edge, width, height."""

Look = dict[str, Any]
"""Colours, widths and markers in matplotlib's words."""


class Backend(Protocol):
    """A figure without axes. Places and lengths are inches from its left lower corner; what is drawn later lies above,
    unless its ``zorder`` is less."""

    def set_size(self, width: float, height: float) -> None:
        """Give it its size."""

    @property
    def size(self) -> tuple[float, float]:
        """Its width and height."""
        ...

    def line(self, xs: Sequence[float], ys: Sequence[float], look: Look) -> None:
        """A line with its markers."""

    def segments(self, ends: Sequence[Ends], look: Look) -> None:
        """Straight lines of one look."""

    def boxes(self, boxes: Sequence[Box], look: Look) -> None:
        """Rectangles of one look; their height may count downwards."""

    def text(self, x: float, y: float, text: str, look: Look) -> None:
        """One level line of text, written from its base line."""

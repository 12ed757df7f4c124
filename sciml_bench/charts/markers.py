"""The shapes of markers as paths of SVG, drawn around the place they mark. Their names are matplotlib's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache

Corners = tuple[tuple[float, float], ...]

AT_MOST = "at most"
"""The marker next to a point whose value is a bound: an arrow to smaller values."""

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
    """Rotate the corners counter-clockwise by ``n`` right angles."""
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

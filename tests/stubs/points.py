"""Points that differ from others in some fields, and records as earlier schemas have them."""

from __future__ import annotations

import dataclasses
from typing import Any

from sciml_bench.record.migration import PLACES_OF_3
from sciml_bench.record.point import PointResult


def changed(
    point: PointResult, *, solve: dict[str, Any] | None = None, gradient: dict[str, Any] | None = None, **fields: Any
) -> PointResult:
    """A point with other fields, and other fields of its halves."""
    return dataclasses.replace(
        point,
        solve=dataclasses.replace(point.solve, **(solve or {})),
        gradient=dataclasses.replace(point.gradient, **(gradient or {})),
        **fields,
    )


def in_schema(data: dict[str, Any], schema: int) -> dict[str, Any]:
    """A record of the newest schema, as JSON values, with its fields where schemas before 4 have them."""
    return data | {"schema": schema, "points": [_flat(point) for point in data["points"]]}


def _flat(point: dict[str, Any]) -> dict[str, Any]:
    flat = {key: value for key, value in point.items() if key not in PLACES_OF_3}
    for half, places in PLACES_OF_3.items():
        flat |= {old: point[half][name] for name, old in places.items()}
    return flat

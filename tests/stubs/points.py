"""Points that differ from others in some fields."""

from __future__ import annotations

import dataclasses
from typing import Any

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

"""A published claim under test: which cells of a run are which side of it, and at what tolerances they are measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sciml_bench.task import CALLS, Point


@dataclass(frozen=True)
class Claimed:
    """``cells`` maps each side, such as ``published.fast``, to the label of its cell.

    ``points`` are those of the cells that are measured at the tolerances of the claim, by label: at these alone, or,
    where a cell is a side when fair, too, on the ladder as well. The others have the ladder of the profile. ``calls``
    are what the cells of its quantity are measured for.
    """

    claim: str
    cells: Mapping[str, str]
    points: Mapping[str, tuple[Point, ...]] = field(default_factory=dict[str, tuple[Point, ...]])
    calls: tuple[str, ...] = CALLS

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, as kept in the plan."""
        points = {label: [[point.rtol, point.atol] for point in points] for label, points in self.points.items()}
        return {"claim": self.claim, "cells": dict(self.cells), "points": points}

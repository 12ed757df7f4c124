"""The purpose of a run beyond its cells: a sweep over sizes, published claims under test, or advice on one problem."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sciml_bench.record.task import CALLS, Point

AXES = {
    "batch": "trajectories",
    "width": "width of the hidden layers",
    "points": "points of each grid",
    "span": "multiple of the time span",
    "tolerance": "1/rtol",
    "parameters": "parameters",
}
"""The axes of a sweep, and the meaning of their sizes."""


@dataclass(frozen=True)
class Sweep:
    """``sizes`` maps the problems of a run to their sizes on the axis ``over``; ``of`` is the problem that they vary.

    A sweep over tolerances has one problem, and its sizes are the tolerances of the ladder.
    """

    over: str
    of: str
    sizes: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, as kept in the plan."""
        return {"over": self.over, "of": self.of, "unit": AXES[self.over], "sizes": dict(self.sizes)}


@dataclass(frozen=True)
class Claimed:
    """``sides`` maps each claim's id to its sides, such as ``published.fast``, and these to the labels of their cells,
    which are several if a side is what its library recommends.

    ``points`` are the points of cells that are measured at the tolerances of a claim, by label: at these alone, or on
    the ladder as well if a cell is also a side when fair. The others have the ladder of the profile. ``calls`` are the
    measured calls for each quantity.
    """

    sides: Mapping[str, Mapping[str, tuple[str, ...]]]
    points: Mapping[str, tuple[Point, ...]] = field(default_factory=dict[str, tuple[Point, ...]])
    calls: tuple[str, ...] = CALLS

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, as kept in the plan."""
        points = {label: [[point.rtol, point.atol] for point in points] for label, points in self.points.items()}
        sides = {
            claim: {name: cells[0] if len(cells) == 1 else list(cells) for name, cells in of.items()}
            for claim, of in self.sides.items()
        }
        return {"claims": sides, "points": points}


@dataclass(frozen=True)
class Advised:
    """The question of advice: which way takes the least time for ``count`` calls at a relative error of ``accuracy``.

    ``call`` is a gradient or a solve. ``points`` are the tolerances of each cell, by label, at which it reaches the
    accuracy. ``stage`` is :data:`SCREEN` for the screening of all ways, and :data:`RACE` for the competition of the
    best. ``requested`` is the accuracy of the question, if no way reaches it.
    """

    stage: str
    call: str
    count: int
    accuracy: float
    points: Mapping[str, tuple[Point, ...]] = field(default_factory=dict[str, tuple[Point, ...]])
    requested: float | None = None

    @property
    def digits(self) -> float:
        """The accuracy in digits."""
        return -math.log10(self.accuracy)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, as kept in the plan."""
        points = {label: [[point.rtol, point.atol] for point in points] for label, points in self.points.items()}
        return {**{name: getattr(self, name) for name in ("stage", "call", "count", "accuracy")}, "points": points}


SCREEN, RACE = "screen", "race"
"""The two stages of advice."""


FOLDER = "claims"
"""The folder of a run's claim files, so that its results say what they test."""


def kept_file(folder: Path, name: str) -> Path:
    """Path of a claim's file in the folder of its run."""
    return folder / FOLDER / f"{name}.toml"

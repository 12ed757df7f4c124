"""What a run is for beyond its cells: a sweep over sizes, published claims under test, or advice on one problem."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sciml_bench.record.task import CALLS, Point

# A sweep: one problem at several sizes in one run, and which of its problems stands for which size.

AXES = {
    "batch": "trajectories",
    "width": "width of the hidden layers",
    "points": "points of each grid",
    "span": "multiple of the time span",
    "tolerance": "1/rtol",
    "parameters": "parameters",
}
"""What a sweep goes over, and what its sizes count."""


@dataclass(frozen=True)
class Sweep:
    """``sizes`` maps the problems of a run to their sizes on the axis ``over``; ``of`` is the problem that they vary.

    A sweep over tolerances has one problem, and its sizes are those of the ladder.
    """

    over: str
    of: str
    sizes: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, as kept in the plan."""
        return {"over": self.over, "of": self.of, "unit": AXES[self.over], "sizes": dict(self.sizes)}


@dataclass(frozen=True)
class Claimed:
    """``sides`` maps each claim's id to its sides, such as ``published.fast``, and these to the labels of their cells.

    ``points`` are those of the cells that are measured at the tolerances of a claim, by label: at these alone, or,
    where a cell is a side when fair, too, on the ladder as well. The others have the ladder of the profile. ``calls``
    are what the cells of their quantity are measured for.
    """

    sides: Mapping[str, Mapping[str, str]]
    points: Mapping[str, tuple[Point, ...]] = field(default_factory=dict[str, tuple[Point, ...]])
    calls: tuple[str, ...] = CALLS

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, as kept in the plan."""
        points = {label: [[point.rtol, point.atol] for point in points] for label, points in self.points.items()}
        return {"claims": {claim: dict(sides) for claim, sides in self.sides.items()}, "points": points}


@dataclass(frozen=True)
class Advised:
    """What advice is asked for: which way takes the least time for ``count`` calls at a relative error of ``accuracy``.

    ``call`` is a gradient or a solve. ``points`` are the tolerances of each cell, by label, at which it reaches that.
    ``stage`` is :data:`SCREEN` if all ways are looked at, and :data:`RACE` if those that are near the best compete.
    """

    stage: str
    call: str
    count: int
    accuracy: float
    points: Mapping[str, tuple[Point, ...]] = field(default_factory=dict[str, tuple[Point, ...]])

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


def claimed_sides(plan: Mapping[str, Any]) -> dict[str, Mapping[str, str]]:
    """The sides of each claim that a written plan tests, by the claim's id; empty where it tests none."""
    claimed = plan.get("claimed")
    if claimed is None:
        return {}
    if "claim" in claimed:
        # As earlier versions wrote it, with one claim.
        return {claimed["claim"]: claimed.get("cells", {})}
    return dict(claimed.get("claims", {}))


FOLDER = "claims"
"""Where a run keeps the files of its claims, so that its folder tells what they claim."""

_FILE = "claim.toml"
"""The file of a run's one claim, as earlier versions wrote it."""


def kept_file(folder: Path, plan: Mapping[str, Any], name: str) -> Path:
    """Where the folder of a run keeps the file of one of the claims of its plan."""
    return folder / _FILE if "claim" in plan["claimed"] else folder / FOLDER / f"{name}.toml"

"""A sweep: one problem at several sizes in one run, and which of its problems stands for which size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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

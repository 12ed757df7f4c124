"""The style of an adapter in figures: a colour and markers, which may come from the plan of a stranger."""

from __future__ import annotations

import re
from dataclasses import dataclass

MARKERS = "osD^v<>pPXh*H8d"
"""The markers that figures can draw, by their names in matplotlib."""


@dataclass(frozen=True)
class PlotStyle:
    """The style of an adapter in figures: a ``colour`` as ``#rrggbb``, and the ``markers`` of its cells, one matplotlib
    letter each. Raises ``ValueError`` for others: plans come from strangers, and their text gets into figures."""

    colour: str
    markers: str

    def __post_init__(self) -> None:
        if not re.fullmatch("#[0-9a-f]{6}", self.colour):
            raise ValueError(f"a colour is written as '#0072b2', not {self.colour!r}")
        if not self.markers or set(self.markers) - set(MARKERS):
            raise ValueError(f"markers are letters out of '{MARKERS}', not {self.markers!r}")

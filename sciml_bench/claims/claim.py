"""A published claim about speed: what was said, where, under which conditions, and what is known to be wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from sciml_bench.claims.condition import Conditions
from sciml_bench.task import CALLS, SOLVE, Point

QUANTITIES = (
    "solve", "gradient", "first_solve", "first_gradient", "training_step", "training", "steps", "evaluations",
    "backward_evaluations",
)  # fmt: skip
"""What a claim may be about; the last three are counts, which no hardware changes: of a solve, and of the backward
solve of a gradient."""

LATER = {"first_solve": "solve", "first_gradient": "gradient"}
"""First calls that may be claimed against later ones of the same cell, and what these are."""

COUNTS = ("steps", "evaluations", "backward_evaluations")

RATIO, AT_LEAST, UP_TO, DIRECTION = "ratio", "at_least", "up_to", "direction"
NO_FIGURE = "none"
OF_SEVERAL = {
    "median": "a median over problems", "mean": "a mean over problems", "sizes": "a figure over a range of sizes",
    NO_FIGURE: "a text without a figure",
}  # fmt: skip
KINDS = (RATIO, AT_LEAST, UP_TO, DIRECTION, *OF_SEVERAL)
"""What a claimed ratio is: one figure or a range; a lower bound; the largest of several; only which side is ahead; or
something on which no single problem can rule, such as a figure that several problems or sizes have together."""

FACTOR = 1.5
"""A measured ratio within this factor of the claimed one confirms it, unless the file states another."""

_OF_SOLVES = ("solve", "first_solve", "steps", "evaluations")

SIDES = ("fast", "slow")

ONE_SIDE = ("cell",)
"""The only side of a claim that holds the first call of a cell against its later ones."""


@dataclass(frozen=True)
class Figure:
    """The claimed ratio of the slow side to the fast one, at least 1.

    ``most`` is the upper end where a range is claimed, ``kind`` what the ratio is (of :data:`KINDS`), ``factor`` how
    far a measured one may lie from it. ``digits`` are those at which the source compared, where it says so. ``derived``
    tells that the ratio is ours, formed from two figures of the source. ``within`` is set in the place of a ratio where
    the claim is that both sides are alike: their ratio lies between 1/within and within. ``slow`` and ``fast`` are the
    absolute figures as printed, with their units. ``against_later`` tells that there is one side only, whose first call
    is the slow one and whose later calls are the fast ones.
    """

    says: str
    quantity: str
    ratio: float | None
    most: float | None = None
    within: float | None = None
    slow: str = ""
    fast: str = ""
    against_later: bool = False
    kind: str = RATIO
    factor: float = FACTOR
    digits: float | None = None
    derived: bool = False

    @property
    def sides(self) -> tuple[str, ...]:
        """The names of the sides that a setting of it has."""
        return ONE_SIDE if self.against_later else SIDES

    @property
    def is_count(self) -> bool:
        """Whether it is free of hardware."""
        return self.quantity in COUNTS

    @property
    def calls(self) -> tuple[str, ...]:
        """What the cells of both sides are measured for: of a claim about solves no gradient is taken."""
        return (SOLVE,) if self.quantity in _OF_SOLVES else CALLS


@dataclass(frozen=True)
class Origin:
    """Where the figure was read. ``version`` is the commit or the identifier of the document."""

    citation: str
    url: str
    version: str
    read: date


@dataclass(frozen=True)
class Drift:
    """A document that quotes another figure than the source it cites has."""

    where: str
    quotes: str
    source_says: str


@dataclass(frozen=True)
class Side:
    """One side: a cell without its problem, and the tolerances at which it ran; ``None`` for those of a fixed step.

    ``stands_for`` names the faster one of the source in whose place it is measured: its time is an upper bound.
    """

    adapter: str
    method: str
    sensitivity: str
    mode: str
    precision: str = "float64"
    rtol: float | None = None
    atol: float | None = None
    note: str = ""
    stands_for: str = ""

    @property
    def tolerances(self) -> Point:
        """Those that it states.

        Raises:
            ValueError: it states none.
        """
        if self.rtol is None:
            raise ValueError(f"{self.words} states no tolerances")
        return Point(self.rtol, self.rtol if self.atol is None else self.atol)

    @property
    def words(self) -> str:
        """In one line."""
        unusual = [] if self.precision == "float64" else [self.precision]
        return " ".join([self.adapter, self.method, self.sensitivity, self.mode, *unusual])

    def name(self, calls: tuple[str, ...]) -> str:
        """The same for what is measured of it: a solve has no sensitivity."""
        return self.words if calls == CALLS else self.words.replace(f" {self.sensitivity} ", " ", 1)


@dataclass(frozen=True)
class Workload:
    """A problem of the catalog, with the keys of its file that are set to other values, by dotted name."""

    problem: str
    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    note: str = ""


@dataclass(frozen=True)
class Setting:
    """How the sides are measured, by their names, and in ``notes`` what this setting keeps or mends of the published
    one."""

    workload: Workload
    sides: Mapping[str, Side]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Needs:
    """What it takes to test a claim. ``lacking`` says why the suite cannot test it anywhere yet; empty when it can."""

    minutes: float
    memory_gib: float
    device: str = "cpu"
    lacking: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim. ``published`` and ``fair`` are ``None`` where the suite lacks what it would take (``needs.lacking``).

    ``timed`` says what was timed and how, ``conditions`` how those of the published
    setting stand to the source's; ``traps`` what was found in the source that changes what the figure means.
    """

    id: str
    title: str
    figure: Figure
    origin: Origin
    workload: str
    timed: str
    needs: Needs
    published: Setting | None
    fair: Setting | None
    traps: tuple[str, ...]
    drifts: tuple[Drift, ...]
    conditions: Conditions
    path: Path

    @property
    def testable(self) -> bool:
        """Whether the suite has both settings of it."""
        return self.published is not None and self.fair is not None

    @property
    def adapters(self) -> tuple[str, ...]:
        """The adapters that its sides need."""
        return tuple(dict.fromkeys(side.adapter for side in self.sides))

    @property
    def sides(self) -> tuple[Side, ...]:
        """All sides of its settings."""
        settings = [setting for setting in (self.published, self.fair) if setting is not None]
        return tuple(side for setting in settings for side in setting.sides.values())

"""A published claim about speed: its figure, source, conditions, and known mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from sciml_bench.published_claims.conditions import NO_CONDITIONS, Conditions
from sciml_bench.record.task import CALLS, DEFAULT_SAVING, SOLVE, USUAL, Cell, Point

QUANTITIES = (
    "solve", "gradient", "step", "first_solve", "first_gradient", "training_step", "training", "steps", "evaluations",
    "backward_evaluations",
)  # fmt: skip
"""The quantities of claims. ``step`` is the time of a solve for each accepted step; the last three are counts, which no
hardware changes: of a solve, and of the backward solve of a gradient.
"""

LATER = {"first_solve": "solve", "first_gradient": "gradient"}
"""First calls that may be claimed against later ones of the same cell, and what these are."""

COUNTS = ("steps", "evaluations", "backward_evaluations")

RATIO, AT_LEAST, UP_TO, DIRECTION, PROBLEMS = "ratio", "at_least", "up_to", "direction", "problems"
NO_FIGURE = "none"
OF_SEVERAL = {
    "median": "a median over problems", "mean": "a mean over problems", "sizes": "a figure over a range of sizes",
    NO_FIGURE: "a text without a figure",
}  # fmt: skip
KINDS = (RATIO, AT_LEAST, UP_TO, DIRECTION, PROBLEMS, *OF_SEVERAL)
"""The kinds of claimed ratios: one figure or a range; a lower bound; the largest of several; only which side is ahead;
a range over problems, which one of them can leave but not confirm; or a statement on which no single problem can rule,
such as a figure over several problems or sizes.
"""

FACTOR = 1.5
"""A measured ratio within this factor of the claimed one confirms it, unless the file states another."""

_OF_SOLVES = ("solve", "step", "first_solve", "steps", "evaluations")

SIDES = ("fast", "slow")

ONE_SIDE = ("cell",)
"""The only side of a claim that holds the first call of a cell against its later ones."""


@dataclass(frozen=True)
class Figure:
    """The claimed ratio of the slow side to the fast one, at least 1.

    ``most`` is the upper end of a claimed range, ``kind`` the kind of ratio (of :data:`KINDS`), ``factor`` the
    tolerance for a measured one. ``digits`` are the digits at which the source compared, if stated. ``derived`` says
    that the ratio is ours, formed from two figures of the source. ``within`` replaces the ratio of a claim that both
    sides are equally fast: their ratio lies between 1/within and within. ``slow`` and ``fast`` are the absolute
    figures as printed, with their units. ``against_later`` is true if there is only one side, whose first call is the
    slow one and whose later calls are the fast ones.
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
        """True if the quantity does not depend on hardware."""
        return self.quantity in COUNTS

    @property
    def calls(self) -> tuple[str, ...]:
        """The call that both sides measure: a claim about solves needs no gradient."""
        return (SOLVE,) if self.quantity in _OF_SOLVES else CALLS


@dataclass(frozen=True)
class Origin:
    """The source of the figure. ``version`` is the commit or the identifier of the document."""

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
    """One side: a cell without its problem, and its tolerances; ``None`` for a fixed step.

    A method, sensitivity or mode that is not given is the library's recommendation: the side is then each of its
    recipes with the others, and counts as the fastest of them. ``stands_for`` names the faster one of the source in
    whose place it is measured: its time is an upper bound.
    """

    adapter: str
    method: str = ""
    sensitivity: str = ""
    mode: str = ""
    precision: str = "float64"
    rtol: float | None = None
    atol: float | None = None
    note: str = ""
    stands_for: str = ""
    saving: str = DEFAULT_SAVING
    device: str = "cpu"

    @property
    def tolerances(self) -> Point:
        """Return the tolerances that it states.

        Raises:
            ValueError: it states none.
        """
        if self.rtol is None:
            raise ValueError(f"{self.words} states no tolerances")
        return Point(self.rtol, self.rtol if self.atol is None else self.atol)

    @property
    def recommended(self) -> bool:
        """True if it leaves a part of the cell to the recipes of its library."""
        return not (self.method and self.sensitivity and self.mode)

    def allows(self, cell: Cell) -> bool:
        """Return whether a cell is this side, or a recipe to which the side leaves the rest."""
        given = (self.adapter, self.method, self.sensitivity, self.mode, self.precision, self.device)
        of_cell = (cell.adapter, cell.method, cell.sensitivity, cell.mode, cell.precision, cell.device)
        same = all(mine in ("", other) for mine, other in zip(given, of_cell, strict=True))
        return same and (self.recommended or cell.saving == self.saving)

    @property
    def words(self) -> str:
        """In one line."""
        unusual = [word for word in (self.precision, self.device, self.saving) if word not in USUAL]
        named = [word for word in (self.adapter, self.method, self.sensitivity, self.mode, *unusual) if word]
        return " ".join([*named, "as recommended"] if self.recommended else named)


@dataclass(frozen=True)
class Workload:
    """A problem of the catalog, with the keys of its file that are set to other values, by dotted name."""

    problem: str
    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    note: str = ""


@dataclass(frozen=True)
class Setting:
    """The measurement of the sides, by their names, and in ``notes`` the similarities to the published setting and the
    corrections. ``conditions`` of a fair setting take the place of the claim's.
    """

    workload: Workload
    sides: Mapping[str, Side]
    notes: tuple[str, ...] = ()
    conditions: Conditions = NO_CONDITIONS

    def elsewhere(self, other: Setting) -> tuple[str, ...]:
        """The conditions in which the workload of another setting is another one; tolerances do not count."""
        ours, theirs = self.workload, other.workload
        if ours.problem != theirs.problem:
            return ("problem", "span", "saved", "sizes")
        keys = {
            key
            for key in {*ours.changes, *theirs.changes}
            if ours.changes.get(key) != theirs.changes.get(key) and not key.endswith(".atol_scale")
        }
        return tuple(dict.fromkeys(_condition_of(key) for key in sorted(keys)))


def _condition_of(key: str) -> str:
    """The condition that a changed key of a problem file touches."""
    part, _, rest = key.partition(".")
    if part == "time":
        return "saved" if rest.partition(".")[0] == "save" else "span"
    return {"batch": "batch", "networks": "sizes"}.get(part, "problem")


@dataclass(frozen=True)
class Needs:
    """The requirements for testing a claim. ``missing`` is the reason why the suite cannot test it, or empty."""

    minutes: float
    memory_gib: float
    device: str = "cpu"
    missing: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim. ``published`` and ``fair`` are ``None`` if the suite cannot measure it (``needs.missing``).

    ``timed`` describes what was timed and how, ``conditions`` compare the published setting with the source's;
    ``traps`` are findings about the source that change the figure's meaning. ``environments`` have the requirements of
    each environment that a side names, as in ``diffrax@older``.
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
    environments: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    @property
    def testable(self) -> bool:
        """True if the suite has both settings."""
        return self.published is not None and self.fair is not None

    @property
    def fair_conditions(self) -> Conditions:
        """The conditions that its fair setting states again."""
        return NO_CONDITIONS if self.fair is None else self.fair.conditions

    @property
    def adapters(self) -> tuple[str, ...]:
        """The adapters that its sides need."""
        return tuple(dict.fromkeys(side.adapter for side in self.sides))

    @property
    def sides(self) -> tuple[Side, ...]:
        """All sides of its settings."""
        settings = [setting for setting in (self.published, self.fair) if setting is not None]
        return tuple(side for setting in settings for side in setting.sides.values())

"""A plan as ``plan.json`` holds it: what a stored run was to measure, read and checked once.

:meth:`sciml_bench.planning.plan.Plan.to_dict` writes it; whatever shows, compares or verifies a run reads it here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal
from weakref import WeakKeyDictionary

from sciml_bench.adapters.declared import Declared, declarations
from sciml_bench.errors import StoreError
from sciml_bench.planning.labels import Item
from sciml_bench.planning.profiles import Profile
from sciml_bench.planning.purpose import SCREEN, Sweep
from sciml_bench.planning.settings import Settings
from sciml_bench.record.codec import decode
from sciml_bench.record.probe import Probed
from sciml_bench.record.run_folder import PLAN, Run
from sciml_bench.record.task import CONVENTIONAL, Cell, Training

Pairs = tuple[tuple[float, float], ...]
"""Relative and absolute tolerances."""


@dataclass(frozen=True)
class WrittenData:
    """The samples of a model, see :class:`sciml_bench.models.data.DataSet`."""

    name: str
    kind: Literal["images", "text", "synthetic"]
    version: str
    sha256: str
    licence: str
    input_shape: tuple[int, ...]
    scale: float
    size: int
    held_out: int
    seed: int


@dataclass(frozen=True)
class WrittenProblem:
    """A problem; ``file`` is ``None`` in the catalog. Models alone have ``loss``, ``batches`` and ``data``."""

    name: str
    title: str
    spec_hash: str
    file: str | None
    suite: str = ""
    n_states: int | None = None
    n_theta: int | None = None
    batch: int | None = None
    stiff: bool | None = None
    probe: Probed | None = None
    loss: str = ""
    batches: tuple[int, ...] | None = None
    data: WrittenData | None = None

    def __post_init__(self) -> None:
        if self.is_model and (self.data is None or self.batches is None):
            raise ValueError(f"the model {self.name} has no data or no batches")

    @property
    def is_model(self) -> bool:
        """Return whether it is a model of the conventional track."""
        return self.suite == CONVENTIONAL


@dataclass(frozen=True)
class WrittenCell:
    """A planned cell; ``calls`` is ``None`` if its sensitivity decides them."""

    label: str
    cell: Cell
    cell_id: str
    division: str
    group: str
    role: str = ""
    training: Training | None = None
    calls: tuple[str, ...] | None = None


@dataclass(frozen=True)
class WrittenSkip:
    """Cells that were left out for one reason, in the notation of :mod:`sciml_bench.planning.labels`."""

    reason: str
    cells: tuple[Item, ...]


@dataclass(frozen=True)
class WrittenClaims:
    """The labels of the sides of claims, and the tolerances of cells that have their own.

    A side is a list if the recipes of its library chose it.
    """

    claims: Mapping[str, Mapping[str, str | tuple[str, ...]]] = field(
        default_factory=dict[str, Mapping[str, str | tuple[str, ...]]]
    )
    points: Mapping[str, Pairs] = field(default_factory=dict[str, Pairs])

    @cached_property
    def sides(self) -> dict[str, Mapping[str, tuple[str, ...]]]:
        """The labels of the sides of each claim, by its id."""
        return {
            claim: {name: (cells,) if isinstance(cells, str) else cells for name, cells in sides.items()}
            for claim, sides in self.claims.items()
        }


@dataclass(frozen=True)
class WrittenAdvice:
    """The question of advice, see :class:`sciml_bench.planning.purpose.Advised`."""

    stage: str
    call: str
    count: int
    accuracy: float
    points: Mapping[str, Pairs] = field(default_factory=dict[str, Pairs])


@dataclass(frozen=True)
class WrittenPlan:
    """The content of a run's ``plan.json``."""

    schema: int
    version: str
    profile: Profile
    settings: Settings
    problems: tuple[WrittenProblem, ...]
    cells: tuple[WrittenCell, ...]
    skipped: tuple[WrittenSkip, ...]
    hash: str = ""
    command: str = ""
    adapters: Mapping[str, Any] | None = None
    sweep: Sweep | None = None
    claimed: WrittenClaims | None = None
    advised: WrittenAdvice | None = None

    @cached_property
    def declared(self) -> Mapping[str, Declared]:
        """The declarations of the adapters, without unreadable ones."""
        return declarations(self.adapters)

    @property
    def sides(self) -> dict[str, Mapping[str, tuple[str, ...]]]:
        """The labels of the sides of each tested claim, by its id; empty without any."""
        return {} if self.claimed is None else self.claimed.sides

    def by_recipes(self, claim: str, side: str) -> bool:
        """Return whether recipes chose the cells of a side of a claim."""
        return self.claimed is not None and isinstance(self.claimed.claims.get(claim, {}).get(side), tuple)

    @property
    def is_screening(self) -> bool:
        """Return whether the run looks at every way of a problem until it is accurate enough."""
        return self.advised is not None and self.advised.stage == SCREEN

    def problem(self, name: str) -> WrittenProblem | None:
        """The problem of a name."""
        return next((problem for problem in self.problems if problem.name == name), None)


def written_plan(run: Run) -> WrittenPlan:
    """The plan of a run.

    Raises:
        StoreError: it cannot be read, or is not a plan.
    """
    if run not in _READ:
        _READ[run] = as_plan(run.plan, str(run.folder / PLAN))
    return _READ[run]


_READ: WeakKeyDictionary[Run, WrittenPlan] = WeakKeyDictionary()


def as_plan(content: Mapping[str, Any], where: str = PLAN) -> WrittenPlan:
    """Decode the content of a plan's file. :class:`StoreError`, with the name of the file, if it is not a plan."""
    try:
        plan = decode(WrittenPlan, content)
        # Their defaults are for new plans.
        if missing := [item.name for item in fields(Settings) if item.name not in content["settings"]]:
            raise ValueError(f"settings: '{missing[0]}' is missing")
        return plan
    except ValueError as error:
        raise StoreError(
            f"{where} is not a plan of this version: {error}. Restore it from a copy, or read the run with the version"
            " of sciml-bench that made it."
        ) from error

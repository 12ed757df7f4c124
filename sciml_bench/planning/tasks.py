"""Cell → task: the emitted source, the numbers, the truth, the tolerances and the limits that a worker needs."""

from __future__ import annotations

import dataclasses
import hashlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sciml_bench.adapters.base import Adapter, calls_of
from sciml_bench.emit import invariants_source, source
from sciml_bench.models.emit import architecture_source as model_source
from sciml_bench.planning.blocks import input_seed
from sciml_bench.planning.cells import trains
from sciml_bench.planning.problems import PlannedProblem
from sciml_bench.planning.profiles import Profile
from sciml_bench.record.model_task import ModelTruth
from sciml_bench.record.task import (
    CALLS,
    CONVENTIONAL,
    ERROR_BOUND_FACTOR,
    GRADIENT_ERROR_BOUND,
    LARGEST_ERROR_BOUND,
    Cell,
    Draw,
    Numbers,
    Point,
    Reference,
    Task,
    Training,
)

# Perturbed references of one problem are computed in at most this time.
DRAWS_S = 20.0


@dataclass
class TaskFactory:
    """The parts of tasks, produced once per problem and framework. ``threads`` is the limit for every worker.

    ``points`` are the points of cells, by label, that are not measured on the profile's ladder. ``wanted`` are the
    calls that are measured if a framework has them. Training is only requested if ``trained``. ``proof_s`` limits the
    proof of a reference that is computed on the way. ``enough_digits`` ends the points of a cell early.
    """

    entries: Mapping[str, PlannedProblem]
    adapters: Mapping[str, Adapter]
    profile: Profile
    seed: int
    threads: int
    points: Mapping[str, tuple[Point, ...]] = field(default_factory=dict[str, tuple[Point, ...]])
    wanted: tuple[str, ...] = CALLS
    trained: bool = True
    proof_s: float | None = None
    enough_digits: float | None = None
    _sources: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    _invariants: dict[str, str] = field(default_factory=dict[str, str])
    _numbers: dict[str, Numbers] = field(default_factory=dict[str, Numbers])
    _truths: dict[str, Reference | None] = field(default_factory=dict[str, Reference | None])
    _unresolved: dict[str, str] = field(default_factory=dict[str, str])
    _model_truths: dict[str, ModelTruth] = field(default_factory=dict[str, ModelTruth])
    _draws: dict[str, tuple[Draw, ...]] = field(default_factory=dict[str, tuple[Draw, ...]])

    def source(self, cell: Cell) -> str:
        """The source text that the cell's worker imports."""
        key = (cell.problem, self.adapters[cell.adapter].target_of(cell))
        if key not in self._sources:
            entry = self.entries[cell.problem]
            made = model_source(entry.model, key[1]) if entry.track == CONVENTIONAL else None
            self._sources[key] = made or source(entry.problem, key[1])
        return self._sources[key]

    def cell_id(self, cell: Cell) -> str:
        """Twelve hexadecimal digits that change with the cell, its mathematics or its source text."""
        spec = self.entries[cell.problem].spec_hash
        text = "\n".join((cell.label, spec, self.source(cell)))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def task(self, cell: Cell, block: int) -> Task:
        """The task of one process of a cell."""
        if self.entries[cell.problem].track == CONVENTIONAL:
            return self._model_task(cell, block)
        points = self.points_of(cell)
        loosest = max((point.rtol for point in (*points, *self.profile.points)), default=0.0)
        return Task(
            cell=cell,
            program=self.adapters[cell.adapter].program_for(self.entries[cell.problem].facts),
            source=self.source(cell),
            numbers=self._numbers_of(cell.problem),
            points=points,
            sampling=self.profile.sampling,
            seed=input_seed(self.seed, cell.problem, block),
            threads=self.threads,
            error_bound=min(LARGEST_ERROR_BOUND, ERROR_BOUND_FACTOR * loosest),
            gradient_error_bound=GRADIENT_ERROR_BOUND,
            reference=self._truth_of(cell.problem),
            # Solvers are deterministic: one process of each cell says as much as all.
            draws=self._draws_of(cell.problem) if block == 0 else (),
            stability_s=self.profile.stability_s,
            training=self.training(cell),
            invariants=self._invariants_of(cell.problem),
            calls=self.calls(cell),
            theta=self.entries[cell.problem].problem.theta,
            unresolved=self._unresolved.get(cell.problem, ""),
            enough_digits=self.enough_digits,
            options=dict(self.adapters[cell.adapter].options),
        )

    def _model_task(self, cell: Cell, block: int) -> Task:
        """The task of one process of a model's cell: its points are batches, its truth knows parity."""
        model = self.entries[cell.problem].model
        return Task(
            cell=cell,
            program=self.adapters[cell.adapter].program,
            source=self.source(cell),
            numbers=self._numbers_of(cell.problem),
            points=self.points_of(cell),
            sampling=self.profile.sampling,
            seed=input_seed(self.seed, cell.problem, block),
            threads=self.threads,
            error_bound=0.0,
            gradient_error_bound=0.0,
            training=self.training(cell),
            learning=model.learning(self._model_truth_of(cell.problem)),
            calls=self.calls(cell),
        )

    def points_of(self, cell: Cell) -> tuple[Point, ...]:
        """The tolerances of a cell, or the batches of a model."""
        entry = self.entries[cell.problem]
        if entry.track == CONVENTIONAL:
            return entry.model.points
        return self.points.get(cell.label, self.profile.points)

    def calls(self, cell: Cell) -> tuple[str, ...]:
        """The measured calls of a cell: no gradient if the framework has none, or if it was not requested."""
        return tuple(kind for kind in calls_of(cell) if kind in self.wanted)

    def training(self, cell: Cell) -> Training | None:
        """Return how theta is trained in a cell, with as many steps as the profile takes; ``None`` if it is not."""
        entry = self.entries[cell.problem]
        wanted = entry.training
        if wanted is None or not self.trained or not trains(cell, entry, self.adapters[cell.adapter]):
            return None
        # A model is trained to its target, which takes seconds; a part of that would say nothing.
        most = None if entry.track == CONVENTIONAL else self.profile.training_steps
        return wanted if most is None else dataclasses.replace(wanted, steps=min(most, wanted.steps))

    def prepare(self, problems: Iterable[str]) -> None:
        """Find or compute the truth of these problems, so that nothing heavy runs between measurements.

        Raises:
            StoreError: a reference file is stale or was changed.
        """
        for name in problems:
            if self.entries[name].track == CONVENTIONAL:
                self._model_truth_of(name)
            else:
                self._truth_of(name)
                self._draws_of(name)

    def share(self, other: TaskFactory) -> None:
        """Take over what another one has found of the same problems: truths, and perturbed ones."""
        self._truths |= other._truths
        self._unresolved |= other._unresolved

    def _invariants_of(self, name: str) -> str:
        if name not in self._invariants:
            self._invariants[name] = invariants_source(self.entries[name].problem)
        return self._invariants[name]

    def _numbers_of(self, name: str) -> Numbers:
        if name not in self._numbers:
            self._numbers[name] = self.entries[name].declared.numbers()
        return self._numbers[name]

    def _truth_of(self, name: str) -> Reference | None:
        if name not in self._truths:
            # Imported when a task is made: printing a plan needs no reference engine.
            from sciml_bench.references.confirmation.cancellation import Unresolved
            from sciml_bench.references.truth import truth

            try:
                self._truths[name] = truth(self.entries[name].problem, proof_s=self.proof_s)
            except Unresolved as error:
                self._truths[name], self._unresolved[name] = None, str(error)
        return self._truths[name]

    def _model_truth_of(self, name: str) -> ModelTruth:
        if name not in self._model_truths:
            from sciml_bench.models.truth import known_or_computed

            self._model_truths[name] = known_or_computed(self.entries[name].model, _announce)
        return self._model_truths[name]

    def _draws_of(self, name: str) -> tuple[Draw, ...]:
        if name not in self._draws:
            self._draws[name] = ()
            if self.profile.draws:
                from sciml_bench.references.confirmation.perturbed import draws

                problem = self.entries[name].problem
                self._draws[name] = tuple(draws(problem, self.profile.draws, self.seed, DRAWS_S, _announce))
        return self._draws[name]


def _announce(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

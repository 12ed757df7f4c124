"""Trainings as a report shows them: how far each got, how long a step takes, how long until the target was reached."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from sciml_bench.analysis.process_summary import ProcessSummary
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables import formatting
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.task import Training
from sciml_bench.record.training import Trained
from sciml_bench.stats.spread import Spread, spread


@dataclass(frozen=True)
class TrainingRow:
    """One cell that trained. Times are seconds over its processes, each reduced to one number first.

    ``trained`` belongs to the process of the lowest block: losses do not depend on the process. ``ended`` counts the
    outcomes of the processes. ``to_target`` is counted from the start of the first step, ``to_target_from_process``
    from the start of the process, without the measurements between: the wait of a user who only trains. ``distance``
    is the distance of the final theta from the first row's, relative to the latter's 2-norm, if both took the same
    steps.
    """

    cell: CellSummary
    trained: Trained
    ended: dict[Outcome, int]
    first_step: Spread | None
    step: Spread | None
    to_target: Spread | None
    to_target_from_process: Spread | None
    distance: float | None


@dataclass(frozen=True)
class Distance:
    """The distance between the final thetas of two cells, relative to the 2-norm of the first."""

    first: CellSummary
    second: CellSummary
    relative: float


def goal(settings: Training) -> str:
    """The goal of the training, in words; empty without one."""
    if settings.accuracy is not None:
        return f"accuracy ≥ {settings.accuracy:g}"
    return "" if settings.target is None else f"loss ≤ {settings.target:g}"


def conditions(settings: Training) -> str:
    """At which tolerance equations are solved, or on which batches a model is trained."""
    if settings.batch is not None:
        return f"on batches of {settings.batch}"
    return f"at rtol {formatting.tolerance(settings.rtol)}"


def training_rows(cells: Sequence[CellSummary]) -> tuple[TrainingRow, ...]:
    """The cells of a problem that trained, or were to, in the plan's order."""
    found = [cell for cell in cells if any(process.training is not None for process in cell.processes)]
    if not found:
        return ()
    first = next((trained for cell in found if (trained := curve(cell)) is not None and trained.theta), None)
    return tuple(_row(cell, first) for cell in found if curve(cell) is not None)


def curve(cell: CellSummary) -> Trained | None:
    """The training of the lowest block, with its losses."""
    return next((process.curve for process in cell.processes if process.curve is not None), None)


def curve_process(cell: CellSummary) -> ProcessSummary:
    """The process whose losses are shown."""
    return next(process for process in cell.processes if process.curve is not None)


def distances(rows: Sequence[TrainingRow]) -> tuple[Distance, ...]:
    """Return the distance between the final thetas of each pair that took the same steps."""
    pairs = ((a, b, _distance(b.trained, a.trained)) for a, b in combinations(rows, 2) if a.trained is not b.trained)
    return tuple(Distance(a.cell, b.cell, value) for a, b, value in pairs if value is not None)


def _row(cell: CellSummary, first: Trained | None) -> TrainingRow:
    trained = curve(cell)
    assert trained is not None
    of_processes = [process.training for process in cell.processes if process.training is not None]
    ended: dict[Outcome, int] = {}
    for item in of_processes:
        ended[item.outcome] = ended.get(item.outcome, 0) + 1
    return TrainingRow(
        cell=cell,
        trained=trained,
        ended=ended,
        first_step=spread(item.first_step_s for item in of_processes),
        step=spread(item.step_s for item in of_processes),
        to_target=spread(item.to_target_s for item in of_processes),
        to_target_from_process=spread(item.to_target_from_process_s for item in of_processes),
        distance=None if first is None or first is trained else _distance(trained, first),
    )


def _distance(one: Trained, other: Trained) -> float | None:
    """‖one − other‖ / ‖other‖; ``None`` if they are not the end of the same steps, or not known."""
    same = one.settings.hash == other.settings.hash and len(one.losses) == len(other.losses)
    if not same or not one.theta or len(one.theta) != len(other.theta):
        return None
    pairs = [(a, b) for a, b in zip(one.theta, other.theta, strict=True) if a is not None and b is not None]
    if len(pairs) < len(one.theta):
        return None
    size = math.hypot(*(b for _, b in pairs))
    return math.hypot(*(a - b for a, b in pairs)) / size if size else None

"""The rows of a model's tables: what each framework's cell did at each batch, and how its training went."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sciml_bench.analysis.process_summary import PointSummary
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.training import TrainingRow, training_rows
from sciml_bench.measure.scoring.parity import BOUNDS
from sciml_bench.record.outcome import Outcome
from sciml_bench.stats.spread import Spread, spread


@dataclass(frozen=True)
class Parity:
    """The distance of a cell from the reference: the largest relative errors over its batches, and their bounds.

    An error that was not measured is ``None``: a framework that only infers has no gradient. ``gradient_norm`` is
    taken at the largest batch. ``kept`` is true if no point is inaccurate: errors are within the bound, plus the
    uncertainty of the reference for slopes.
    """

    cell: CellSummary
    output: float | None
    loss: float | None
    slope: float | None
    gradient_norm: float | None
    bound: float
    kept: bool


@dataclass(frozen=True)
class ModelRow:
    """One cell. Seconds over its processes; ``None`` if there is no time to show.

    ``latency`` is the time of one forward pass at the smallest batch, ``inference`` and ``step`` the times of a
    forward pass and of a loss with its gradient at the largest one, ``batch``. ``train_step`` is a step of the
    training, optimiser included. ``joules`` is the energy of one loss and gradient for each sample.
    """

    cell: CellSummary
    batch: int
    latency: Spread | None
    inference: Spread | None
    step: Spread | None
    train_step: Spread | None
    first_gradient: Spread | None
    to_target: Spread | None
    to_target_from_process: Spread | None
    target_step: int | None
    accuracy: float | None
    held_out_loss: float | None
    peak_rss_bytes: int | None
    joules: float | None

    @property
    def samples_per_s(self) -> float | None:
        """Throughput of inference at the largest batch, by the median process."""
        return None if self.inference is None else self.batch / self.inference.median


@dataclass(frozen=True)
class ModelTable:
    """The tables of one model: the lines above the times, and the times."""

    problem: str
    batches: tuple[int, ...]
    parity: tuple[Parity, ...]
    rows: tuple[ModelRow, ...]


def model_table(problem: str, cells: Sequence[CellSummary]) -> ModelTable:
    """The table of a model's measured cells, with times only for cells that kept parity."""
    measured = [cell for cell in cells if any(point.batch is not None for point in cell.points)]
    batches = sorted({point.batch for cell in measured for point in cell.points if point.batch is not None})
    trained = {row.cell.cell_id: row for row in training_rows(cells)}
    rows = [_row(cell, batches, trained.get(cell.cell_id)) for cell in measured if cell.timed]
    return ModelTable(
        problem=problem,
        batches=tuple(batches),
        parity=tuple(_parity(cell) for cell in measured if any(point.parity for point in cell.points)),
        rows=tuple(sorted(rows, key=_speed)),
    )


def _speed(row: ModelRow) -> tuple[bool, float]:
    return (row.step is None, row.step.median if row.step else row.inference.median if row.inference else 0.0)


def _row(cell: CellSummary, batches: Sequence[int], trained: TrainingRow | None) -> ModelRow:
    largest = batches[-1]
    first = [process for process in cell.processes if process.first_gradient_process_s is not None]
    evaluations = () if trained is None else trained.trained.evaluations
    reached = None if trained is None else trained.trained.target_step
    joules = [point.gradient.joules for point in cell.points if point.batch == largest and point.gradient.joules]
    return ModelRow(
        cell=cell,
        batch=largest,
        latency=_at(cell, batches[0], lambda point: point.solve.seconds),
        inference=_at(cell, largest, lambda point: point.solve.seconds),
        step=_at(cell, largest, lambda point: point.gradient.seconds),
        train_step=None if trained is None else trained.step,
        first_gradient=spread(process.first_gradient_process_s for process in first),
        to_target=None if trained is None else trained.to_target,
        to_target_from_process=None if trained is None else trained.to_target_from_process,
        target_step=None if reached is None else reached + 1,
        accuracy=evaluations[-1].accuracy if evaluations else None,
        held_out_loss=evaluations[-1].loss if evaluations else None,
        peak_rss_bytes=cell.peak_rss_bytes,
        joules=sum(joules) / len(joules) / largest if joules else None,
    )


def _at(cell: CellSummary, batch: int, seconds: Callable[[PointSummary], float | None]) -> Spread | None:
    return spread(seconds(point) for point in cell.points if point.batch == batch)


def _parity(cell: CellSummary) -> Parity:
    found = {name: _worst(cell, name) for name in ("output_error", "loss_error", "slope_error")}
    bound = BOUNDS[cell.cell.precision]
    norms = [norm for point in cell.points if (norm := point.parity.get("gradient_norm")) is not None]
    return Parity(
        cell=cell,
        output=found["output_error"],
        loss=found["loss_error"],
        slope=found["slope_error"],
        gradient_norm=norms[-1] if norms else None,
        bound=bound,
        kept=all(point.outcome is not Outcome.INACCURATE for point in cell.points),
    )


def _worst(cell: CellSummary, name: str) -> float | None:
    errors = (point.parity.get(name) for point in cell.points)
    return max((error for error in errors if error is not None), default=None)

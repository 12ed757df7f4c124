"""The tables of a model: parity above the times, and what a fair comparison has to state below them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sciml_bench.analysis.models import ModelRow, ModelTable, Parity
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables import formatting
from sciml_bench.analysis.tables.table import (
    Column,
    Entry,
    Table,
    Unit,
    bytes_entry,
    error_entry,
    number_entry,
    seconds_entry,
)
from sciml_bench.planning.written_plan import WrittenProblem
from sciml_bench.stats.spread import Spread

_PARITY = "parity: relative errors against the reference, the largest over the batches"
_TIMES = "times (only of cells that keep parity)"
_NAMES = (Column("adapter"), Column("mode"))


def parity_table(found: Sequence[Parity]) -> Table:
    """A line for each cell: its errors, their bound, and whether they keep it."""
    errors = [Column(text, True, unit=Unit.ERROR) for text in ("output", "loss", "gradient", "bound")]
    return Table(
        caption=_PARITY,
        columns=(*_NAMES, Column("precision"), Column("parity"), *errors, Column("gradient norm", True)),
        rows=tuple(
            (
                *_names(item.cell),
                Entry(item.cell.cell.precision),
                Entry("ok" if item.kept else "inaccurate"),
                *(error_entry(error) for error in (item.output, item.loss, item.slope, item.bound)),
                number_entry(item.gradient_norm, ".7g"),
            )
            for item in found
        ),
        names=len(_NAMES),
        cell_ids=tuple(item.cell.cell_id for item in found),
    )


def times_table(table: ModelTable) -> Table:
    """A line for each cell: latency, throughput, training, memory and energy."""
    smallest, largest = table.batches[0], table.batches[-1]
    shown = _Shown(
        precisions=len({row.cell.cell.precision for row in table.rows}) > 1,
        training=any(row.train_step is not None for row in table.rows),
        energy=any(row.joules is not None for row in table.rows),
    )
    names = (*_NAMES, *([Column("precision")] if shown.precisions else []))
    training = (_seconds("train step"), _seconds("to target"), Column("at step", True), Column("held out", True))
    return Table(
        caption=_TIMES,
        columns=(
            *names,
            _seconds(f"inference of {smallest}"),
            Column(f"samples/s of {largest}", True),
            _seconds(f"gradient of {largest}"),
            *(training if shown.training else ()),
            _seconds("1st gradient"),
            Column("memory", True, unit=Unit.BYTES),
            *([Column("J/sample", True)] if shown.energy else []),
        ),
        rows=tuple(_times(row, shown) for row in table.rows),
        names=len(names),
        cell_ids=tuple(row.cell.cell_id for row in table.rows),
    )


@dataclass(frozen=True)
class _Shown:
    """Columns that only some tables have."""

    precisions: bool
    training: bool
    energy: bool


def _seconds(text: str) -> Column:
    return Column(text, True, unit=Unit.SECONDS)


def checklist(problem: WrittenProblem, table: ModelTable) -> Iterator[str]:
    """The shared conditions that make times of a model's cells comparable: data, metric, shapes, seeds."""
    data = problem.data
    if data is None:
        return
    yield "the same for every cell"
    split = f"{data.size - data.held_out} samples for training, {data.held_out} held out, seed {data.seed}"
    yield f"  data: {data.name}, {data.version}; {split}"
    if data.sha256:
        yield f"  SHA-256 {data.sha256}; licence {data.licence}"
    yield f"  preprocessing: {_PREPROCESSING[data.kind].format(scale=data.scale)}"
    shape = " x ".join(map(str, data.input_shape))
    yield f"  sample {shape}; batches {', '.join(map(str, table.batches))}; {problem.n_theta} weights, the same bits"
    metric = "held-out accuracy and loss" if problem.loss == "cross_entropy" else "none"
    yield f"  loss {problem.loss}, its mean over a batch; metric: {metric}, computed in NumPy for every framework"
    settings = next((t.curve.settings for row in table.rows for t in row.cell.processes if t.curve is not None), None)
    if settings is not None:
        goal = f"accuracy ≥ {settings.accuracy:g}" if settings.accuracy else f"loss ≤ {settings.target:g}"
        yield (
            f"  training: {settings.optimiser}, learning rate {settings.learning_rate:g}, batches of {settings.batch} "
            f"in an order by seed {settings.batch_seed}, evaluated every {settings.every} steps until {goal} "
            f"and on to step {settings.steps}"
        )
    yield "  determinism: no dropout, no batch norm, one order of batches; threads and versions are in every record"


_PREPROCESSING = {
    "images": "read, divide by {scale:g}, round to single precision, permute by the seed, split",
    "text": "characters to their places in the sorted alphabet, cut into samples that do not overlap, the end held out",
    "synthetic": "drawn standard normal by the seed, rounded to single precision, the end held out",
}


def _times(row: ModelRow, shown: _Shown) -> tuple[Entry, ...]:
    step = Entry(formatting.NOTHING) if row.target_step is None else Entry(str(row.target_step), value=row.target_step)
    training = (seconds_entry(row.train_step), seconds_entry(row.to_target), step, _held_out(row))
    return (
        *_names(row.cell),
        *([Entry(row.cell.cell.precision)] if shown.precisions else []),
        seconds_entry(row.latency),
        Entry(_rate(row.samples_per_s), value=row.samples_per_s),
        seconds_entry(row.step),
        *(training if shown.training else ()),
        seconds_entry(row.first_gradient),
        bytes_entry(row.peak_rss_bytes),
        *([number_entry(row.joules)] if shown.energy else []),
    )


def _held_out(row: ModelRow) -> Entry:
    if row.held_out_loss is None:
        return Entry(formatting.NOTHING)
    share = "" if row.accuracy is None else f", {100 * row.accuracy:.1f} %"
    return Entry(f"loss {row.held_out_loss:.3f}{share}", value=row.held_out_loss)


def _names(cell: CellSummary) -> tuple[Entry, ...]:
    of = cell.cell
    return Entry(of.adapter), Entry(of.mode if of.device == "cpu" else f"{of.mode} {of.device}")


def _rate(per_s: float | None) -> str:
    return formatting.NOTHING if per_s is None else f"{per_s:.3g}" if per_s < 1000 else f"{per_s:.0f}"


def model_document(problem: WrittenProblem, table: ModelTable) -> dict[str, Any]:
    """Parity, times and checklist of one model. Times are seconds, sizes bytes, energy joules for each sample."""
    return {
        "batches": list(table.batches),
        "parity": [
            {
                "cell": item.cell.cell.label,
                "output_error": item.output,
                "loss_error": item.loss,
                "slope_error": item.slope,
                "gradient_norm": item.gradient_norm,
                "bound": item.bound,
                "kept": item.kept,
            }
            for item in table.parity
        ],
        "times": [_row(row) for row in table.rows],
        "checklist": [line.strip() for line in checklist(problem, table)][1:],
    }


def _row(row: ModelRow) -> dict[str, Any]:
    plain = {item.name: getattr(row, item.name) for item in dataclasses.fields(row) if item.name != "cell"}
    told = {name: dataclasses.asdict(value) if isinstance(value, Spread) else value for name, value in plain.items()}
    return {"cell": row.cell.cell.label, **told, "samples_per_s": row.samples_per_s}

"""The tables of a model as plain JSON values: unrounded, for ``show --json``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sciml_bench.analysis import quantities
from sciml_bench.analysis.models import ModelRow, ModelTable, Parity
from sciml_bench.analysis.tables.layouts import Layout
from sciml_bench.stats.centre import Spread

# The tables of a model as text: parity above the times, and what a fair comparison has to state below them.

PARITY = "parity: relative errors against the reference, the largest over the batches"
TIMES = "times (only of cells that keep parity)"


def parity_layout(found: Sequence[Parity]) -> Layout:
    """A line for each cell: its errors, their bound, and whether they keep it."""
    return Layout(
        headings=["adapter", "mode", "precision", "parity", "output", "loss", "gradient", "bound", "gradient norm"],
        rows=[
            [
                *_names(item),
                item.cell.cell.precision,
                "ok" if item.kept else "inaccurate",
                quantities.error(item.output),
                quantities.error(item.loss),
                quantities.error(item.slope),
                quantities.error(item.bound),
                quantities.NOTHING if item.gradient_norm is None else f"{item.gradient_norm:.7g}",
            ]
            for item in found
        ],
        first_number=4,
    )


def times_layout(table: ModelTable) -> Layout:
    """A line for each cell: latency, throughput, training, memory and energy."""
    smallest, largest = table.batches[0], table.batches[-1]
    trains = any(row.train_step is not None for row in table.rows)
    energy = any(row.joules is not None for row in table.rows)
    precisions = len({row.cell.cell.precision for row in table.rows}) > 1
    headings = ["adapter", "mode", *(["precision"] if precisions else [])]
    return Layout(
        headings=[
            *headings,
            f"inference of {smallest}",
            f"samples/s of {largest}",
            f"gradient of {largest}",
            *(["train step", "to target", "at step", "held out"] if trains else []),
            "1st gradient",
            "memory",
            *(["J/sample"] if energy else []),
        ],
        rows=[_times(row, precisions, trains, energy) for row in table.rows],
        first_number=len(headings),
    )


def stacked(layout: Layout) -> list[str]:
    """The same without columns: a few short lines for each cell."""
    lines: list[str] = []
    for texts in layout.rows:
        lines.append(" ".join(texts[:2]))
        lines += [f"  {name} {text}" for name, text in zip(layout.headings[2:], texts[2:], strict=True)]
    return lines


def checklist(problem: Mapping[str, Any], table: ModelTable) -> Iterator[str]:
    """What is the same for every cell of a model, so that its times may be compared: data, metric, shapes, seeds."""
    data = problem["data"]
    yield "the same for every cell"
    split = f"{data['size'] - data['held_out']} samples for training, {data['held_out']} held out, seed {data['seed']}"
    yield f"  data: {data['name']}, {data['version']}; {split}"
    if data["sha256"]:
        yield f"  SHA-256 {data['sha256']}; licence {data['licence']}"
    yield f"  preprocessing: {_PREPROCESSING[data['kind']].format(**data)}"
    shape = " x ".join(map(str, data["input_shape"]))
    yield f"  sample {shape}; batches {', '.join(map(str, table.batches))}; {problem['n_theta']} weights, the same bits"
    metric = "held-out accuracy and loss" if problem["loss"] == "cross_entropy" else "none"
    yield f"  loss {problem['loss']}, its mean over a batch; metric: {metric}, computed in NumPy for every framework"
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


def _times(row: ModelRow, precisions: bool, trains: bool, energy: bool) -> list[str]:
    texts = [row.cell.cell.adapter, row.cell.cell.mode, *([row.cell.cell.precision] if precisions else [])]
    texts += [_time(row.latency), _rate(row.samples_per_s), _time(row.step)]
    if trains:
        step = quantities.NOTHING if row.target_step is None else str(row.target_step)
        texts += [_time(row.train_step), _time(row.to_target), step, _held_out(row)]
    texts += [_time(row.first_gradient), quantities.size(row.peak_rss_bytes)]
    return texts + ([quantities.NOTHING if row.joules is None else f"{row.joules:.3g}"] if energy else [])


def _held_out(row: ModelRow) -> str:
    if row.held_out_loss is None:
        return quantities.NOTHING
    share = "" if row.accuracy is None else f", {100 * row.accuracy:.1f} %"
    return f"loss {row.held_out_loss:.3f}{share}"


def _names(item: Parity) -> list[str]:
    return [item.cell.cell.adapter, item.cell.cell.mode]


def _rate(per_s: float | None) -> str:
    return quantities.NOTHING if per_s is None else f"{per_s:.3g}" if per_s < 1000 else f"{per_s:.0f}"


def _time(spread: Spread | None) -> str:
    if spread is None:
        return quantities.NOTHING
    between = quantities.duration_range(spread)
    return quantities.duration(spread.median) + (f" ({between})" if between else "")


def model_document(problem: Mapping[str, Any], table: ModelTable) -> dict[str, Any]:
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

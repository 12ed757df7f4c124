"""The table of a problem's trainings, as text and as plain JSON values."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from sciml_bench.analysis import quantities
from sciml_bench.analysis.tables.layouts import Layout
from sciml_bench.analysis.training import TrainingRow, conditions, distances, goal
from sciml_bench.record.outcome import Outcome
from sciml_bench.stats.centre import Spread

HEADING = "training"

_LONGEST_REASON = 160


def caption(rows: Sequence[TrainingRow]) -> str:
    """What was trained how, in one line."""
    settings = rows[0].trained.settings
    numbers = {"learning rate": settings.learning_rate, "weight decay": settings.weight_decay}
    told = ", ".join(f"{name} {value:g}" for name, value in numbers.items() if value is not None)
    return (
        f"{HEADING}: {settings.steps} steps of {settings.optimiser} ({told}) from the same start, "
        f"{conditions(settings)}"
    )


def layout(rows: Sequence[TrainingRow]) -> Layout:
    """A line for each cell."""
    wanted = goal(rows[0].trained.settings)
    reached = [f"to {wanted}", "from process start"] if wanted else []
    return Layout(
        headings=[
            "adapter", "method", "sensitivity", "mode", "ended", "steps", "first loss", "last loss", "1st step", "step",
            *reached, "theta apart",
        ],
        rows=[[*_names(row), *_numbers(row, bool(reached))] for row in rows],
        first_number=5,
    )  # fmt: skip


def stacked(rows: Sequence[TrainingRow]) -> list[str]:
    """No columns at all: a few short lines per cell."""
    table = layout(rows)
    lines: list[str] = []
    for texts in table.rows:
        lines.append(" ".join(texts[:4]))
        lines += [f"  {name} {text}" for name, text in zip(table.headings[4:], texts[4:], strict=True)]
    return lines


def notes(rows: Sequence[TrainingRow]) -> Iterator[str]:
    """What is to be known beside the numbers: why a training ended early, and what the distance is."""
    for row in rows:
        if row.trained.outcome is not Outcome.OK:
            reason = row.trained.message.partition("\n")[0][:_LONGEST_REASON] or row.trained.outcome.sentence
            yield f"{' '.join(_names(row)[:4])}: {row.trained.outcome} after {len(row.trained.losses)} steps: {reason}"
    if any(row.distance is not None for row in rows):
        yield (
            "theta apart: how far the final parameters are from those of the first row, relative to their 2-norm; "
            "step: the median of the steps after the first."
        )


def document(rows: Sequence[TrainingRow]) -> dict[str, Any] | None:
    """The same unrounded, with every loss and time of one process; ``None`` where nothing was trained."""
    if not rows:
        return None
    return {
        "settings": dataclasses.asdict(rows[0].trained.settings),
        "settings_hash": rows[0].trained.settings.hash,
        "cells": [_document(row) for row in rows],
        "distances": [
            {"from": item.first.cell.label, "to": item.second.cell.label, "relative": item.relative}
            for item in distances(rows)
        ],
    }


def _document(row: TrainingRow) -> dict[str, Any]:
    trained = row.trained
    return {
        "cell": row.cell.cell.label,
        "outcome": trained.outcome.value,
        "phase": trained.phase,
        "message": trained.message,
        "ended": {outcome.value: count for outcome, count in row.ended.items()},
        "steps": len(trained.losses),
        "first_step_s": _spread(row.first_step),
        "step_s": _spread(row.step),
        "to_target_s": _spread(row.to_target),
        "to_target_from_process_s": _spread(row.to_target_from_process),
        "losses": list(trained.losses),
        "steps_s": [ns / 1e9 for ns in trained.step_ns],
    }


def _names(row: TrainingRow) -> list[str]:
    cell = row.cell.cell
    ended = ", ".join(str(outcome) if len(row.ended) == 1 else f"{outcome} {n}" for outcome, n in row.ended.items())
    return [cell.adapter, cell.method, cell.sensitivity, cell.mode, ended]


def _numbers(row: TrainingRow, has_target: bool) -> list[str]:
    losses = row.trained.losses
    reached = [_time(row.to_target), _time(row.to_target_from_process)] if has_target else []
    return [
        f"{len(losses)}/{row.trained.settings.steps}",
        loss_text(losses[0] if losses else None),
        loss_text(losses[-1] if losses else None),
        _time(row.first_step),
        _time(row.step),
        *reached,
        quantities.error(row.distance),
    ]


def loss_text(loss: float | None) -> str:
    """A loss to four digits."""
    return quantities.NOTHING if loss is None else f"{loss:.4g}"


def _time(spread: Spread | None) -> str:
    if spread is None:
        return quantities.NOTHING
    between = quantities.duration_range(spread)
    return quantities.duration(spread.median) + (f" ({between})" if between else "")


def _spread(spread: Spread | None) -> dict[str, Any] | None:
    return None if spread is None else dataclasses.asdict(spread)

"""The table of a problem's trainings, as text and as plain JSON values."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from sciml_bench.analysis.tables.table import (
    CELL,
    Column,
    Entry,
    Table,
    Unit,
    cell_entries,
    error_entry,
    number_entry,
    seconds_entry,
)
from sciml_bench.analysis.training import TrainingRow, conditions, distances, goal
from sciml_bench.record.outcome import Outcome
from sciml_bench.stats.spread import Spread

HEADING = "training"

_LONGEST_REASON = 160

LOSS = ".4g"
"""The format of losses."""


def training_table(rows: Sequence[TrainingRow]) -> Table:
    """A line for each cell that trained; there is at least one."""
    wanted = goal(rows[0].trained.settings)
    reached = [f"to {wanted}", "from process start"] if wanted else []
    times = [Column(text, True, unit=Unit.SECONDS) for text in ("1st step", "step", *reached)]
    return Table(
        caption=_caption(rows),
        columns=(
            *CELL,
            Column("ended"),
            *(Column(text, True) for text in ("steps", "first loss", "last loss")),
            *times,
            Column("theta apart", True, unit=Unit.ERROR),
        ),
        rows=tuple(_entries(row, bool(reached)) for row in rows),
        names=len(CELL),
        notes=tuple(_notes(rows)),
        cell_ids=tuple(row.cell.cell_id for row in rows),
    )


def _caption(rows: Sequence[TrainingRow]) -> str:
    """The training settings, in one line."""
    settings = rows[0].trained.settings
    numbers = {"learning rate": settings.learning_rate, "weight decay": settings.weight_decay}
    told = ", ".join(f"{name} {value:g}" for name, value in numbers.items() if value is not None)
    return (
        f"{HEADING}: {settings.steps} steps of {settings.optimiser} ({told}) from the same start, "
        f"{conditions(settings)}"
    )


def _entries(row: TrainingRow, has_target: bool) -> tuple[Entry, ...]:
    losses = row.trained.losses
    ended = ", ".join(str(outcome) if len(row.ended) == 1 else f"{outcome} {n}" for outcome, n in row.ended.items())
    reached = (row.to_target, row.to_target_from_process) if has_target else ()
    return (
        *cell_entries(row.cell.cell),
        Entry(ended),
        Entry(f"{len(losses)}/{row.trained.settings.steps}", value=float(len(losses))),
        number_entry(losses[0] if losses else None, LOSS),
        number_entry(losses[-1] if losses else None, LOSS),
        *(seconds_entry(spread) for spread in (row.first_step, row.step, *reached)),
        error_entry(row.distance),
    )


def _notes(rows: Sequence[TrainingRow]) -> Iterator[str]:
    """Notes on the numbers: why a training ended early, and what the distance is."""
    for row in rows:
        if row.trained.outcome is not Outcome.OK:
            reason = row.trained.message.partition("\n")[0][:_LONGEST_REASON] or row.trained.outcome.sentence
            yield f"{row.cell.cell.solver}: {row.trained.outcome} after {len(row.trained.losses)} steps: {reason}"
    if any(row.distance is not None for row in rows):
        yield (
            "theta apart: how far the final parameters are from the first row's, relative to their 2-norm; "
            "step: the median of the steps after the first."
        )


def document(rows: Sequence[TrainingRow]) -> dict[str, Any] | None:
    """Return the trainings unrounded, with every loss and time of one process; ``None`` without trainings."""
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


def _spread(spread: Spread | None) -> dict[str, Any] | None:
    return None if spread is None else dataclasses.asdict(spread)

"""The tables of a sweep as text and as plain JSON values."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from sciml_bench.analysis.summary import RunSummary
from sciml_bench.analysis.sweep import (
    BELOW,
    LEAST_TOLD_BYTES,
    Axis,
    Meeting,
    SweepRow,
    SweepTable,
    Value,
    axis_of,
    sweep_tables,
)
from sciml_bench.analysis.tables import formatting
from sciml_bench.analysis.tables.table import CELL, Column, Entry, Table, Unit, cell_entries
from sciml_bench.stats.scaling import Crossing, PowerLaw

_WHAT = {
    "solve": "time per solve",
    "gradient": "time per gradient",
    "memory": "memory that one gradient holds at its peak",
    "process": "peak memory of a process",
    "steps": "steps",
    "evaluations": "evaluations of the right-hand side",
}

_UNITS = {"solve": Unit.SECONDS, "gradient": Unit.SECONDS, "memory": Unit.BYTES, "process": Unit.BYTES}


def title(axis: Axis) -> str:
    """The title of a sweep."""
    return f"{axis.of} over {axis.over}: {len(axis.sizes)} sizes ({', '.join(size_text(axis, s) for s in axis.sizes)})"


def caption(table: SweepTable) -> str:
    """The caption of a table, in one line."""
    at = formatting.target(table.target.digits, table.target.rtol)
    where = f", at {at}" if at and table.quantity != "process" else ""
    against = "rtol" if table.axis.tolerance else table.axis.unit
    what = _WHAT[table.quantity]
    if table.quantity == "memory" and table.axis.over == "span":
        what += ", and in brackets the steps of its solve,"
    return f"{what} against {against}{where}; {table.contest.name}"


def size_text(axis: Axis, size: float) -> str:
    """A size as text: whole, or the tolerance."""
    return formatting.tolerance(1.0 / size) if axis.tolerance else f"{size:.0f}"


def value_text(table: SweepTable, value: Value) -> str:
    """One number with its unit, or why there is none."""
    if value.steps is not None:
        return f"{value_text(table, replace(value, steps=None))} ({value.steps:.0f})"
    if value.spread is None:
        return value.reason
    median = value.spread.median
    if table.quantity in ("solve", "gradient"):
        return ("≤ " if value.at_most else "") + formatting.duration(median)
    if table.quantity in ("memory", "process"):
        return formatting.size(median)
    if value.least is None or value.mean is None or table.axis.over != "batch":
        return f"{median:.0f}"
    return f"{median:.0f} ({value.least:.0f} least, {value.mean:.3g} mean)"


def power_text(power: PowerLaw | None) -> str:
    """The exponent, its interval, and the slopes at both ends if one exponent does not describe the curve."""
    if power is None:
        return formatting.NOTHING
    interval = "" if power.low is None or power.high is None else f" ({_slope(power.low)} to {_slope(power.high)})"
    bent = f", curved: {_slope(power.local[0])} first, {_slope(power.local[-1])} last" if power.curved else ""
    return f"{_slope(power.exponent)}{interval}{bent}"


def _slope(value: float) -> str:
    # A minus before nothing says nothing.
    return f"{value:.2f}".replace("-0.00", "0.00")


def sweep_table(table: SweepTable) -> Table:
    """A line for each cell."""
    sizes, unit = table.axis.sizes, _UNITS.get(table.quantity, Unit.NONE)
    return Table(
        caption=caption(table),
        columns=(
            *CELL,
            *(Column(size_text(table.axis, size), True, unit=unit) for size in sizes),
            Column("exponent", True),
        ),
        rows=tuple(
            (*cell_entries(row.solver.cell), *(_entry(table, row, size) for size in sizes), _power_entry(row.power))
            for row in table.rows
        ),
        names=len(CELL),
        notes=tuple(notes(table)),
    )


def _entry(table: SweepTable, row: SweepRow, size: float) -> Entry:
    value, cell = row.values[size], row.solver.cells.get(table.axis.problems[size])
    return Entry(
        value_text(table, value),
        value=None if value.spread is None else value.spread.median,
        at_most=value.at_most,
        cell_id="" if cell is None else cell.cell_id,
    )


def _power_entry(power: PowerLaw | None) -> Entry:
    exponent, _, bent = power_text(power).partition(", ")
    return Entry(exponent, bent, None if power is None else power.exponent)


def notes(table: SweepTable) -> Iterator[str]:
    """Conclusions from a table: where its cells change places, and how its steps grow."""
    if table.quantity in ("solve", "gradient") and table.target.rtol is not None:
        yield "at equal tolerance, not at equal accuracy: not every size has a reference"
    for meeting in table.meetings:
        yield from meeting_lines(table, meeting)
    if table.quantity == "steps":
        yield from _step_notes(table)
    if table.quantity == "memory" and table.axis.over == "span":
        yield from _memory_notes(table)


def meeting_lines(table: SweepTable, meeting: Meeting) -> Iterator[str]:
    """The sizes at which two cells change places. Without a crossing, only gradients of one method get a line."""
    first, second = meeting.first, meeting.second
    names = _apart(first, second, meeting.one)
    if all(who is None for who in meeting.ahead.values()):
        if meeting.one:
            yield f"{table.quantity}: {names[0]} and {names[1]} cannot be distinguished at any size"
        return
    for crossing in meeting.crossings:
        if crossing.sure:
            below, above = names[crossing.below], names[crossing.above]
            at = _crossing_text(table.axis, crossing)
            # A tolerance that is below another is the tighter one, and the larger size.
            sides = ("at looser tolerances than", "at tighter ones") if table.axis.tolerance else ("below", "above")
            yield f"{table.quantity}: {below} is faster {sides[0]} {at}, {above} {sides[1]}"
        elif meeting.one:
            near, standing = _about(table.axis, crossing.size), _standing(table, meeting, names)
            yield f"{table.quantity}: {names[0]} and {names[1]} may cross near {near}: {standing}"
    if not meeting.crossings and meeting.one:
        yield f"{table.quantity}: no crossing within the sweep: {_standing(table, meeting, names)}"


def _standing(table: SweepTable, meeting: Meeting, names: Sequence[str]) -> str:
    """The faster one of two at each size."""
    parts: list[str] = []
    for who, text in ((0, f"{names[0]} is faster at"), (1, f"{names[1]} is faster at"), (None, "undecided at")):
        sizes = [size_text(table.axis, size) for size, ahead in meeting.ahead.items() if ahead == who]
        if sizes:
            parts.append(f"{text} {', '.join(sizes)}")
    return "; ".join(parts)


def _apart(first: SweepRow, second: SweepRow, one: bool) -> tuple[str, str]:
    """Two names; short ones for kinds of gradient of one method, since the table says the rest."""
    return (first.solver.cell.sensitivity, second.solver.cell.sensitivity) if one else (
        first.solver.name, second.solver.name,
    )  # fmt: skip


def _crossing_text(axis: Axis, crossing: Crossing) -> str:
    between = ""
    if crossing.low is not None and crossing.high is not None:
        between = f" (95 % interval {_number(axis, crossing.low)} to {_number(axis, crossing.high)})"
    return f"{_about(axis, crossing.size)}{between}"


def _about(axis: Axis, size: float) -> str:
    return f"rtol {_number(axis, size)}" if axis.tolerance else f"{_number(axis, size)} {axis.unit}"


def _number(axis: Axis, size: float) -> str:
    if axis.tolerance:
        return formatting.tolerance(1.0 / size)
    return f"{size:.3g}" if size < 1000 else f"{size:.0f}"


def _step_notes(table: SweepTable) -> Iterator[str]:
    own = {row.solver.cell.adapter for row in table.rows for value in row.values.values() if value.mean is not None}
    others = {row.solver.cell.adapter for row in table.rows} - own
    if own and table.axis.over == "batch":
        yield (
            f"{', '.join(sorted(own))}: each trajectory takes its own steps; the largest count is shown"
            + (f". {', '.join(sorted(others))}: all trajectories share their steps" if others else "")
        )
    yield "steps are attempted steps if the library counts them, otherwise accepted steps"


def _memory_notes(table: SweepTable) -> Iterator[str]:
    """The memory that a gradient keeps of each step: its growth from the fewest steps to the most."""
    for row in table.rows:
        known = sorted((v.steps, v.spread.median) for v in row.values.values() if v.steps and v.spread is not None)
        if len(known) > 1 and known[-1][0] > known[0][0]:
            (few, least), (many, most) = known[0], known[-1]
            each = (most - least) / (many - few)
            more = f"{formatting.size(each)} more" if each > 0 else "no more"
            yield f"{row.solver.name}: {more} for each step, from {few:.0f} to {many:.0f} steps"
        elif not known and any(value.reason == BELOW for value in row.values.values()):
            most = max((v.steps for v in row.values.values() if v.steps and v.reason == BELOW), default=None)
            upto = ", whose steps are not counted" if most is None else f" up to {most:.0f} steps"
            yield f"{row.solver.name}: less than {formatting.size(LEAST_TOLD_BYTES)}{upto}"


ELSEWHERE = "each size separately: on the page that `sciml-bench report` writes"
"""The place of the tables of each problem of a sweep, which the terminal leaves out."""


def reading_help(tables: Sequence[SweepTable]) -> str:
    """Return how the tables are to be read."""
    blocks = max((row.power.n for table in tables for row in table.rows if row.power), default=0)
    interval = (
        f"in brackets its 95 % interval over {blocks} blocks of processes, each with its own exponent"
        if blocks > 1
        else "without an interval, since one process shows no spread"
    )
    return (
        "exponent: k of cost ~ size^k by least squares in logarithms, " + interval + ". curved: one exponent does not "
        "describe the cost; the slopes between the first and the last two sizes are shown. Where cells cross is "
        "interpolated between sizes, never extrapolated."
    )


def document(summary: RunSummary) -> dict[str, Any] | None:
    """A sweep unrounded; ``None`` for a run that is none."""
    axis = axis_of(summary.plan)
    if axis is None:
        return None
    return {
        "over": axis.over,
        "of": axis.of,
        "unit": axis.unit,
        "sizes": list(axis.sizes),
        "tables": [_document(table) for table in sweep_tables(summary)],
    }


def _document(table: SweepTable) -> dict[str, Any]:
    return {
        "quantity": table.quantity,
        "contest": table.contest.name,
        "target": dataclasses.asdict(table.target),
        "cells": [
            {
                **{axis: getattr(row.solver.cell, axis) for axis in ("adapter", "method", "sensitivity", "mode")},
                "precision": row.solver.cell.precision,
                "device": row.solver.cell.device,
                "saving": row.solver.cell.saving,
                "values": [
                    {
                        "size": size,
                        "spread": None if value.spread is None else dataclasses.asdict(value.spread),
                        "reason": value.reason,
                        "at_most": value.at_most,
                        "least": value.least,
                        "mean": value.mean,
                        "steps": value.steps,
                    }
                    for size, value in row.values.items()
                ],
                "power": None if row.power is None else dataclasses.asdict(row.power),
            }
            for row in table.rows
        ],
        "crossings": [
            {
                "first": meeting.first.solver.name,
                "second": meeting.second.solver.name,
                "found": [dataclasses.asdict(crossing) for crossing in meeting.crossings],
                "ahead": [{"size": size, "faster": faster} for size, faster in meeting.ahead.items()],
            }
            for meeting in table.meetings
        ],
    }

"""Where each number comes from: a run read once, with the line of every record and what comparisons are judged by."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from sciml_bench.errors import StoreError
from sciml_bench.outcome import Outcome
from sciml_bench.plan.products import count
from sciml_bench.report import pieces
from sciml_bench.report.comparable import comparable
from sciml_bench.report.summary import ProcessSummary, RunSummary, reduce_record, summarise
from sciml_bench.store import Record, Run
from sciml_bench.store.counting import supersedes
from sciml_bench.store.lines import DamagedLine
from sciml_bench.task import Cell


@dataclass(frozen=True)
class Trace:
    """One record without its samples. ``line`` counts from 1 in the run's ``records.jsonl``; ``rtols`` is the ladder
    of tolerances that was tried."""

    record_id: str
    line: int
    cell_id: str
    label: str
    problem: str
    adapter: str
    block: int
    attempt: int
    order: int
    outcome: Outcome
    started_at: str
    wall_s: float
    waited_s: float
    seed: int
    schema: int
    spec_hash: str
    source_hash: str
    environment_hash: str
    reference_kind: str | None
    threads: Mapping[str, str]
    versions: Mapping[str, str]
    caches: str
    cache_hits: int | None
    cache_files_before: int | None
    noisy: tuple[str, ...]
    rtols: tuple[float, ...]
    recompiled: bool
    energy: str

    @property
    def key(self) -> str:
        """``cell_id/block/attempt``, by which tables and figures name the record."""
        return f"{self.cell_id}/{self.block}/{self.attempt}"


@dataclass
class Reading:
    """A run, read once. ``traces`` are in the order of the file; ``damaged`` are lines that hold no record, and
    ``unplanned`` records of cells that the plan does not know."""

    name: str
    folder: str
    plan: Mapping[str, Any]
    environment: Mapping[str, Any]
    summary: RunSummary
    traces: list[Trace] = field(default_factory=list[Trace])
    damaged: list[DamagedLine] = field(default_factory=list[DamagedLine])
    unplanned: list[Trace] = field(default_factory=list[Trace])

    @property
    def comparable(self) -> bool:
        """Whether the profile lets times be compared."""
        return comparable(self.summary)

    def counting(self) -> dict[str, list[Trace]]:
        """The records that count, by cell id, in the order of their blocks."""
        kept: dict[tuple[str, int], Trace] = {}
        for trace in self.traces:
            known = kept.get((trace.cell_id, trace.block))
            if known is None or supersedes(trace.attempt, known.attempt):
                kept[trace.cell_id, trace.block] = trace
        found: dict[str, list[Trace]] = {}
        for (cell_id, _), trace in sorted(kept.items()):
            found.setdefault(cell_id, []).append(trace)
        return found


def read_run(run: Run, processes: int = 1) -> Reading:
    """Read a run, whatever its records hold; memory grows with records × points, not with samples.

    A long one is read by so many processes at once (see :mod:`sciml_bench.report.crew`).

    Raises:
        StoreError: its plan is not one.
    """
    try:
        reading = Reading(run.folder.name, str(run.folder), run.plan, _environment(run), summarise(run.plan, ()))
        _check(reading.plan)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StoreError(
            f"{run.folder / 'plan.json'} is not a plan: {type(error).__name__} {error}. Restore it from a copy."
        ) from error
    for found in pieces.read(run.records_path, partial(_of_line, run.records_path), processes):
        if isinstance(found, DamagedLine):
            reading.damaged.append(found)
            continue
        trace, process = found
        cell = reading.summary.cells.get(trace.cell_id)
        if cell is None:
            reading.unplanned.append(trace)
        else:
            reading.traces.append(trace)
            cell.keep(process)
    return reading


def _of_line(path: Path, number: int, line: bytes) -> DamagedLine | tuple[Trace, ProcessSummary]:
    """What a report keeps of one line."""
    try:
        record = Record.from_json(line)
        _check_kinds(record)
        return _trace(number, record), reduce_record(record)
    except (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        return DamagedLine(path, number, str(error))


def _check(plan: Mapping[str, Any]) -> None:
    """Touch what a report needs of a plan, so that a wrong one is told at once and not on page ten."""
    profile, settings = plan["profile"], plan["settings"]
    _ = profile["name"], profile["comparable"], profile["timeout_s"]
    _ = settings["timeout_s"], settings["threads"], settings["memory_limit_bytes"]
    for entry in plan["problems"]:
        _ = entry["name"], entry["title"], entry["file"]
    for entry in plan["skipped"]:
        _ = entry["reason"], count(entry["cells"])


def _check_kinds(record: Record) -> None:
    """Refuse what is no record although it has the keys of one; a report sorts, adds and prints these fields.

    Raises:
        ValueError: a field holds what it cannot hold.
    """
    counts = (record.block, record.attempt, record.order, record.schema)
    numbers = (
        record.wall_s,
        record.waited_s,
        *record.phases_ns.values(),
        *record.time_to_first_gradient_ns.values(),
        *(point.rtol for point in record.points),
    )
    words = (*vars(record.cell).values(), record.cell_id, record.message, *(point.message for point in record.points))
    for kinds, values, what in (((int,), counts, "count"), ((int, float), numbers, "number"), ((str,), words, "text")):
        for value in values:
            if not isinstance(value, kinds) or isinstance(value, bool):
                raise ValueError(f"a {what} is {type(value).__name__} {str(value)[:40]!r}")
    if not all(map(math.isfinite, numbers)):
        raise ValueError("a duration or a tolerance is not a finite number")


def _environment(run: Run) -> Mapping[str, Any]:
    try:
        return run.environment
    except StoreError:
        # A run without its environment is shown all the same; nothing is then known of its machine.
        return {}


@cache
def _label(cell: Cell) -> str:
    return cell.label


def _trace(line: int, record: Record) -> Trace:
    return Trace(
        record_id=str(record.record_id),
        line=line,
        cell_id=record.cell_id,
        label=_label(record.cell),
        problem=record.cell.problem,
        adapter=record.cell.adapter,
        block=int(record.block),
        attempt=int(record.attempt),
        order=int(record.order),
        outcome=record.outcome,
        started_at=str(record.started_at),
        wall_s=float(record.wall_s),
        waited_s=float(record.waited_s),
        seed=record.seed,
        schema=record.schema,
        spec_hash=str(record.spec_hash),
        source_hash=str(record.source_hash),
        environment_hash=str(record.environment_hash),
        reference_kind=record.reference_kind,
        threads=dict(record.threads),
        versions=dict(record.versions),
        caches=str(record.caches),
        cache_hits=record.compile_cache_hits,
        cache_files_before=record.compile_cache_files.get("before"),
        noisy=tuple(map(str, record.noisy)),
        rtols=tuple(float(point.rtol) for point in record.points),
        recompiled=any(point.outcome is Outcome.RECOMPILED for point in record.points),
        energy=str((record.energy or {}).get("not_measurable", "")),
    )

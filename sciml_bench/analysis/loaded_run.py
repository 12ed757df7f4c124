"""A run read once, with the line of every record and the basis of its comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.machines import note
from sciml_bench.analysis.parallel_jsonl import read
from sciml_bench.analysis.process_summary import ProcessSummary, reduce_record
from sciml_bench.analysis.summary import NO_SUMMARY, RunSummary, summarise
from sciml_bench.errors import StoreError
from sciml_bench.planning.written_plan import WrittenPlan, written_plan
from sciml_bench.record.jsonl import DamagedLine
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Record
from sciml_bench.record.run_folder import Run
from sciml_bench.record.supersession import supersedes
from sciml_bench.record.task import Cell


@dataclass(frozen=True)
class RecordEntry:
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
    waited_s: float
    seed: int
    spec_hash: str
    source_hash: str
    environment_hash: str
    reference_kind: str | None
    threads: Mapping[str, str]
    cache_hits: int | None
    cache_files_before: int | None
    noisy: tuple[str, ...]
    rtols: tuple[float, ...]
    recompiled: bool
    energy: str


@dataclass
class LoadedRun:
    """A run, read once. ``traces`` are in the order of the file; ``damaged`` are lines that hold no record, and
    ``unplanned`` records of cells that the plan does not know. ``environments`` of other machines are those in which
    units were carried out for it, and ``other_machines`` a sentence on the machines that it does not show."""

    name: str
    folder: str
    plan: WrittenPlan
    environment: Mapping[str, Any]
    summary: RunSummary
    traces: list[RecordEntry] = field(default_factory=list[RecordEntry])
    damaged: list[DamagedLine] = field(default_factory=list[DamagedLine])
    unplanned: list[RecordEntry] = field(default_factory=list[RecordEntry])
    environments: Sequence[Mapping[str, Any]] = ()
    other_machines: str = ""

    @cached_property
    def analysis(self) -> Analysis:
        """Its analysis; requested once all of it is read."""
        return Analysis(self.summary, Path(self.folder))

    @property
    def comparable(self) -> bool:
        """Return whether winners may be named."""
        return self.analysis.comparable

    def counting(self) -> dict[str, list[RecordEntry]]:
        """The records that count, by cell id, in the order of their blocks."""
        kept: dict[tuple[str, int], RecordEntry] = {}
        for trace in self.traces:
            known = kept.get((trace.cell_id, trace.block))
            if known is None or supersedes(trace.attempt, known.attempt):
                kept[trace.cell_id, trace.block] = trace
        found: dict[str, list[RecordEntry]] = {}
        for (cell_id, _), trace in sorted(kept.items()):
            found.setdefault(cell_id, []).append(trace)
        return found


def read_run(run: Run, processes: int = 1) -> LoadedRun:
    """Read a run, whatever its records hold; memory grows with records × points, not with samples.

    Several processes read a long run at once (see :mod:`sciml_bench.analysis.loaded_run`).

    Raises:
        StoreError: its plan is not one.
    """
    plan = written_plan(run)
    reading = LoadedRun(run.folder.name, str(run.folder), plan, _environment(run), summarise(plan, ()))
    reading.environments = _environments(run)
    reading.other_machines = note(run)
    for found in read(run.records_path, partial(_of_line, run.records_path), processes):
        if isinstance(found, DamagedLine):
            reading.damaged.append(found)
            continue
        trace, process = found
        if run.only is not None and trace.environment_hash not in run.only:
            continue
        cell = reading.summary.cells.get(trace.cell_id)
        if cell is None:
            reading.unplanned.append(trace)
        else:
            reading.traces.append(trace)
            cell.keep(process)
    return reading


def _of_line(path: Path, number: int, line: bytes) -> DamagedLine | tuple[RecordEntry, ProcessSummary]:
    """The part of one line that a report keeps."""
    try:
        record = Record.from_json(line)
        return _trace(number, record), reduce_record(record)
    except NO_SUMMARY as error:
        return DamagedLine(path, number, str(error))


def _environments(run: Run) -> Sequence[Mapping[str, Any]]:
    try:
        return [facts for name, facts in run.environments.items() if name != run.environment_hash]
    except StoreError:
        return ()


def _environment(run: Run) -> Mapping[str, Any]:
    try:
        return run.environment
    except StoreError:
        # A run without its environment is shown all the same; nothing is then known of its machine.
        return {}


@cache
def _label(cell: Cell) -> str:
    return cell.label


def _trace(line: int, record: Record) -> RecordEntry:
    return RecordEntry(
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
        waited_s=float(record.waited_s),
        seed=record.seed,
        spec_hash=str(record.spec_hash),
        source_hash=str(record.source_hash),
        environment_hash=str(record.environment_hash),
        reference_kind=record.reference_kind,
        threads=dict(record.threads),
        cache_hits=record.compile_cache_hits,
        cache_files_before=record.compile_cache_files.get("before"),
        noisy=tuple(map(str, record.noisy)),
        rtols=tuple(float(point.rtol) for point in record.points),
        recompiled=any(point.outcome is Outcome.RECOMPILED for point in record.points),
        energy=str((record.energy or {}).get("not_measurable", "")),
    )

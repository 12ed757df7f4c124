"""Runs that repeat a run: the same plan on the same machine with the same software."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from sciml_bench.analysis.summary import NO_SUMMARY, RunSummary, summarise
from sciml_bench.errors import StoreError
from sciml_bench.planning.written_plan import written_plan
from sciml_bench.record.run_folder import Run, runs_in

MOST_RUNS = 12
"""Reading more takes too long."""

# Neighbouring folders may hold anything.
_DAMAGED = (StoreError, OSError, *NO_SUMMARY)


def repeats(run: Run) -> list[RunSummary]:
    """The runs in the same folder that repeat a run, newest first. Damaged ones and copies are left out."""
    found: list[RunSummary] = []
    seen = {_first_record(run)}
    for other in _same(run):
        first = _first_record(other)
        if first and first not in seen and len(found) < MOST_RUNS:
            seen.add(first)
            try:
                found.append(_summary(other.folder, other.records_path.stat().st_mtime_ns))
            except _DAMAGED:
                continue
    return found


def _same(run: Run) -> Iterator[Run]:
    own = _identity(run)
    try:
        neighbours = list(runs_in(run.folder.parent)) if own is not None else []
    except OSError:
        return
    for other in neighbours:
        if _identity(other) == own:
            yield other


def _identity(run: Run) -> tuple[str, str] | None:
    """The hashes of plan and environment; ``None`` if they cannot be read, or the plan has no hash."""
    try:
        plan_hash = written_plan(run).hash
        return (plan_hash, run.environment_hash) if plan_hash else None
    except _DAMAGED:
        return None


def _first_record(run: Run) -> str:
    """The identity of a run's first record, which a copy of the run shares; empty without any."""
    try:
        return next((record.record_id for record in run.records(lambda _line: None)), "")
    except _DAMAGED:
        return ""


@lru_cache(maxsize=32)
def _summary(folder: Path, _changed_ns: int) -> RunSummary:
    """A run's summary; a page of several repeated runs needs each of them often."""
    run = Run(folder)
    return summarise(written_plan(run), run.records(lambda _line: None))

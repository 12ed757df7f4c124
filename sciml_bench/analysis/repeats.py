"""Runs that repeat a run: the same plan on the same machine with the same software."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from sciml_bench.analysis.summary import RunSummary, summarise
from sciml_bench.errors import StoreError
from sciml_bench.record.run_folder import Run, runs_in

MOST_RUNS = 12
"""Reading more takes too long."""


def repeats(run: Run) -> Iterator[RunSummary]:
    """The runs in the same folder that repeat a run, newest first. Damaged ones are left out."""
    return islice(_repeats(run), MOST_RUNS)


def _repeats(run: Run) -> Iterator[RunSummary]:
    own = _identity(run)
    for other in runs_in(run.folder.parent) if own is not None else ():
        if other.folder.resolve() != run.folder.resolve() and _identity(other) == own:
            try:
                yield summarise(other.plan, other.records(lambda _line: None))
            except StoreError:
                continue


def _identity(run: Run) -> tuple[str, str] | None:
    """The hashes of plan and environment; ``None`` if they cannot be read."""
    try:
        return run.plan["hash"], run.environment_hash
    except (StoreError, KeyError):
        return None

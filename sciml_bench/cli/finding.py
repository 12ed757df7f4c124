"""Finds the run that a command is about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sciml_bench.store import Run


def found_run(name: str | None, out: Path) -> Run:
    """The run of this folder or name; the newest one below ``out`` without a name.

    Raises:
        UsageError: there is no run yet.
        StoreError: the folder is not a run.
    """
    from sciml_bench.cli.running import runs_in
    from sciml_bench.errors import UsageError
    from sciml_bench.store import Run

    if name is None:
        for run in runs_in(out):
            return run
        raise UsageError(f"there is no run in {out}; make one with `sciml-bench stiff --profile smoke`")
    given = Path(name)
    return Run.open(given if given.is_dir() or not (out / name).is_dir() else out / name)

"""Finds the run that a command is about. Imports little: showing a run needs no plan and no framework."""

from __future__ import annotations

from collections.abc import Iterator
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
    from sciml_bench.errors import UsageError
    from sciml_bench.store import Run

    if name is None:
        for run in runs_in(out):
            return run
        raise UsageError(f"there is no run in {out}; make one with `sciml-bench stiff --profile smoke`")
    given = Path(name)
    return Run.open(given if given.is_dir() or not (out / name).is_dir() else out / name)


def runs_in(folder: Path) -> Iterator[Run]:
    """The runs below a folder, newest first; what is no run is passed over.

    Runs carry their date as name; those that were kept under a name of their own come last.
    """
    from sciml_bench.errors import StoreError
    from sciml_bench.store import Run

    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir(), key=lambda path: (path.name[:1].isdigit(), path.name), reverse=True):
        try:
            yield Run.open(path)
        except StoreError:
            continue

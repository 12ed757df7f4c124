"""The page of runs, assembled from its sections."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

from sciml_bench.analysis.loaded_run import read_run
from sciml_bench.record.jsonl import store_error, write_whole
from sciml_bench.record.run_folder import Run
from sciml_bench.render.html.claim import claim_tables
from sciml_bench.render.html.document import document
from sciml_bench.render.html.looks import Looks
from sciml_bench.render.html.run_comparison import between
from sciml_bench.render.html.section import Say, Section, section


def report(runs: Sequence[Run], now: datetime.datetime, say: Say = lambda _text: None, processes: int = 1) -> str:
    """The page of these runs; the others are compared with the first.

    ``now`` is only used for the age of a self-test: the same runs give the same page. ``say`` gets the current work.
    Large runs are read and drawn by several ``processes``; with more than one, the main module must be one that can be
    imported (see :mod:`sciml_bench.analysis.loaded_run`).

    Raises:
        StoreError: a run has no readable plan.
        SciMLBenchError: a process that was started ended early.
    """
    sections: list[Section] = []
    looks = Looks()
    for number, run in enumerate(runs, start=1):
        say(f"reading {run.folder.name}")
        sections.append(section(read_run(run, processes), number, now, looks, say, processes))
    claims, tables = claim_tables([tested for section in sections for tested in section.tested])
    if len(runs) > 1:
        say("comparing the runs")
    return document(
        "page.html",
        _title([run.folder.name for run in runs]),
        looks.sheet,
        sections=sections,
        claims=claims,
        claim_tables=tables,
        compared=tuple(between(runs)),
    )


def write_report(
    runs: Sequence[Run], now: datetime.datetime, path: Path, say: Say = lambda _text: None, processes: int = 1
) -> int:
    """Write the page of these runs to a file, as :func:`report` makes it; returns its size in bytes.

    Raises:
        StoreError: the file cannot be written, or a run has no readable plan.
    """
    text = report(runs, now, say, processes)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise store_error("create", path.parent, error) from error
    write_whole(path, text)
    return len(text.encode())


def _title(names: Sequence[str]) -> str:
    return f"sciml-bench: {names[0]}" if len(names) == 1 else f"sciml-bench: {len(names)} runs"

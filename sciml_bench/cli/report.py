"""``report``: one HTML file that opens by double click."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from sciml_bench.cli import completion, exit_codes
from sciml_bench.cli.options import out_option

# Work that is done sooner than this is not announced.
_SILENT_S = 1.0


@click.command(
    epilog="""\b
Examples:
  sciml-bench report
  sciml-bench report 2026-11-21T10-31-05Z_stiff_quick -o report.html
  sciml-bench report results/old results/new -o both.html
"""
)
@click.argument("runs", metavar="[RUN...]", nargs=-1, shell_complete=completion.RUNS)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("report.html"),
    show_default=True,
    metavar="FILE",
    help="The page to write; an earlier one is replaced.",
)
@out_option
def report(runs: tuple[str, ...], output: Path, out: Path) -> int:
    """Write the report of runs as one HTML file: verdicts, tables, figures, and why to believe them.

    RUN is a folder or a name below the results folder; without one the newest is taken. Several runs each get a
    section, and the others are compared with the first if possible. The file needs no network and no server.
    """
    import datetime

    from sciml_bench.analysis import process_pool
    from sciml_bench.analysis.machines import of_one_kind
    from sciml_bench.record.run_folder import find_run
    from sciml_bench.render.html.page import write_report

    named = [find_run(name, out) for name in dict.fromkeys(runs)] if runs else [find_run(None, out)]
    found = [of_one_kind(run) for run in named]
    with _progress() as say:
        n_bytes = write_report(found, datetime.datetime.now(datetime.UTC), output, say, process_pool.available())
    click.echo(str(output))
    click.echo(f"{n_bytes / 2**20:.1f} MiB; open it by double click", err=True)
    return exit_codes.OK


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Reports on standard error what is being done: on a terminal in one live line, elsewhere not at all."""
    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    started_s = time.monotonic()

    def say(text: str) -> None:
        if time.monotonic() - started_s > _SILENT_S:
            click.echo(f"\r\x1b[K{text[:60]}", nl=False, err=True)

    try:
        yield say
    finally:
        click.echo("\r\x1b[K", nl=False, err=True)

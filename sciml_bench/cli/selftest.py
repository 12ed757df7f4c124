"""``selftest``: the harness tested on this machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sciml_bench.cli import exit_codes
from sciml_bench.cli.machine import one_at_a_time, wait_options
from sciml_bench.cli.options import json_option, out_option

if TYPE_CHECKING:
    from sciml_bench.analysis.selftest.store import Writer
    from sciml_bench.execution.selftest import Measured


_DEFAULT_MINUTES = 10.0
_TOLD_EVERY = 2

Tell = Callable[["Measured", float], None]


@click.command(
    epilog="""\b
Examples:
  sciml-bench selftest
  sciml-bench selftest --minutes 20 --json

\b
Exit codes:
    0  passed: at most 7 % false positives; a slowdown of 10 % found in at
       least 90 % of the trials, and read right; no bias and no drift
    1  not passed: do not trust verdicts of this machine today
    2  wrong usage, too little time to tell, or a host that measures already
  130  interrupted; the measurements are kept
"""
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True, max=24 * 60),
    default=_DEFAULT_MINUTES,
    show_default=True,
    help="Duration of the measurement; longer runs give tighter intervals.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of order and trials.")
@out_option
@wait_options
@json_option
def selftest(minutes: float, seed: int, out: Path, wait: str | None, as_json: bool) -> int:
    """Measure how often verdicts are wrong on this machine, and the slowdown they find.

    Blocks of one cheap cell are measured in fresh processes: twice as it is, and slowed down by 3 % and by 10 % with
    work that is really done inside the timed calls. It is sampled as a point of profile standard. Trials drawn from
    these processes give the rate of false positives and of slowdowns found. The order in a block is random, fixed
    and alternating by turns, so that effects of label and position become visible. The figures are kept, and head
    the reports of runs on this machine.
    """
    from datetime import UTC, datetime

    from sciml_bench.analysis.selftest.store import Writer
    from sciml_bench.execution.selftest import Measured, measure, workload
    from sciml_bench.host.environment import environment_facts

    measured, interrupted = Measured(), False
    chosen = workload()
    with one_at_a_time(wait):
        writer = Writer(out, environment_facts(), datetime.now(UTC))
        click.echo(f"measuring for {minutes:g} minutes; Ctrl-C ends it early and keeps the measurements", err=True)
        try:
            with _telling() as tell:
                measure(chosen, writer, measured, seconds=60 * minutes, seed=seed, tell=tell)
        except KeyboardInterrupt:
            interrupted = True
    return _finish(writer, measured, seed, interrupted, as_json)


def _finish(writer: Writer, measured: Measured, seed: int, interrupted: bool, as_json: bool) -> int:
    from sciml_bench.analysis.selftest.figures import figures
    from sciml_bench.analysis.selftest.store import document
    from sciml_bench.cli.output import print_json
    from sciml_bench.errors import UsageError
    from sciml_bench.render.selftest import lines

    try:
        found = figures(measured.series, seed)
    except ValueError as error:
        if interrupted:
            click.echo(f"interrupted, too early for figures: {error}", err=True)
            return exit_codes.INTERRUPTED
        raise UsageError(f"too little to tell: {error}; give more --minutes, or see {writer.folder}") from error
    done = writer.finish(found, processes=measured.processes, noisy=measured.noisy, interrupted=interrupted)
    if as_json:
        print_json({"folder": str(done.folder), **document(done)})
    else:
        for line in lines(done):
            click.echo(line)
    if interrupted:
        return exit_codes.INTERRUPTED
    return exit_codes.OK if found.passed else exit_codes.CHECK_FAILED


@contextmanager
def _telling() -> Iterator[Tell]:
    """Reports progress: a bar on a terminal, now and then a line elsewhere."""
    if not sys.stderr.isatty():
        yield _lines
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(30), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn(),
               TextColumn("{task.description}"))  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), refresh_per_second=1, transient=True) as progress:
        task = progress.add_task("first block", total=1.0)

        def bar(measured: Measured, share: float) -> None:
            progress.update(task, completed=share, description=f"{measured.blocks} blocks")

        yield bar


def _lines(measured: Measured, share: float) -> None:
    if measured.blocks % _TOLD_EVERY == 0:
        told = f"{measured.blocks} blocks, {measured.processes} processes, {100 * share:.0f} % of the time"
        click.echo(told, err=True)

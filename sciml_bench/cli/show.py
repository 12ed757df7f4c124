"""``show``: the tables of a run."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sciml_bench.cli import options as exits
from sciml_bench.cli.options import json_option, out_option
from sciml_bench.errors import StoreError
from sciml_bench.record.run_folder import runs_in

if TYPE_CHECKING:
    from sciml_bench.analysis.selftest_store import SelfTest
    from sciml_bench.analysis.summary import RunSummary
    from sciml_bench.record.run_folder import Run


# Finds the run that a command is about. Imports little: showing a run needs no plan and no framework.


def found_run(name: str | None, out: Path) -> Run:
    """The run of this folder or name; the newest one below ``out`` without a name.

    Raises:
        UsageError: there is no run yet.
        StoreError: the folder is not a run.
    """
    from sciml_bench.errors import UsageError
    from sciml_bench.record.run_folder import Run

    if name is None:
        for run in runs_in(out):
            return run
        raise UsageError(f"there is no run in {out}; make one with `sciml-bench stiff --profile smoke`")
    given = Path(name)
    return Run.open(given if given.is_dir() or not (out / name).is_dir() else out / name)


# What heads a report: the figures of the self-test that was made on the machine of a run.


def selftest_line(run: Run) -> str:
    """One line: what the harness is worth on the machine of this run, or why that is not known."""
    from sciml_bench.render.selftest import head

    return head(_newest(run), _environment(run), datetime.datetime.now(datetime.UTC))


def selftest_document(run: Run) -> dict[str, Any] | None:
    """The same as JSON values, with whether it was made on the machine of the run; ``None`` when there is none."""
    from sciml_bench.analysis.comparable import machine_hash
    from sciml_bench.analysis.selftest_store import document

    test = _newest(run)
    if test is None:
        return None
    return {**document(test), "same_machine": test.machine == machine_hash(_environment(run))}


def _newest(run: Run) -> SelfTest | None:
    """The newest self-test beside a run."""
    from sciml_bench.analysis.selftest_store import newest

    return newest(run.folder.parent)


def _environment(run: Run) -> dict[str, Any]:
    try:
        return run.environment
    except StoreError:
        # A run without its environment is shown all the same; no machine is then the same.
        return {}


@click.command(
    epilog="""\b
Examples:
  sciml-bench show
  sciml-bench show results/2026-11-21T10-31-05_stiff_smoke
  sciml-bench show 2026-11-21T10-31-05_stiff_smoke --json
"""
)
@click.argument("run", required=False, metavar="[RUN]")
@out_option
@json_option
def show(run: str | None, out: Path, as_json: bool) -> int:
    """Show the tables of a run: its folder, its name, or nothing for the newest one."""

    print_report(found_run(run, out), as_json)
    return exits.OK


def print_report(run: Run, as_json: bool) -> RunSummary:
    """Print the report of a run, as tables or as JSON; returns what it is made of."""
    from sciml_bench.analysis.summary import summarise

    damaged: list[str] = []
    summary = summarise(run.plan, run.records(on_damage=lambda line: damaged.append(str(line))))
    if as_json:
        from sciml_bench.cli.options import print_json
        from sciml_bench.render.document import run_document

        print_json({**run_document(summary, run.folder), "selftest": selftest_document(run)})
    else:
        from sciml_bench.render.terminal import console_for, print_lines, print_run

        console = console_for(sys.stdout)
        print_lines([selftest_line(run)], console)
        print_run(summary, run.folder, console)
    for line in damaged:
        click.echo(f"left out: {line}", err=True)
    return summary

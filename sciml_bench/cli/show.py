"""``show``: the tables of a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sciml_bench.cli import completion, exit_codes
from sciml_bench.cli.options import json_option, machine_option, out_option
from sciml_bench.cli.output import print_json, print_left_out

if TYPE_CHECKING:
    from sciml_bench.analysis.summary import RunSummary
    from sciml_bench.record.run_folder import Run


@click.command(
    epilog="""\b
Examples:
  sciml-bench show
  sciml-bench show results/2026-11-21T10-31-05Z_stiff_smoke
  sciml-bench show 2026-11-21T10-31-05Z_stiff_smoke --all
  sciml-bench show 2026-11-21T10-31-05Z_stiff_smoke --json
"""
)
@click.argument("run", required=False, metavar="[RUN]", shell_complete=completion.RUNS)
@click.option("--all", "full", is_flag=True, help="Add matched tables, verdicts, stability, phases and skipped cells.")
@machine_option
@out_option
@json_option
def show(run: str | None, full: bool, machine: int | None, out: Path, as_json: bool) -> int:
    """Show the tables of a run: its folder, its name, or nothing for the newest one."""
    from sciml_bench.record.run_folder import find_run

    print_report(find_run(run, out), as_json, full=full, machine=machine)
    return exit_codes.OK


def print_report(run: Run, as_json: bool, *, full: bool = False, machine: int | None = None) -> RunSummary:
    """Print the report of a run, as tables or as JSON, and return its summary."""
    from sciml_bench.analysis import machines
    from sciml_bench.analysis.analysis import analysed

    damaged: list[object] = []
    run = machines.of_one_kind(run, machine)
    other_machines = machines.note(run)
    analysis = analysed(run, damaged.append)
    if as_json:
        from sciml_bench.render.document import run_document
        from sciml_bench.render.selftest import selftest_document

        document = {**run_document(analysis), "selftest": selftest_document(run)}
        print_json({**document, "machines": other_machines} if other_machines else document)
    else:
        from sciml_bench.render.selftest import selftest_line
        from sciml_bench.render.terminal import console_for, print_lines, print_run

        console = console_for(sys.stdout)
        if full:
            print_lines([selftest_line(run)], console)
        print_lines([other_machines] if other_machines else [], console)
        print_run(analysis, console, full=full)
    for line in damaged:
        print_left_out(line)
    return analysis.summary

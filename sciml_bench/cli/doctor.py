"""``doctor``: what makes this machine noisy."""

from __future__ import annotations

import shutil
import sys

import click

from sciml_bench.cli import exit_codes
from sciml_bench.cli.options import json_option
from sciml_bench.cli.parameter_types import SECONDS

# In piped output, lines are as long as their sentences.
_PIPED_WIDTH = 10_000


@click.command(
    epilog="""\b
Examples:
  sciml-bench doctor
  sciml-bench doctor --json

\b
Exit codes:
    0  the machine was checked, whatever was found
    2  wrong usage, or nothing at all could be read
"""
)
@click.option(
    "--window",
    "window_s",
    type=SECONDS,
    default=1.0,
    show_default=True,
    metavar="S",
    help="Sampling window for rates, in seconds.",
)
@json_option
def doctor(window_s: float, as_json: bool) -> int:
    """Report sources of timing noise on this machine and how to fix each. Changes nothing.

    Findings are not failures: the exit code is 0 whatever is found, so that a script can print them before a run.
    """
    from sciml_bench.errors import UsageError
    from sciml_bench.host.doctor import examination_document, examine
    from sciml_bench.host.doctor.readings import gather
    from sciml_bench.render.doctor import lines

    readings = gather(window_s)
    if not readings.readable:
        raise UsageError("nothing can be read here: neither /proc nor /sys, nor the list of processes; mount /proc")
    findings = examine(readings)
    if as_json:
        from sciml_bench.cli.output import print_json

        print_json(examination_document(findings))
        return exit_codes.OK
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPED_WIDTH
    for line in lines(findings, width):
        click.echo(line)
    return exit_codes.OK

"""``verify``: whether a run was measured by the rules."""

from __future__ import annotations

from pathlib import Path

import click

from sciml_bench.cli import completion, exit_codes
from sciml_bench.cli.options import json_option, out_option


@click.command(
    epilog="""\b
Examples:
  sciml-bench verify
  sciml-bench verify results/2026-11-21T10-31-05Z_stiff_quick
  sciml-bench verify 2026-11-21T10-31-05Z_stiff_quick --json

\b
Exit codes:
    0  VALID
    1  INVALID: at least one record, or the run as a whole, breaks a rule
    2  wrong usage, or the folder is not a run
"""
)
@click.argument("run", required=False, metavar="[RUN]", shell_complete=completion.RUNS)
@click.option("--all", "everything", is_flag=True, help="List every record and every violation.")
@out_option
@json_option
def verify(run: str | None, everything: bool, out: Path, as_json: bool) -> int:
    """Check a run against the rules of measurement: its folder, its name, or nothing for the newest one.

    Each record is VALID or INVALID, with the rules that it breaks and what to do. Scores are computed again from the
    stored end states and gradients. Nothing is changed.
    """
    from sciml_bench.record.run_folder import find_run
    from sciml_bench.render.verification import lines
    from sciml_bench.verification.verify import verification_document, verify_run

    found = find_run(run, out)
    result = verify_run(found)
    if as_json:
        from sciml_bench.cli.output import print_json

        print_json({"folder": str(found.folder), **verification_document(result)})
    else:
        click.echo(f"run folder: {found.folder}")
        for line in lines(result, everything):
            click.echo(line)
    return exit_codes.OK if result.valid else exit_codes.CHECK_FAILED

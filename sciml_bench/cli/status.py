"""``status``: the progress of a run on a cluster."""

from __future__ import annotations

from pathlib import Path

import click

from sciml_bench.cli import completion, exit_codes
from sciml_bench.cli.options import json_option
from sciml_bench.cli.output import print_json


@click.command(
    epilog="""\b
Examples:
  sciml-bench status results/2026-11-21T10-31-05Z_stiff_standard
  sciml-bench status results/2026-11-21T10-31-05Z_stiff_standard --log 003-robertson

\b
Exit codes:
    0  nothing has failed
    1  a unit has failed; the command of the run submits it again
    2  the folder cannot be read, or holds no units
"""
)
@click.argument("run", type=click.Path(path_type=Path, file_okay=False), shell_complete=completion.RUNS)
@click.option("--log", "unit", metavar="UNIT", help="Print the logs of all attempts at a unit.")
@json_option
def status(run: Path, unit: str | None, as_json: bool) -> int:
    """Show the progress of a run on a cluster.

    It reads the run's folder alone, while the run is measured or later, on any machine that sees the folder.
    """
    from sciml_bench.analysis.tables import formatting
    from sciml_bench.execution.cluster.status import Progress, log_of, status_document
    from sciml_bench.execution.cluster.status import status as status_of
    from sciml_bench.planning.written_plan import written_plan
    from sciml_bench.record.run_folder import Run

    opened = Run.open(run)
    folder = opened.folder
    if unit is not None:
        click.echo(log_of(folder, unit))
        return exit_codes.OK
    found = status_of(folder, written_plan(opened))
    failed = found.count(Progress.FAILED)
    if as_json:
        print_json(status_document(found))
        return exit_codes.CHECK_FAILED if failed else exit_codes.OK
    width = max(len(each.unit) for each in found.units)
    for each in found.units:
        facts = [each.node, "" if each.seconds is None else formatting.rough_duration(each.seconds)]
        facts += [f"attempt {each.tasks}" if each.tasks > 1 else "", each.message]
        line = f"{each.unit:<{width}}  {each.progress:<13}  {', '.join(fact for fact in facts if fact)}"
        click.echo(line.rstrip())
    counts = [f"{found.count(progress)} {progress}" for progress in Progress if found.count(progress)]
    later = f", of at most {found.planned}" if found.planned > len(found.units) else ""
    click.echo(f"{len(found.units)} units{later}: {', '.join(counts)}")
    if found.left_s is not None:
        click.echo(f"about {formatting.rough_duration(found.left_s)} left on {found.count(Progress.RUNNING)} nodes")
    if failed:
        name = next(each.unit for each in found.units if each.progress is Progress.FAILED)
        click.echo(f"logs of a failed unit: sciml-bench status {run} --log {name}")
    return exit_codes.CHECK_FAILED if failed else exit_codes.OK

"""``worker`` and ``merge``: units of work carried out elsewhere, and their shards joined to the run."""

from __future__ import annotations

from pathlib import Path

import click

from sciml_bench.cli import exit_codes
from sciml_bench.cli.machine import one_at_a_time, wait_options
from sciml_bench.cli.options import json_option
from sciml_bench.cli.output import print_json
from sciml_bench.record.text import counted


@click.command(
    epilog=f"""\b
Example:
  sciml-bench worker --unit results/RUN/units/000-robertson.json --out shards/000-robertson

{exit_codes.TEXT}"""
)
@click.option(
    "--unit",
    "file",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A unit that `sciml-bench run --engine files` wrote.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder of the shard: a new one, or one that was interrupted here.",
)
@wait_options
def worker(file: Path, out: Path, wait: str | None) -> int:
    """Run one unit of work (one block of a problem) and write a shard.

    A unit holds programs that are run: carry out only units that you, or people you trust, have written. The same
    command finishes a shard that was interrupted.
    """
    from sciml_bench.engine.unit import Unit
    from sciml_bench.execution.finished import Finished
    from sciml_bench.execution.session import terminable
    from sciml_bench.execution.shard import Shard, carry_out, environment_of
    from sciml_bench.host.machine import pseudonym
    from sciml_bench.record.record import Record
    from sciml_bench.record.retry_policy import RESULTS

    def show(place: int, total: int, record: Record) -> None:
        click.echo(str(Finished(place, total, record)))

    unit = Unit.read(file)
    unit.check_version()
    environment = environment_of(unit)
    with one_at_a_time(wait):
        shard = Shard.begin(unit, out, environment)
        if shard.is_whole:
            click.echo(f"{out} is finished already")
            return exit_codes.OK
        click.echo(f"unit {unit}: {len(unit.jobs)} processes of {unit.problem} in block {unit.block}")
        try:
            with terminable():
                carry_out(shard, pseudonym(unit.plan_hash), show)
        except KeyboardInterrupt:
            click.echo("interrupted; the same command finishes this shard", err=True)
            return exit_codes.INTERRUPTED
    click.echo(f"shard: {out}")
    broken = any(record.outcome not in RESULTS for record in shard.records())
    return exit_codes.BROKEN_CELLS if broken else exit_codes.OK


@click.command(
    epilog="""\b
Examples:
  sciml-bench merge shards/* -o results/2026-11-21T10-31-05Z_stiff_quick
  sciml-bench merge shards -o results/2026-11-21T10-31-05Z_stiff_quick

\b
Exit codes:
    0  all shards are in the run
    2  a shard does not belong there, or cannot be read; nothing was added
"""
)
@click.argument("shards", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="SHARD...")
@click.option(
    "--out",
    "-o",
    "folder",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="RUN",
    help="Folder of the run that wrote the units.",
)
@json_option
def merge(shards: tuple[Path, ...], folder: Path, as_json: bool) -> int:
    """Merge shards into their run.

    A SHARD is a folder that `sciml-bench worker` left, or a folder of such folders. All are checked before the first is
    added, and one that was added before is passed over, so that the command can be repeated as shards arrive.
    """
    from sciml_bench.execution.merge import merge as merged
    from sciml_bench.record.run_folder import Run

    run = Run.open(folder)
    done = merged(run, shards)
    missing = done.missing
    if as_json:
        print_json(
            {
                "folder": str(folder),
                "added": [unit.id for unit in done.added],
                "already_there": [unit.id for unit in done.known],
                "records": done.records,
                "missing": list(missing),
            }
        )
        return exit_codes.OK
    known = f", {len(done.known)} were there already" if done.known else ""
    click.echo(f"added {counted(len(done.added), 'shard')} with {counted(done.records, 'record')}{known}")
    if missing:
        click.echo(
            f"still missing: {len(missing)} of {done.units} units: {', '.join(missing[:5])}"
            + (" …" if missing[5:] else "")
        )
    else:
        click.echo(f"all is there, {counted(done.units, 'unit')}: sciml-bench show {folder}")
    return exit_codes.OK

"""``each``: one command for many models, by the workers of Dask."""

from __future__ import annotations

from pathlib import Path

import click

from sciml_bench.cli import completion, exit_codes

_COMMANDS = {
    "advise": ("advise",),
    "certify": ("certify",),
    "compute": ("reference", "compute"),
    "check": ("reference", "check"),
}


@click.command(
    epilog=f"""\b
Examples:
  sciml-bench each compute *.toml --scheduler tcp://node1:8786
  sciml-bench each advise a.toml b.toml --scheduler tcp://node1:8786 --option=--count=100

{exit_codes.TEXT}"""
)
@click.argument("command", type=click.Choice(tuple(_COMMANDS)))
@click.argument("models", nargs=-1, required=True, metavar="MODEL...", shell_complete=completion.PROBLEMS)
@click.option("--scheduler", required=True, metavar="ADDRESS", help="Dask's scheduler.")
@click.option("--option", "options", multiple=True, metavar="OPTION", help="For each command, as --option=--count=100.")
def each(command: str, models: tuple[str, ...], scheduler: str, options: tuple[str, ...]) -> int:
    """Advise, certify, or compute or check references for many models at once.

    The workers of a Dask scheduler take one model each; all must see this folder. `compute` and `check` belong to
    `reference`. Workers for `advise`, which measures, need the resource bench.
    """
    from sciml_bench.execution.cluster.fan_out import fan_out

    words = {model: [*_COMMANDS[command], model, *options] for model in dict.fromkeys(models)}
    worst = exit_codes.OK
    for done in fan_out(scheduler, words, Path.cwd(), measures=command == "advise"):
        click.echo(f"{done.name}:" if done.output else f"{done.name}: nothing to do")
        click.echo("".join(f"  {line}\n" for line in done.output.splitlines()), nl=False)
        worst = max(worst, done.code)
    return worst

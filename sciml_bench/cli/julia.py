"""``julia setup`` and ``julia status``: the Julia that workers start with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import click

from sciml_bench.adapters.julia.optional_parts import OPTIONAL
from sciml_bench.cli import exit_codes
from sciml_bench.cli.options import json_option
from sciml_bench.host.environments import NAMES


def _checked_name(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if value and not NAMES.fullmatch(value):
        raise click.BadParameter("letters, digits, '.', '_' and '-', a letter or a digit first")
    return value


_name_option = click.option(
    "--name",
    default="",
    metavar="NAME",
    callback=_checked_name,
    help="A further set of packages, measured as the adapter julia@NAME.",
)


def _environment(name: str) -> Mapping[str, str]:
    from sciml_bench.adapters.julia.installation import named

    return named(name) if name else os.environ


@click.group(epilog="\b\nExamples:\n  sciml-bench julia setup\n  sciml-bench julia status\n")
def julia() -> None:
    """Set up Julia, or show its status."""


@julia.command(
    epilog="""\b
Examples:
  sciml-bench julia setup
  sciml-bench julia setup --julia ~/julia-1.10/bin/julia --depot /scratch/depot
  sciml-bench julia setup --project shared_project --offline
  sciml-bench julia setup --with simplechains --with mooncake
  sciml-bench julia setup --name older --project older_project

\b
Exit codes:
    0  Julia is ready; parts that do not work are listed, and their cells skipped
    1  everything is in place, but a solve or a gradient failed
    2  Julia could not be found, installed or prepared
"""
)
@click.option("--julia", "path", metavar="PATH", help="The Julia to use. Default: PATH, then juliapkg's.")
@click.option(
    "--project",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The Julia project to prepare. Default: one of the suite's own in your data folder.",
)
@click.option(
    "--depot",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder for Julia's packages and compiled code [default: Julia's own].",
)
@click.option("--offline", is_flag=True, help="Use only packages that are on this machine.")
@click.option(
    "--with",
    "parts",
    type=click.Choice(tuple(OPTIONAL)),
    multiple=True,
    help="Add an optional part, whose packages may hold others back. Its cells need it.",
)
@_name_option
def setup(
    path: str | None, project: Path | None, depot: Path | None, offline: bool, parts: tuple[str, ...], name: str
) -> int:
    """Find or install Julia, prepare its project, precompile it, and try it.

    Workers start with the recorded Julia; they never look for Julia and never resolve a package.
    """
    from sciml_bench.adapters.julia import installation
    from sciml_bench.adapters.julia.self_check import REQUIRED
    from sciml_bench.adapters.julia.setting_up import Wishes, set_up

    wishes = Wishes(path, project, depot, offline, parts, name)
    found = set_up(wishes, os.environ, lambda line: click.echo(line, err=True))
    record = installation.record_path(_environment(name))
    installation.write(found, record)
    click.echo(f"recorded in {record}")
    if found.parts[REQUIRED]:
        click.echo(f"ERROR: Julia is in place, but does not work: {found.parts[REQUIRED]}", err=True)
        return exit_codes.CHECK_FAILED
    broken = [part for part, message in found.parts.items() if message]
    exceptions = f", except {', '.join(broken)}" if broken else ""
    adapter = f"julia@{name}" if name else "julia"
    click.echo(f"Julia is ready{exceptions}; try: sciml-bench run --problem robertson --adapter {adapter}")
    return exit_codes.OK


@julia.command(
    epilog="""\b
Examples:
  sciml-bench julia status
  sciml-bench julia status --json

\b
Exit codes:
    0  Julia can run here
    1  it cannot; the last line says why, and how to fix it
"""
)
@_name_option
@json_option
def status(as_json: bool, name: str) -> int:
    """Show which Julia the workers use, its package versions, and which parts work."""
    from sciml_bench.adapters.julia.status import document, lines
    from sciml_bench.adapters.julia.status import status as look

    found = look(_environment(name))
    if as_json:
        from sciml_bench.cli.output import print_json

        print_json(document(found))
    else:
        for line in lines(found):
            click.echo(line)
    return exit_codes.CHECK_FAILED if found.lacking else exit_codes.OK

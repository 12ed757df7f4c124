"""``env``: environments of Python packages with names, so that releases of a library are compared in one run."""

from __future__ import annotations

import click

from sciml_bench.cli import exit_codes
from sciml_bench.cli.options import json_option


@click.group(
    epilog="\b\nExamples:\n  sciml-bench env make older diffrax==0.7.1\n"
    "  sciml-bench run robertson --adapter diffrax,diffrax@older\n"
)
def env() -> None:
    """Make environments of Python packages for adapters."""


@env.command(
    epilog="""\b
Examples:
  sciml-bench env make older diffrax==0.7.1
  sciml-bench env make nightly-torch torch==2.14.0 torchdiffeq --python 3.12
  sciml-bench env make plain --extra tensorflow --offline

\b
Exit codes:
    0  the environment is made, and starts a worker
    2  it cannot be made; the message has uv's reason
"""
)
@click.argument("name")
@click.argument("requirements", nargs=-1, metavar="PACKAGE==VERSION...")
@click.option("--extra", "extras", multiple=True, metavar="NAME", help="An extra of this package [default: as needed].")
@click.option("--python", default="", metavar="VERSION", help="A version of Python, or a path [default: this one].")
@click.option("--offline", is_flag=True, help="Use only packages that uv has downloaded before.")
def make(name: str, requirements: tuple[str, ...], extras: tuple[str, ...], python: str, offline: bool) -> int:
    """Make an environment; its cells have the adapters ADAPTER@NAME.

    Packages that are not named get the versions that are installed here, if they fit. uv chooses and installs them.
    """
    from sciml_bench.adapters import registry
    from sciml_bench.host import environments

    if not requirements and not extras:
        raise click.UsageError("name a package, or an --extra")

    def say(line: str) -> None:
        click.echo(line, err=True)

    named = map(environments.distribution, requirements)
    extras = extras or registry.extras(adapter for package in named for adapter in registry.needing(package))
    made = environments.make(name, requirements, extras, python=python, offline=offline, say=say)
    click.echo(f"{made.name}: Python {made.python}, {len(made.lock.splitlines())} packages, lock {made.lock_hash[:12]}")
    return exit_codes.OK


@env.command(name="list", epilog="\b\nExample:\n  sciml-bench env list --json\n")
@json_option
def listing(as_json: bool) -> int:
    """List the environments, their requirements, and whether they work."""
    from dataclasses import asdict

    from sciml_bench.cli.output import print_json
    from sciml_bench.errors import StoreError, UsageError
    from sciml_bench.host import environments

    found: list[environments.Environment] = []
    for name in environments.names():
        try:
            found.append(environments.read(name))
        except (StoreError, UsageError) as error:
            click.echo(f"left out: {error}", err=True)
    if as_json:
        print_json([{**asdict(item), "broken": item.broken} for item in found])
        return exit_codes.OK
    for item in found:
        asked = ", ".join((*item.requirements, *item.extras))
        click.echo(f"{item.name}: {asked}; Python {item.python}{f'; {item.broken}' if item.broken else ''}")
    if not found:
        click.echo("no environments; make one with: sciml-bench env make NAME PACKAGE==VERSION", err=True)
    return exit_codes.OK


@env.command(epilog="\b\nExample:\n  sciml-bench env remove older\n")
@click.argument("name")
def remove(name: str) -> int:
    """Remove an environment. Runs keep its lock."""
    from sciml_bench.host import environments

    environments.remove(name)
    return exit_codes.OK

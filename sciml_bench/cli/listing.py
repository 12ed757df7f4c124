"""``list``: problems, adapters, suites and runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sciml_bench.cli.columns import print_table
from sciml_bench.cli.options import json_option, out_option
from sciml_bench.cli.output import print_json
from sciml_bench.cli.parameter_types import NAMES


def _example(line: str) -> str:
    return f"\b\nExample:\n  {line}\n"


@click.group("list", epilog=_example("sciml-bench list problems --suite stiff"))
def listing() -> None:
    """List problems, adapters, suites or runs."""


@listing.command(epilog=_example("sciml-bench list problems --suite stiff --json"))
@click.option("--suite", "suites", type=NAMES, default=(), metavar="NAME[,NAME]", help="Only these suites.")
@json_option
def problems(suites: tuple[str, ...], as_json: bool) -> None:
    """List the problems of the catalog."""
    from sciml_bench.planning.listing import list_problems

    found = list_problems(suites)
    reasons = {row["name"]: row["heavy"] for row in found if "heavy" in row}
    rows = found if as_json else [{key: row[key] for key in row if key != "heavy"} for row in found]
    _print(rows, as_json)
    if reasons and not as_json:
        click.echo("\nHeavy problems are in no profile and run only when they are named:")
        for name, reason in reasons.items():
            click.echo(f"  {name}: {reason}")


@listing.command(epilog=_example("sciml-bench list suites"))
@json_option
def suites(as_json: bool) -> None:
    """List the suites and how many problems of each tier they hold."""
    from sciml_bench.planning.listing import list_suites

    _print(list_suites(), as_json)


@listing.command(epilog=_example("sciml-bench list adapters --json"))
@json_option
def adapters(as_json: bool) -> None:
    """List the adapters, whether they can run here, and their capabilities."""
    from sciml_bench.planning.listing import list_adapters

    rows = list_adapters()
    if as_json:
        print_json(rows)
        return
    for row in rows:
        click.echo(f"{row['adapter']}: {row['title'] or 'not loaded'}{', runs here' if row['here'] == 'yes' else ''}")
        for name in ("methods", "sensitivities", "modes"):
            if row[name]:
                click.echo(f"  {name}: {', '.join(row[name])}")
        if row["note"]:
            click.echo(f"  {row['note']}")


@listing.command(epilog=_example("sciml-bench list runs --out results"))
@out_option
@json_option
def runs(out: Path, as_json: bool) -> None:
    """List the runs in a folder, newest first."""
    from sciml_bench.planning.listing import list_runs

    rows = list_runs(out)
    if not rows:
        click.echo(f"no run in {out}", err=True)
    _print(rows, as_json)


def _print(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(rows)
    elif rows:
        optional = [name for name in ("tags", "command") if name in rows[0]]
        print_table(list(rows[0]), [[_text(value) for value in row.values()] for row in rows], optional=optional)


def _text(value: Any) -> str:
    return ",".join(value) or "-" if isinstance(value, list) else str(value)

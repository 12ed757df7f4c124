"""``list``: problems, adapters, suites and runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sciml_bench.cli.options import Names, json_option, out_option, print_json, print_table


def _example(line: str) -> str:
    return f"\b\nExample:\n  {line}\n"


@click.group("list", epilog=_example("sciml-bench list problems --suite stiff"))
def listing() -> None:
    """List problems, adapters, suites or runs."""


@listing.command(epilog=_example("sciml-bench list problems --suite stiff --json"))
@click.option("--suite", "suites", type=Names(), default=(), metavar="NAME[,NAME]", help="Only these suites.")
@json_option
def problems(suites: tuple[str, ...], as_json: bool) -> None:
    """List the problems of the catalog."""
    from sciml_bench.problem import catalog

    headers = [catalog.header(name) for name in catalog.names()]
    _check_suites(suites, {header.suite for header in headers})
    rows = [
        {"name": h.name, "suite": h.suite, "tier": h.tier, "tags": list(h.tags), "title": h.title}
        for h in headers
        if not suites or h.suite in suites
    ]
    reasons = {h.name: h.heavy for h in headers if h.heavy and (not suites or h.suite in suites)}
    if as_json:
        rows = [{**row, "heavy": reasons[row["name"]]} if row["name"] in reasons else row for row in rows]
    _print(rows, as_json)
    if reasons and not as_json:
        click.echo("\nHeavy problems are in no profile and run only when they are named:")
        for name, reason in reasons.items():
            click.echo(f"  {name}: {reason}")


@listing.command(epilog=_example("sciml-bench list suites"))
@json_option
def suites(as_json: bool) -> None:
    """List the suites and how many problems of each tier they hold."""
    from sciml_bench.plan.profiles import TIERS
    from sciml_bench.problem import catalog

    counts: dict[str, dict[str, int]] = {}
    for name in catalog.names():
        header = catalog.header(name)
        tiers = counts.setdefault(header.suite, dict.fromkeys(TIERS, 0))
        tiers[header.tier] += 1
    _print([{"suite": suite, "problems": sum(tiers.values()), **tiers} for suite, tiers in counts.items()], as_json)


@listing.command(epilog=_example("sciml-bench list adapters --json"))
@json_option
def adapters(as_json: bool) -> None:
    """List the adapters, whether they can run here, and what they can do."""
    from sciml_bench.adapters import registry

    rows: list[dict[str, Any]] = []
    for name, declared in registry.adapters().items():
        lacking = registry.missing(declared)
        rows.append(
            {
                "adapter": name,
                "here": "no" if lacking else "yes",
                "methods": [method.name for method in declared.methods],
                "sensitivities": list(declared.sensitivities),
                "modes": list(declared.cell_modes),
                "title": declared.title,
                "note": lacking.reason if lacking else "",
            }
        )
    for error in registry.load_errors():
        note = f"cannot be loaded from {error.origin}: {error.message}"
        rows.append({"adapter": error.name, "here": "no", "methods": [], "sensitivities": [], "modes": [],
                     "title": "", "note": note})  # fmt: skip
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
    from sciml_bench.record.run_folder import runs_in

    rows: list[dict[str, Any]] = []
    for run in runs_in(out):
        plan = run.plan
        cells = {cell["cell_id"] for cell in plan["cells"]}
        seen = {cell_id for cell_id, _ in run.done()}
        rows.append(
            {
                "run": run.folder.name,
                "profile": plan["profile"]["name"],
                "cells": len(cells),
                "recorded": len(cells & seen),
                "command": plan.get("command", ""),
            }
        )
    if not rows:
        click.echo(f"there is no run in {out}", err=True)
    _print(rows, as_json)


def _check_suites(wanted: tuple[str, ...], known: set[str]) -> None:
    if not wanted:
        return
    from sciml_bench.plan.selection import check_names

    check_names("suite", wanted, known, "sciml-bench list suites")


def _print(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(rows)
    elif rows:
        print_table(list(rows[0]), [[_text(value) for value in row.values()] for row in rows])


def _text(value: Any) -> str:
    return ",".join(value) or "-" if isinstance(value, list) else str(value)

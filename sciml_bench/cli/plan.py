"""``plan``: what would run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sciml_bench.cli import exits
from sciml_bench.cli.options import json_option, measuring_options, selection_options

if TYPE_CHECKING:
    from sciml_bench.plan.plan import Plan


@click.command(
    epilog=f"""\b
Examples:
  sciml-bench plan --suite stiff --profile smoke
  sciml-bench plan my_problem.toml --adapter diffrax --json

{exits.TEXT}"""
)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE.toml]...")
@selection_options()
@measuring_options
@json_option
def plan(files: tuple[Path, ...], selection: dict[str, Any], as_json: bool, **options: Any) -> int:
    """Show what would run, what it would cost, and what is skipped and why. Runs nothing."""
    from sciml_bench.cli.output import print_json
    from sciml_bench.cli.planning import planned, print_nothing

    made = planned(selection, files, **options)
    if as_json:
        order = [[slot.block, slot.order, made.cell_ids[slot.index]] for slot in made.slots]
        print_json({**made.to_dict(), "hash": made.hash, "estimated_s": round(made.cost_s()), "order": order})
    if not made.planned:
        return print_nothing(made)
    if not as_json:
        _print(made)
    return exits.OK


def _print(made: Plan) -> None:
    from sciml_bench.cli.output import print_table
    from sciml_bench.cli.progress import announcement
    from sciml_bench.plan.cost import duration_text
    from sciml_bench.report.account import grouped

    rows = [
        [item.cell.label, item.division, item.group or "-", duration_text(cost_s)]
        for item, cost_s in zip(made.planned, made.costs_s, strict=True)
    ]
    print_table(["cell", "division", "matched as", "per process"], rows)
    click.echo()
    for reason, count in grouped(item.reason for item in made.skipped).items():
        click.echo(f"skipped {count}: {reason}")
    click.echo(
        f"planned {len(made.planned) + len(made.skipped)} = to run {len(made.planned)} + skipped {len(made.skipped)}"
    )
    click.echo(announcement(made, made.slots))

"""``plan``: what would run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sciml_bench.analysis.cell_tally import grouped
from sciml_bench.cli import completion, exit_codes
from sciml_bench.cli.options import json_option, measuring_options, selection_options
from sciml_bench.execution.planning import planned
from sciml_bench.planning.plan import Plan
from sciml_bench.planning.selection import Selection

if TYPE_CHECKING:
    from sciml_bench.planning.cells import Planned


def print_nothing(plan: Plan) -> int:
    """Say that nothing is left to run, and why; returns the exit code."""
    click.echo("nothing is selected", err=True)
    for reason, count in grouped(item.reason for item in plan.skipped).items():
        click.echo(f"  skipped {count}: {reason}", err=True)
    if plan.skipped:
        click.echo("Name a --method, a --problem or a --cell to run it whatever the profile includes.", err=True)
    else:
        click.echo("No cell matches; `sciml-bench plan` with fewer options shows the available cells.", err=True)
    return exit_codes.NOTHING_SELECTED


def print_left_out(plan: Plan, names: Sequence[str]) -> None:
    """Say why an adapter that was named runs nothing."""
    running = {item.cell.adapter for item in plan.planned}
    for name in names:
        reasons = grouped(item.reason for item in plan.skipped if item.cell.adapter == name)
        if name not in running and reasons:
            click.echo(f"{name} runs nothing here: {max(reasons, key=lambda reason: reasons[reason])}", err=True)


@click.command(
    epilog=f"""\b
Examples:
  sciml-bench plan --suite stiff --profile smoke
  sciml-bench plan my_problem.toml --adapter diffrax --json

{exit_codes.TEXT}"""
)
@click.argument(
    "words",
    nargs=-1,
    metavar="[PROBLEM|SUITE|FILE.toml|FILE.py:NAME]...",
    shell_complete=completion.WORDS,
)
@selection_options()
@measuring_options
@json_option
def plan(words: tuple[str, ...], selection: dict[str, Any], as_json: bool, **options: Any) -> int:
    """Show the cells that would run, their cost, and those skipped, with reasons. Runs nothing."""
    from sciml_bench.cli.importing import as_problem_file
    from sciml_bench.cli.output import print_json

    chosen, files = Selection(**selection).naming([as_problem_file(word, options["out"]) for word in words])
    made = planned(chosen, files, **options)
    if as_json:
        order = [[slot.block, slot.order, made.cell_ids[slot.index]] for slot in made.slots]
        design = _design(options["out"])
        print_json({**made.to_dict(), "hash": made.hash, "estimated_s": round(made.cost_s()), "order": order, **design})
    if not made.planned:
        return print_nothing(made)
    if not as_json:
        _print(made, _design(options["out"]))
    return exit_codes.OK


def _design(out: Path) -> dict[str, Any]:
    """The spread between processes, and the smallest change that each profile sees; ``None`` for none."""
    from sciml_bench.analysis.selftest.power import ASSUMED, sights
    from sciml_bench.execution.planning import newest_spread
    from sciml_bench.planning.profiles import NAMES, profile_named

    spread = newest_spread(out) or ASSUMED
    return {
        "spread": {"sd_log": spread.sd_log, "source": spread.source},
        "smallest_change": [
            {
                "profile": sight.profile,
                "processes": sight.processes,
                "change": sight.change if math.isfinite(sight.change) else None,
                "note": sight.note,
            }
            for sight in sights(spread, map(profile_named, NAMES))
        ],
    }


def _change_text(change: float | None) -> str:
    """A relative change: ``3.1 %``, or a factor if it is large."""
    if change is None:
        return "none"
    return f"{100 * change:.2g} %" if change < 0.995 else f"factor {1 + change:.2g}"


def _division(item: Planned) -> str:
    """Its division, and its role there."""
    return f"{item.division}, {item.role}" if item.role else item.division


def _print(made: Plan, design: dict[str, Any]) -> None:
    from sciml_bench.analysis.cell_tally import grouped
    from sciml_bench.analysis.tables.formatting import rough_duration
    from sciml_bench.cli.columns import print_table
    from sciml_bench.cli.progress import announcement
    from sciml_bench.planning.recommendation_notes import notes

    rows = [
        [item.cell.label, _division(item), item.group or "-", rough_duration(cost_s)]
        for item, cost_s in zip(made.planned, made.costs_s, strict=True)
    ]
    print_table(["cell", "division", "matched as", "per process"], rows, optional=["matched as", "division"])
    for note in notes(made):
        click.echo(note)
    click.echo()
    for reason, count in grouped(item.reason for item in made.skipped).items():
        click.echo(f"skipped {count}: {reason}")
    click.echo(
        f"planned {len(made.planned) + len(made.skipped)} = to run {len(made.planned)} + skipped {len(made.skipped)}"
    )
    click.echo(announcement(made, made.slots))
    click.echo()
    click.echo("smallest change between two cells that a verdict names with a probability of 80 %, at equal accuracy")
    for sight in design["smallest_change"]:
        chosen = "*" if sight["profile"] == made.profile.name else " "
        note = f"  ({sight['note']})" if sight["note"] else ""
        noun = "process" if sight["processes"] == 1 else "processes"
        head = f"{chosen} {sight['profile']:<9} {sight['processes']:>3} {noun:<9}"
        click.echo(f"{head}  {_change_text(sight['change']):>10}{note}")
    spread = design["spread"]
    click.echo(f"  spread of a ratio in one block: {100 * spread['sd_log']:.2g} %, {spread['source']}")

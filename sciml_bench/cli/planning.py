"""From options to a plan; shared by ``plan``, ``run``, ``scale`` and the suite verbs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import click

from sciml_bench.adapters.registry import adapters, missing
from sciml_bench.cli import exits
from sciml_bench.cli.running import earlier_costs
from sciml_bench.errors import UsageError
from sciml_bench.outcome import Outcome
from sciml_bench.plan.claimed import Claimed
from sciml_bench.plan.plan import Plan, Settings, make_plan
from sciml_bench.plan.profiles import Profile, profile_named
from sciml_bench.plan.selection import Selection
from sciml_bench.plan.sweep import Sweep
from sciml_bench.report.account import grouped


def planned(
    selection: dict[str, Any],
    files: tuple[Path, ...],
    *,
    profile: str | Profile,
    out: Path,
    timeout_s: float | None,
    memory_limit: int | None,
    threads: int,
    seed: int,
    rtols: tuple[float, ...] = (),
    sweep: Sweep | None = None,
    claimed: Claimed | None = None,
) -> Plan:
    """The plan of a command's options; ``rtols`` take the place of the profile's ladder. ``profile`` is named, or made.

    Raises:
        UsageError: a name does not exist, or every cell asked for needs a framework that is not installed.
    """
    chosen = profile_named(profile) if isinstance(profile, str) else profile
    plan = make_plan(
        Selection(**selection),
        adapters(),
        dataclasses.replace(chosen, rtols=rtols) if rtols else chosen,
        Settings(seed=seed, threads=threads, timeout_s=timeout_s or 0.0, memory_limit_bytes=memory_limit),
        files=files,
        earlier=earlier_costs(out, chosen.name),
        sweep=sweep,
        claimed=claimed,
    )
    _check_installed(plan)
    return plan


def _check_installed(plan: Plan) -> None:
    """Where all that is left of the user's choice lacks its framework, say what to install."""
    refused = {item.cell.adapter for item in plan.skipped if item.outcome is Outcome.UNSUPPORTED}
    lacking = {name: found for name in sorted(refused) if (found := missing(plan.adapters[name]))}
    if not plan.planned and refused and refused == set(lacking):
        reasons = "; ".join(f"{name}: {found.reason}" for name, found in lacking.items())
        raise UsageError(f"nothing can run here. {reasons}")


def print_nothing(plan: Plan) -> int:
    """Say that nothing is left to run, and why; returns the exit code."""
    click.echo("nothing is selected", err=True)
    for reason, count in grouped(item.reason for item in plan.skipped).items():
        click.echo(f"  skipped {count}: {reason}", err=True)
    if plan.skipped:
        click.echo("Name a --method, a --problem or a --cell to run it whatever the profile includes.", err=True)
    else:
        click.echo("No cell matches; `sciml-bench plan` with fewer options shows what there is.", err=True)
    return exits.NOTHING_SELECTED

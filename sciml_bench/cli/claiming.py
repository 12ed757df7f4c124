"""Runs claims: one run folder for each, with the cells of both its settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from sciml_bench.cli.budget import Budget
from sciml_bench.cli.finding import runs_in
from sciml_bench.cli.host import one_at_a_time
from sciml_bench.cli.planning import planned
from sciml_bench.cli.run import carry_out, open_run
from sciml_bench.errors import StoreError, UsageError

if TYPE_CHECKING:
    from sciml_bench.adapters.base import Adapter
    from sciml_bench.claims.claim import Claim
    from sciml_bench.plan.plan import Plan
    from sciml_bench.store import Run

_FOLDER = "problems"


@dataclass(frozen=True)
class LeftOut:
    """A claim that is not run, and why."""

    claim: Claim
    reason: str


@dataclass(frozen=True)
class Chosen:
    """The claims to run, each with the seconds that its plan is estimated to take, and those left out."""

    claims: tuple[tuple[Claim, float], ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class Series:
    """What became of the claims that were chosen: their runs, and those for which no time was left."""

    runs: tuple[Run, ...]
    left_out: tuple[LeftOut, ...] = ()
    interrupted: bool = False


def choose(
    claims: Sequence[Claim],
    adapters: Mapping[str, Adapter],
    options: dict[str, Any],
    *,
    cpu_only: bool,
    budget: Budget,
) -> Chosen:
    """The claims that can be tested here and fit into the budget, in the order of the first targets.

    Those that cost least come into it first, so that as many as can be are measured.

    Raises:
        ProblemError: a claim makes no problem.
    """
    from sciml_bench.claims.trial import in_order, obstacle

    ordered = in_order(claims)
    reasons, costs = dict[str, str](), dict[str, float]()
    for claim in ordered:
        reasons[claim.id] = obstacle(claim, adapters, cpu_only)
        if not reasons[claim.id]:
            with TemporaryDirectory() as folder:
                plan = plan_of(claim, Path(folder), options)
            reasons[claim.id], costs[claim.id] = _unplanned(plan), plan.cost_s()
    left_s = budget.total_s
    for name in sorted((name for name, reason in reasons.items() if not reason), key=costs.__getitem__):
        if costs[name] > left_s:
            reasons[name] = budget.refusal(costs[name])
        else:
            left_s -= costs[name]
    return Chosen(
        tuple((claim, costs[claim.id]) for claim in ordered if not reasons[claim.id]),
        tuple(LeftOut(claim, reasons[claim.id]) for claim in ordered if reasons[claim.id]),
    )


def plan_of(claim: Claim, folder: Path, options: dict[str, Any]) -> Plan:
    """The plan of a claim, its problems written into a folder."""
    from sciml_bench.claims.trial import measuring, trial
    from sciml_bench.claims.workload import write_workloads
    from sciml_bench.plan.profiles import profile_named

    written = write_workloads(claim, folder)
    profile = measuring(claim, profile_named(options["profile"]))
    files = tuple(dict.fromkeys(item.path for item in written))

    def plan(refused: frozenset[str] = frozenset()) -> Plan:
        selection, claimed = trial(claim, written, profile.points, refused)
        return planned({"cells": selection.cells}, files, claimed=claimed, **{**options, "profile": profile})

    whole = plan()
    refused = frozenset(item.cell.label for item in whole.skipped)
    return plan(refused) if refused else whole


def _unplanned(plan: Plan) -> str:
    """Why a plan has no cells at all; a single one that is skipped is a result of its side."""
    if plan.planned:
        return ""
    return "; ".join(dict.fromkeys(item.reason for item in plan.skipped)) or "no cell of it is known"


def run_claim(claim: Claim, options: dict[str, Any], resume: bool | None, as_json: bool) -> tuple[Run, bool]:
    """Run one claim, or go on with its unfinished run; the run, and whether the user interrupted it."""
    out = options["out"]
    with TemporaryDirectory() as temporary:
        plan = plan_of(claim, Path(temporary), options)

        def settle(folder: Path) -> Plan:
            from sciml_bench.claims.collection import FILE
            from sciml_bench.claims.workload import write_workloads

            (folder / FILE).write_bytes(claim.path.read_bytes())
            write_workloads(claim, folder / _FOLDER)
            return plan.moved(folder / _FOLDER)

        run = open_run(plan, out, resume, f"claim-{claim.id}_{plan.profile.name}", settle)
        return run, carry_out(plan.moved(run.folder / _FOLDER), run, as_json)


def measure(
    chosen: Chosen, options: dict[str, Any], resume: bool | None, wait: bool, as_json: bool, budget: Budget
) -> Series:
    """Run the claims one after the other, as long as the next one is expected to end within the budget."""
    runs: list[Run] = []
    left_out: list[LeftOut] = []
    with one_at_a_time(wait):
        kept = {} if resume is False else interrupted_series([claim for claim, _ in chosen.claims], options)
        for claim, cost_s in chosen.claims:
            if claim.id in kept:
                runs.append(kept[claim.id])
                continue
            if cost_s > budget.left_s:
                left_out.append(LeftOut(claim, budget.refusal(cost_s)))
                continue
            click.echo(f"\n{claim.id}: {claim.title}", err=as_json)
            # --resume asks for an unfinished run; the later claims of a series have none yet.
            run, interrupted = run_claim(claim, options, False if resume is False else None, as_json)
            runs.append(run)
            if interrupted:
                return Series(tuple(runs), tuple(left_out), interrupted=True)
    return Series(tuple(runs), tuple(left_out))


def interrupted_series(claims: Sequence[Claim], options: dict[str, Any]) -> dict[str, Run]:
    """Finished runs of claims by id, where the same command was interrupted in a later one and now goes on.

    Only the claims before the interrupted one count: whoever runs a finished series again wants it measured anew.
    """
    from sciml_bench.cli.running import remaining

    finished: dict[str, Run] = {}
    kept: dict[str, Run] = {}
    for claim in claims:
        with TemporaryDirectory() as folder:
            plan = plan_of(claim, Path(folder), options)
            run = next((run for run in runs_in(options["out"]) if _hash(run) == plan.hash), None)
            if run is None:
                continue
            if remaining(plan, run):
                kept = dict(finished)
            else:
                finished[claim.id] = run
    return kept


def _hash(run: Run) -> str | None:
    try:
        return run.plan.get("hash")
    except StoreError:
        return None


def claim_of(run: Run) -> Claim:
    """The claim of a run, from the file in its folder.

    Raises:
        UsageError: it is no run of a claim.
        ProblemError: the file of the claim is wrong.
    """
    from sciml_bench.claims.collection import of_run

    claim = of_run(run.folder, run.plan)
    if claim is None:
        raise UsageError(f"{run.folder} is no run of a claim; make one with `sciml-bench claims run`")
    return claim


def newest_claim_runs(out: Path) -> tuple[Run, ...]:
    """The newest run of each claim below a folder, in the order of the claims' ids."""
    found: dict[str, Run] = {}
    for run in runs_in(out):
        try:
            claim = run.plan.get("claimed", {}).get("claim")
        except StoreError:
            continue
        if claim is not None:
            found.setdefault(claim, run)
    return tuple(found[name] for name in sorted(found))


def print_chosen(chosen: Chosen, as_json: bool) -> None:
    """Say what will be run and at what estimated cost, and what is left out and why."""
    total_s = sum(cost_s for _, cost_s in chosen.claims)
    names = ", ".join(claim.id for claim, _ in chosen.claims) or "none"
    click.echo(f"claims to run: {names} (about {total_s / 60:.1f} min)", err=as_json)
    print_left_out(chosen.left_out, as_json)


def print_left_out(left_out: Sequence[LeftOut], as_json: bool) -> None:
    """Say what is not run, the claims with the same reason on one line."""
    reasons: dict[str, list[str]] = {}
    for item in left_out:
        reasons.setdefault(item.reason, []).append(item.claim.id)
    for reason, ids in reasons.items():
        click.echo(f"not run: {', '.join(ids)}: {reason}", err=as_json)

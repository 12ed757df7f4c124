"""Plans from selections, with costs known from earlier runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sciml_bench.adapters.registry import adapters, missing
from sciml_bench.errors import StoreError, UsageError
from sciml_bench.planning.plan import Plan, make_plan
from sciml_bench.planning.profiles import Profile, profile_named
from sciml_bench.planning.purpose import Claimed, Sweep
from sciml_bench.planning.selection import FRAMEWORKS, Selection
from sciml_bench.planning.settings import Settings
from sciml_bench.planning.written_plan import written_plan
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.run_folder import Run, runs_in
from sciml_bench.record.task import SOLVERS

if TYPE_CHECKING:
    from sciml_bench.analysis.selftest.power import Spread

# The newest runs are looked at for what cells took, and for how processes spread.
RUNS_LOOKED_AT = 20

# Larger files of records are not read for costs alone.
_LARGEST_COST_FILE_BYTES = 64 * 2**20


def planned(
    selection: Selection,
    files: Sequence[Path] = (),
    *,
    profile: str | Profile,
    out: Path,
    timeout_s: float | None = None,
    memory_limit: int | None = None,
    threads: int = 1,
    seed: int = 0,
    rtols: Sequence[float] = (),
    sweep: Sweep | None = None,
    claimed: Claimed | None = None,
) -> Plan:
    """The plan of a selection and problem files, with costs from the newest run of the profile below ``out``.

    ``rtols`` take the place of the profile's ladder. ``memory_limit`` is in bytes.

    Raises:
        UsageError: a name does not exist, or every cell asked for needs a framework that is not installed.
        ProblemError: a problem file is wrong.
    """
    chosen = profile_named(profile) if isinstance(profile, str) else profile
    plan = make_plan(
        selection,
        adapters((*selection.adapters, *(label.split("/")[1] for label in selection.cells if "/" in label))),
        dataclasses.replace(chosen, rtols=tuple(rtols)) if rtols else chosen,
        Settings(seed=seed, threads=threads, timeout_s=timeout_s or 0.0, memory_limit_bytes=memory_limit),
        files=files,
        earlier=earlier_costs(out, chosen.name),
        sweep=sweep,
        claimed=claimed,
    )
    _check_tracks(plan, selection)
    _check_installed(plan)
    return plan


def _check_tracks(plan: Plan, selection: Selection) -> None:
    """Raise if no selected adapter is for the selected problems: solvers run equations, frameworks run models."""
    tracks = {entry.track for entry in plan.entries}
    wrong = [name for name in selection.adapters if plan.adapters[name].track not in tracks]
    if plan.planned or plan.skipped or not tracks or not wrong or len(wrong) < len(selection.adapters):
        return
    if SOLVERS not in tracks:
        raise UsageError(f"{', '.join(wrong)}: for equations only, and the selected problems are models")
    solvers = [name for word in wrong for name in FRAMEWORKS.get(word, ())]
    hint = f"; for equations: --adapter {','.join(solvers)}" if solvers else ""
    raise UsageError(f"{', '.join(wrong)}: for models only, and the selected problems are equations{hint}")


def _check_installed(plan: Plan) -> None:
    """If no framework of the user's choice is installed, say what to install."""
    refused = {item.cell.adapter for item in plan.skipped if item.outcome is Outcome.UNSUPPORTED}
    lacking = {name: found for name in sorted(refused) if (found := missing(plan.adapters[name]))}
    if not plan.planned and refused and refused == set(lacking):
        reasons = "; ".join(f"{name}: {found.reason}" for name, found in lacking.items())
        raise UsageError(f"nothing can run here. {reasons}")


def earlier_costs(folder: Path, profile: str) -> Mapping[str, float]:
    """Seconds that the processes of cells took in the newest run of this profile, by label."""
    for run in newest_runs(folder):
        try:
            name = written_plan(run).profile.name
        except StoreError:
            continue
        if name == profile and _is_quickly_read(run):
            records = run.records(on_damage=lambda _: None)
            return {record.cell.label: record.own_s + record.fill_s for record in records}
    return {}


def newest_spread(folder: Path) -> Spread | None:
    """Return how processes spread in the newest run that shows it."""
    from sciml_bench.analysis.selftest.power import spread_of
    from sciml_bench.analysis.summary import summarise

    for run in newest_runs(folder):
        try:
            plan = written_plan(run)
        except StoreError:
            continue
        if plan.profile.comparable and _is_quickly_read(run):
            found = spread_of(summarise(plan, run.records(on_damage=lambda _: None)), run.folder.name)
            if found is not None:
                return found
    return None


def newest_runs(folder: Path) -> Iterator[Run]:
    """The newest runs below a folder, newest first."""
    for count, run in enumerate(runs_in(folder)):
        if count == RUNS_LOOKED_AT:
            return
        yield run


def _is_quickly_read(run: Run) -> bool:
    path = run.records_path
    return path.is_file() and 0 < path.stat().st_size < _LARGEST_COST_FILE_BYTES

"""Claims judged by stored runs: the runs that test them, and the rulings of all of them as one family."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sciml_bench.analysis.summary import summarise
from sciml_bench.errors import StoreError, UsageError
from sciml_bench.planning.written_plan import written_plan
from sciml_bench.published_claims.collection import Tested, claims, of_run
from sciml_bench.published_claims.judging import Judged, Measurement, judged, untested
from sciml_bench.record.run_folder import Run, find_run, runs_in

if TYPE_CHECKING:
    from sciml_bench.published_claims.claim import Claim
    from sciml_bench.record.jsonl import DamagedLine

OnDamage = Callable[["DamagedLine"], None]


def claims_of(run: Run) -> tuple[Tested, ...]:
    """The claims of a run, and which of their settings it measured as they are no longer.

    Raises:
        UsageError: it is not a run of a claim.
        ProblemError: the file of a claim is wrong.
    """
    found = of_run(run.folder, written_plan(run))
    if not found:
        raise UsageError(f"{run.folder} is not a run of a claim; make one with `sciml-bench claims run`")
    return found


def newest_of_each(out: Path) -> dict[str, Run]:
    """The newest run below a folder of each claim, by the claims' ids in order."""
    found: dict[str, Run] = {}
    for run in runs_in(out):
        try:
            names = written_plan(run).sides
        except StoreError:
            continue
        for name in names:
            found.setdefault(name, run)
    return dict(sorted(found.items()))


def tested(names: Iterable[Path | str], out: Path) -> list[tuple[Tested, Run]]:
    """The claims of these runs, or each claim with its newest run below ``out``, without one there in its folder
    ``claims``.

    Raises:
        UsageError: no run of a claim was found.
    """
    chosen = [find_run(name, out) for name in names]
    if chosen:
        return [(item, run) for run in chosen for item in claims_of(run)]
    newest = next(filter(None, map(newest_of_each, _folders(out))), {})
    if not newest:
        raise UsageError(f"no run of a claim in {out}; make one with `sciml-bench claims run`")
    return [(item, run) for name, run in newest.items() for item in claims_of(run) if item.claim.id == name]


def judge_runs(items: Sequence[tuple[Tested, Run]], on_damage: OnDamage | None = None) -> tuple[Judged, ...]:
    """Judge the claims of these runs as one family of comparisons; damaged lines are left out."""
    runs = {run.folder: run for _, run in items}
    summaries = {folder: summarise(written_plan(run), run.records(on_damage=on_damage)) for folder, run in runs.items()}
    return judged([Measurement(item.claim, summaries[run.folder], run.folder, item.changed) for item, run in items])


def newest_ruling(claim: Claim, out: Path, on_damage: OnDamage | None = None) -> Judged | None:
    """The newest run's result for a claim, with the others of its folder as one family; ``None`` without a run."""
    for folder in _folders(out):
        if claim.id in newest_of_each(folder):
            found = judge_runs(tested((), folder), on_damage)
            return next((item for item in found if item.claim.id == claim.id), None)
    return None


def with_untested(found: Sequence[Judged]) -> list[Judged]:
    """These, and all other claims of the suite, with the reason why they have no ruling."""
    known = {item.claim.id: item for item in found}
    for claim in claims().values():
        known.setdefault(claim.id, untested(claim, claim.needs.missing or "no run of it was found"))
    return [known[name] for name in sorted(known)]


def _folders(out: Path) -> tuple[Path, Path]:
    """Folders with runs of claims: the user's, and the stored ones."""
    return out, out / "claims"

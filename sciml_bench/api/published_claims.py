"""Published claims for programs: rulings of stored runs, and new measurements."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sciml_bench.api.stored_run import RESULTS
from sciml_bench.errors import UsageError

if TYPE_CHECKING:
    from sciml_bench.execution.finished import Finished
    from sciml_bench.published_claims.judging import Judged


def claims(*runs: Path | str, out: Path | str = RESULTS, untested: bool = False) -> tuple[Judged, ...]:
    """Judge published claims by runs: the named ones, or the newest run of each claim below ``out``.

    All claims of the call are one family of comparisons. ``untested`` adds the claims without a run, with the reason.
    ``judged.claim`` is the claim with its source, ``judged.findings["fair"].ruling`` its ruling when both sides run as
    their authors recommend, ``judged.findings["published"]`` the one nearest to the source.

    >>> claims = api.claims("results/claims/2026-11-28T06-06-32_claim-C42_standard")  # doctest: +SKIP
    >>> claims[0].findings["fair"].ruling  # doctest: +SKIP

    Raises:
        UsageError: no run of a claim was found.
        StoreError: a run cannot be read.
    """
    from sciml_bench.execution.claim_rulings import judge_runs, tested, with_untested

    found = judge_runs(tested(runs, Path(out)))
    return tuple(with_untested(found)) if untested else found


def run_claims(
    *names: Path | str,
    profile: str = "quick",
    minutes: float | None = None,
    out: Path | str = RESULTS,
    resume: bool | None = None,
    wait: bool = False,
    progress: Callable[[Finished], object] | None = None,
) -> tuple[Judged, ...]:
    """Measure claims by their ids or files, each nearest to the source and when fair, and judge them.

    Claims that cannot be tested here, or that do not fit into ``minutes``, have the reason in place of a ruling.

    Raises:
        UsageError: no claim is named, or a name is unknown.
        ProblemError: the file of a claim is wrong.
        EngineError: another benchmark runs on this host; ``wait`` waits for it.
    """
    from sciml_bench.adapters.registry import adapters
    from sciml_bench.execution.claim_rulings import claims_of, judge_runs
    from sciml_bench.execution.claims import Budget, Group, choose, measure
    from sciml_bench.execution.finished import Following
    from sciml_bench.execution.session import Session
    from sciml_bench.host.lock import host_lock
    from sciml_bench.published_claims.collection import find
    from sciml_bench.published_claims.judging import untested

    if not names:
        raise UsageError("name a claim; sciml_bench.api.list('claims') has all of them")
    wanted = {claim.id: claim for claim in map(find, map(str, names))}
    options: dict[str, Any] = {"profile": profile, "out": Path(out)}
    budget = Budget(minutes)
    chosen = choose(list(wanted.values()), adapters(), options, cpu_only=False, budget=budget)

    def carry_out(_group: Group, session: Session) -> bool:
        return session.carry_out(None if progress is None else Following(progress))

    with host_lock(label="api.run_claims", wait_s=None if wait else 0.0):
        series = measure(
            chosen, options, resume=resume, command="sciml_bench.api.run_claims", budget=budget, carry_out=carry_out
        )
    if series.interrupted:
        raise KeyboardInterrupt("the measurements are kept; the same call continues them")
    left_out = [untested(item.claim, item.reason) for item in (*chosen.left_out, *series.left_out)]
    found = judge_runs([(item, run) for run in series.runs for item in claims_of(run)])
    by_id = {item.claim.id: item for item in (*left_out, *found)}
    return tuple(by_id[name] for name in wanted if name in by_id)


def list_claims() -> list[dict[str, Any]]:
    """The claims of the suite: id, title, quantity, and what each needs."""
    from sciml_bench.published_claims.collection import claims as all_claims

    return [
        {"id": claim.id, "title": claim.title, "says": claim.figure.says, "testable": claim.testable}
        for claim in all_claims().values()
    ]

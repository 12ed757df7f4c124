"""Runs claims: the cells of both settings of each; claims that share cells have a run in common."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from sciml_bench.execution.planning import planned
from sciml_bench.execution.schedule import remaining
from sciml_bench.execution.session import Session, hash_of, open_session
from sciml_bench.record.run_folder import PROBLEMS, runs_in

if TYPE_CHECKING:
    from sciml_bench.adapters.base import Adapter
    from sciml_bench.planning.plan import Plan
    from sciml_bench.published_claims.claim import Claim
    from sciml_bench.record.run_folder import Run

# The last measurement has to be judged, too.
_JUDGING_S = 10.0


class Budget:
    """The minutes that a command may take, from its start; ``None`` for no limit.

    Estimates are rough. So that a command ends in time, late work must fit even if its estimate is as wrong as the
    worst so far.
    """

    def __init__(self, minutes: float | None):
        self.minutes = minutes
        self._start = time.monotonic()
        self._slowest = 1.0

    @property
    def total_s(self) -> float:
        """Seconds for measuring."""
        return math.inf if self.minutes is None else 60 * self.minutes - _JUDGING_S

    @property
    def left_s(self) -> float:
        return self.total_s - (time.monotonic() - self._start)

    @contextmanager
    def spent(self, cost_s: float) -> Iterator[None]:
        """Compare an estimate with the time that the block takes, to learn how wrong estimates are here."""
        began = time.monotonic()
        yield
        if cost_s > 0:
            self._slowest = max(self._slowest, (time.monotonic() - began) / cost_s)

    def fits(self, cost_s: float) -> bool:
        """Return whether work with this estimate can be begun."""
        return cost_s * self._slowest <= self.left_s

    def refusal(self, cost_s: float) -> str:
        """Return why work with this estimate is left out."""
        return f"left out to stay within {self.minutes:g} minutes (--minutes): it takes about {cost_s / 60:.1f} min"


@dataclass(frozen=True)
class LeftOut:
    """A claim that is not run, and why."""

    claim: Claim
    reason: str


@dataclass(frozen=True)
class Group:
    """Claims that are measured in one run, and the seconds that its plan is estimated to take."""

    claims: tuple[Claim, ...]
    cost_s: float

    @property
    def name(self) -> str:
        """Their ids, as the run's folder tells them."""
        return "_".join(claim.id for claim in self.claims)


@dataclass(frozen=True)
class Chosen:
    """The claims to run, by the runs that they share, and those left out."""

    groups: tuple[Group, ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class Series:
    """The results of the chosen claims: their runs, and the claims for which no time was left."""

    runs: tuple[Run, ...]
    left_out: tuple[LeftOut, ...] = ()
    interrupted: bool = False


def choose(
    claims: Sequence[Claim],
    adapters: Mapping[str, Adapter],
    options: Mapping[str, Any],
    *,
    cpu_only: bool,
    budget: Budget,
) -> Chosen:
    """The claims that can be tested here and fit into the budget, in the order of the first targets.

    Raises:
        ProblemError: a claim makes no problem.
    """
    from sciml_bench.published_claims.selection import in_order, obstacle

    ordered = in_order(claims)
    reasons, costs = dict[str, str](), dict[str, float]()
    for claim in ordered:
        reasons[claim.id] = obstacle(claim, adapters, cpu_only)
        if not reasons[claim.id]:
            plan = _estimated((claim,), options)
            reasons[claim.id], costs[claim.id] = _unplanned(plan), plan.cost_s()
    testable = [claim for claim in ordered if not reasons[claim.id]]
    groups, left_out = _fitting(testable, costs, options, budget)
    reasons |= left_out
    return Chosen(groups, tuple(LeftOut(claim, reasons[claim.id]) for claim in ordered if reasons[claim.id]))


def _fitting(
    claims: Sequence[Claim], costs: Mapping[str, float], options: Mapping[str, Any], budget: Budget
) -> tuple[tuple[Group, ...], dict[str, str]]:
    """The claims that fit into the budget, as runs, and the reasons for the others; ``costs`` are the claims' separate
    costs.

    The cheapest come first, so that as many as possible are measured; a claim's cost is its addition to the run that
    it shares with others.
    """
    from sciml_bench.planning.profiles import profile_named
    from sciml_bench.published_claims.joined_claims import together

    shared = together(claims, profile_named(options["profile"]))
    groups = [Group((), 0.0) for _ in shared]
    places = {claim.id: place for place, members in enumerate(shared) for claim in members}
    left_s, left_out = budget.total_s, dict[str, str]()
    for claim in sorted(claims, key=lambda claim: costs[claim.id]):
        place = places[claim.id]
        kept = groups[place]
        members = tuple(member for member in shared[place] if member in (*kept.claims, claim))
        cost_s = _estimated(members, options).cost_s() if kept.claims else costs[claim.id]
        if cost_s - kept.cost_s > left_s:
            left_out[claim.id] = budget.refusal(cost_s - kept.cost_s)
            continue
        left_s -= cost_s - kept.cost_s
        groups[place] = Group(members, cost_s)
    return tuple(group for group in groups if group.claims), left_out


def _estimated(claims: Sequence[Claim], options: Mapping[str, Any]) -> Plan:
    """The plan of claims that are not run yet."""
    with TemporaryDirectory() as folder:
        return plan_of(claims, Path(folder), options)


def plan_of(claims: Sequence[Claim], folder: Path, options: Mapping[str, Any]) -> Plan:
    """The plan of claims that are measured together, their problems written into a folder."""
    from sciml_bench.planning.profiles import profile_named
    from sciml_bench.published_claims.selection import measuring, trial
    from sciml_bench.published_claims.workloads import write_workloads

    written = write_workloads(claims, folder)
    profile = measuring(claims[0], profile_named(options["profile"]))
    files = tuple(dict.fromkeys(item.path for item in written))

    def plan(refused: frozenset[str] = frozenset()) -> Plan:
        selection, claimed = trial(written, profile.points, refused)
        return planned(selection, files, claimed=claimed, **{**options, "profile": profile})

    whole = plan()
    refused = frozenset(item.cell.label for item in whole.skipped)
    return plan(refused) if refused else whole


def _unplanned(plan: Plan) -> str:
    """Return why a plan has no cells at all; a single one that is skipped is a result of its side."""
    if plan.planned:
        return ""
    return "; ".join(dict.fromkeys(item.reason for item in plan.skipped)) or "no cell of it is known"


def open_group(group: Group, options: Mapping[str, Any], resume: bool | None, command: str) -> Session:
    """The session of claims that are measured together: a new run, or their unfinished one."""
    with TemporaryDirectory() as temporary:
        plan = plan_of(group.claims, Path(temporary), options)

        def write(folder: Path) -> None:
            from sciml_bench.published_claims.collection import keep
            from sciml_bench.published_claims.workloads import write_workloads

            keep(group.claims, folder)
            write_workloads(group.claims, folder / PROBLEMS)

        name = f"claim-{group.name}_{plan.profile.name}"
        return open_session(plan, options["out"], name, resume=resume, command=command, write=write)


def measure(
    chosen: Chosen,
    options: Mapping[str, Any],
    *,
    resume: bool | None,
    command: str,
    budget: Budget,
    carry_out: Callable[[Group, Session], bool],
) -> Series:
    """Run the claims one after the other if they can be expected to end within the budget.

    ``carry_out`` measures the rest of a session and says whether it did all of it.
    """
    runs: list[Run] = []
    left_out: list[LeftOut] = []
    kept = {} if resume is False else interrupted_series(chosen.groups, options)
    for group in chosen.groups:
        if group.name in kept:
            runs.append(kept[group.name])
            continue
        if not budget.fits(group.cost_s):
            left_out += [LeftOut(claim, budget.refusal(group.cost_s)) for claim in group.claims]
            continue
        with budget.spent(group.cost_s):
            # --resume asks for an unfinished run; the later claims of a series have none yet.
            session = open_group(group, options, False if resume is False else None, command)
            whole = carry_out(group, session)
        runs.append(session.run)
        if not whole:
            return Series(tuple(runs), tuple(left_out), interrupted=True)
    return Series(tuple(runs), tuple(left_out))


def interrupted_series(groups: Sequence[Group], options: Mapping[str, Any]) -> dict[str, Run]:
    """Finished runs by the names of their groups, if the same command was interrupted in a later one and continues.

    Only those before the interrupted one count: whoever runs a finished series again wants it measured again.
    """
    finished: dict[str, Run] = {}
    kept: dict[str, Run] = {}
    for group in groups:
        plan = _estimated(group.claims, options)
        run = next((run for run in runs_in(options["out"]) if hash_of(run) == plan.hash), None)
        if run is None:
            continue
        if remaining(plan, run):
            kept = dict(finished)
        else:
            finished[group.name] = run
    return kept

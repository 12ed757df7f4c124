"""Claims as cells to measure: the selection, the tolerances and the profile of a plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence

import psutil

from sciml_bench.adapters.base import Adapter
from sciml_bench.adapters.registry import missing
from sciml_bench.claims.claim import LATER, Claim, Side
from sciml_bench.claims.workload import Written
from sciml_bench.measure.steady import FEWEST_SAMPLES
from sciml_bench.plan.claimed import Claimed
from sciml_bench.plan.profiles import Profile, profile_named
from sciml_bench.plan.selection import Selection
from sciml_bench.stats.bootstrap import FEWEST
from sciml_bench.task import Cell, Point

FIRST_TARGETS = (
    "C14", "C05", "C06", "C01", "C03", "C08", "C13", "C15", "C26", "C28", "C32",
    "C07", "C09", "C11", "C18", "C21", "C23", "C29", "C34", "C35",
)  # fmt: skip
"""The claims that are looked at first where not all can be, by the part of their id before the first hyphen."""

USUAL_MINUTES = {"smoke": 10.0}
"""What all claims together may take, by profile: as many are measured as fit."""


def in_order(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """The first targets in their order, then the others as they stand."""
    places = {name: place for place, name in enumerate(FIRST_TARGETS)}
    return tuple(sorted(claims, key=lambda claim: places.get(claim.id.partition("-")[0], len(places))))


def needed(claim: Claim, adapters: Mapping[str, Adapter]) -> tuple[str, ...]:
    """The adapters of a claim's sides, then the packages that their modes need besides."""
    besides = (adapters[side.adapter].mode_extras.get(side.mode) for side in claim.sides)
    return (*claim.adapters, *dict.fromkeys(package for package in besides if package))


def obstacle(claim: Claim, adapters: Mapping[str, Adapter], cpu_only: bool) -> str:
    """Why a claim cannot be tested here; empty when it can. It names the cure where there is one."""
    if cpu_only and claim.needs.device != "cpu":
        return "it needs a GPU, which --cpu leaves out"
    if claim.published is None and claim.fair is None:
        return claim.needs.lacking
    memory_gib = psutil.virtual_memory().total / 2**30
    if claim.needs.memory_gib > memory_gib:
        return f"it needs {claim.needs.memory_gib:g} GiB of memory, and this machine has {memory_gib:.1f}"
    lacking = {side.adapter: found for side in claim.sides if (found := missing(adapters[side.adapter], side.mode))}
    return "; ".join(f"{name}: {found.reason}" for name, found in lacking.items())


SPACING = 100.0
"""The least factor between two tolerances of a ladder on which a claim is measured: it is read at one accuracy only."""

LARGE = 1.25
"""A claimed ratio from which on half of the processes are enough, and of long calls as many as show a steady state.

Five processes a side find a true difference of 5 % in nine runs of ten where processes differ by 2 %."""


def measuring(claim: Claim, profile: Profile) -> Profile:
    """What of a profile a claim needs.

    Its ladder keeps tolerances that lie far enough apart; first calls are read at the loosest alone. No parameters are
    perturbed to see what fails. Counts are the same in every process and call, disturbed or not, so that one process
    with few calls is enough for them. A large ratio is told from 1 with half of the processes, and where a profile
    wants many calls that take long, with as many as can be judged steady: the spread is that between processes.
    """
    rtols: list[float] = []
    for rtol in profile.rtols:
        if not rtols or rtol * SPACING <= rtols[-1] * (1 + 1e-9):
            rtols.append(rtol)
    if claim.figure.quantity in LATER:
        rtols = rtols[:1]
    chosen = dataclasses.replace(profile, rtols=tuple(rtols), draws=0)
    if claim.figure.is_count:
        sampling = profile_named("smoke").sampling
        return dataclasses.replace(chosen, processes=1, sampling=sampling, comparable=False, rerun_noisy=False)
    if claim.figure.ratio is None or claim.figure.ratio < LARGE:
        return chosen
    processes = min(profile.processes, max(profile.processes // 2, FEWEST))
    calls = min(profile.sampling.steady_calls, FEWEST_SAMPLES)
    return dataclasses.replace(
        chosen, processes=processes, sampling=dataclasses.replace(profile.sampling, steady_calls=calls)
    )


def trial(
    written: Sequence[Written], ladder: Sequence[Point], refused: Collection[str] = ()
) -> tuple[Selection, Claimed]:
    """The cells of claims that are measured together, and which of them are measured at tolerances that these state.

    A cell that is a side of both settings is measured at these and on the ladder. ``refused`` are the labels of cells
    that cannot be measured: the other side of their setting is not measured for its sake.
    """
    cells: dict[str, dict[str, str]] = {}
    selected: list[str] = []
    stated: dict[str, list[Point]] = {}
    laddered: set[str] = set()
    for item in written:
        sides = getattr(item.claim, item.setting).sides
        labels = {name: _cell(item.problem.name, side).label for name, side in sides.items()}
        lacking = [label for label in labels.values() if label in refused]
        selected += lacking or labels.values()
        for name, label in labels.items():
            cells.setdefault(item.claim.id, {})[f"{item.setting}.{name}"] = label
            if lacking:
                continue
            if item.setting == "published" and sides[name].rtol is not None:
                stated.setdefault(label, []).append(sides[name].tolerances)
            else:
                laddered.add(label)
    points = {label: _loosest_first([*own, *(ladder if label in laddered else ())]) for label, own in stated.items()}
    calls = written[0].claim.figure.calls
    return Selection(cells=tuple(dict.fromkeys(selected))), Claimed(cells, points, calls)


def _loosest_first(points: Sequence[Point]) -> tuple[Point, ...]:
    return tuple(sorted(dict.fromkeys(points), key=lambda point: (-point.rtol, -point.atol)))


def _cell(problem: str, side: Side) -> Cell:
    return Cell(problem, side.adapter, side.method, side.sensitivity, side.mode, side.precision)

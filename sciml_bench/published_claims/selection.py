"""Claims as cells to measure: the selection, the tolerances and the profile of a plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import psutil

from sciml_bench.adapters.base import WITHOUT_GRADIENTS, Adapter
from sciml_bench.adapters.registry import adapter, missing
from sciml_bench.errors import ProblemError, StoreError
from sciml_bench.host import environments
from sciml_bench.host.nvidia import is_present
from sciml_bench.measure.steady import FEWEST_SAMPLES
from sciml_bench.planning.cells import recipes_of
from sciml_bench.planning.problems import entries
from sciml_bench.planning.profiles import Profile, profile_named
from sciml_bench.planning.purpose import Claimed
from sciml_bench.planning.selection import Selection
from sciml_bench.published_claims.claim import LATER, Claim, Side
from sciml_bench.published_claims.workloads import Written
from sciml_bench.record.task import AT, GRADIENT, Cell, Point
from sciml_bench.spec.document import Document
from sciml_bench.stats.problem_resampling import FEWEST

FIRST_TARGETS = (
    "C14", "C05", "C06", "C01", "C03", "C08", "C13", "C15", "C26", "C28", "C32",
    "C07", "C09", "C11", "C18", "C21", "C23", "C29", "C34", "C35",
)  # fmt: skip
"""The claims that are looked at first where not all can be, by the part of their id before the first hyphen."""

USUAL_MINUTES = {"smoke": 10.0}
"""The budget of all claims together, by profile: as many are measured as fit."""


def in_order(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """The first targets in their order, then the others as they stand."""
    places = {name: place for place, name in enumerate(FIRST_TARGETS)}
    return tuple(sorted(claims, key=lambda claim: places.get(claim.id.partition("-")[0], len(places))))


def needed(claim: Claim, adapters: Mapping[str, Adapter]) -> tuple[str, ...]:
    """The adapters of a claim's sides, then further packages for their modes."""
    besides = (adapters[side.adapter.partition(AT)[0]].mode_extras.get(side.mode) for side in claim.sides)
    return (*claim.adapters, *dict.fromkeys(package for package in besides if package))


def obstacle(claim: Claim, adapters: Mapping[str, Adapter], cpu_only: bool) -> str:
    """Return why a claim cannot be tested here; empty when it can. It names the fix if there is one."""
    if cpu_only and claim.needs.device != "cpu":
        return "it needs a GPU, which --cpu leaves out"
    if claim.published is None and claim.fair is None:
        return claim.needs.missing
    if claim.needs.device != "cpu" and not is_present():
        return "it needs an NVIDIA GPU, and this machine shows none"
    memory_gib = psutil.virtual_memory().total / 2**30
    if claim.needs.memory_gib > memory_gib:
        return f"it needs {claim.needs.memory_gib:g} GiB of memory, and this machine has {memory_gib:.1f}"
    if absent := _absent_environments(claim, adapters):
        return absent
    declared = {**adapters, **{name: adapter(name) for name in claim.adapters if AT in name}}
    lacking = {side.adapter: found for side in claim.sides if (found := missing(declared[side.adapter], side.mode))}
    return "; ".join(f"{name}: {found.reason}" for name, found in lacking.items())


def _absent_environments(claim: Claim, adapters: Mapping[str, Adapter]) -> str:
    """Return which environments of a claim are not there as it needs them, with the commands that make them."""
    commands: list[str] = []
    reasons: list[str] = []
    for name, requirements in claim.environments.items():
        users = [adapters[base] for base, _, other in (item.partition(AT) for item in claim.adapters) if other == name]
        own = dict.fromkeys(user.unmet for user in users if user.unmet is not None)
        reasons += [reason for unmet in own if (reason := unmet(name, requirements))]
        of_python = [user for user in users if user.unmet is None]
        if own and not of_python:
            continue
        extras = tuple(dict.fromkeys(user.extra for user in of_python if user.extra))
        try:
            known = environments.read(name).requirements if name in environments.names() else ()
        except StoreError as error:
            return str(error)
        if known != requirements:
            commands.append(environments.command(name, requirements, extras))
    if commands:
        reasons.append(f"it needs other releases side by side; run: {' && '.join(commands)}")
    return "; ".join(reasons)


SPACING = 100.0
"""The least factor between two tolerances of a ladder on which a claim is measured: it is read at one accuracy only."""

LARGE = 1.25
"""From this claimed ratio on, half of the processes are enough, and for long calls as many as show a steady state.

Five processes a side find a true difference of 5 % in nine runs of ten where processes differ by 2 %."""


def measuring(claim: Claim, profile: Profile) -> Profile:
    """The part of a profile that a claim needs.

    Its ladder keeps tolerances that lie far enough apart; first calls are read at the loosest alone. No parameters are
    perturbed. Counts are the same in every process and call, disturbed or not, so that one process with few calls is
    enough for them. Half of the processes distinguish a large ratio from 1, and if a profile wants many long calls,
    enough calls to judge them steady: the spread is between processes.
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
    that cannot be measured: if no cell of a side is left, the other side of its setting is not measured either.

    Raises:
        ProblemError: a side leaves something to recipes of its library, and none has the rest.
    """
    cells: dict[str, dict[str, tuple[str, ...]]] = {}
    selected: list[str] = []
    stated: dict[str, list[Point]] = {}
    laddered: set[str] = set()
    for item in written:
        sides = getattr(item.claim, item.setting).sides
        labels = {name: _labels(item, side) for name, side in sides.items()}
        able = {name: tuple(label for label in found if label not in refused) for name, found in labels.items()}
        lacking = [label for name, found in labels.items() if not able[name] for label in found]
        selected += lacking or [label for found in able.values() for label in found]
        for name, found in labels.items():
            cells.setdefault(item.claim.id, {})[f"{item.setting}.{name}"] = able[name] or found
            if lacking:
                continue
            if item.setting == "published" and sides[name].rtol is not None:
                stated.setdefault(able[name][0], []).append(sides[name].tolerances)
            else:
                laddered.update(able[name])
    points = {label: _loosest_first([*own, *(ladder if label in laddered else ())]) for label, own in stated.items()}
    calls = written[0].claim.figure.calls
    return Selection(cells=tuple(dict.fromkeys(selected))), Claimed(cells, points, calls)


def _labels(item: Written, side: Side) -> tuple[str, ...]:
    """The cells of a side: one, or the recipes of its library that have what the side gives."""
    if not side.recommended:
        return (_cell(item.problem.name, side).label,)
    found = [cell.label for cell in recommended_cells(item.path, side, item.claim.figure.calls)]
    if not found:
        line = Document.read(item.claim.path).line(item.setting, "problem")
        message = f"no recipe of {side.adapter} for {item.problem.name} is '{side.words}'"
        raise ProblemError(message, where=item.claim.path, line=line, cure="Give method, sensitivity and mode.")
    return tuple(found)


def recommended_cells(path: Path, side: Side, calls: tuple[str, ...]) -> tuple[Cell, ...]:
    """The recipes of a side's library for the problem of a file that have what the side gives, best first.

    Of a solve the sensitivity changes nothing: only the first of each method and mode is taken.
    """
    (entry,) = entries(Selection(), (path,))
    recipes = recipes_of(adapter(side.adapter), entry)
    cells = [
        dataclasses.replace(
            _cell(entry.name, side),
            method=recipe.method,
            sensitivity=recipe.sensitivity,
            mode=recipe.mode,
            saving=recipe.saving,
        )
        for recipe in recipes
    ]
    allowed = [cell for cell in cells if side.allows(cell)]
    if GRADIENT in calls:
        return tuple(cell for cell in allowed if cell.sensitivity not in WITHOUT_GRADIENTS)
    return tuple({(cell.method, cell.mode, cell.saving): cell for cell in reversed(allowed)}.values())[::-1]


def _loosest_first(points: Sequence[Point]) -> tuple[Point, ...]:
    return tuple(sorted(dict.fromkeys(points), key=lambda point: (-point.rtol, -point.atol)))


def _cell(problem: str, side: Side) -> Cell:
    axes = (side.adapter, side.method, side.sensitivity, side.mode, side.precision, side.device, side.saving)
    return Cell(problem, *axes)

"""A problem at several sizes: its variants, and the plan of the run that measures all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sciml_bench.adapters.registry import adapters
from sciml_bench.errors import ProblemError, UsageError
from sciml_bench.execution.planning import planned
from sciml_bench.execution.session import WriteFiles
from sciml_bench.planning.cells import recipes_of
from sciml_bench.planning.plan import Plan
from sciml_bench.planning.problems import PlannedProblem
from sciml_bench.planning.profiles import profile_named
from sciml_bench.planning.purpose import AXES, Sweep
from sciml_bench.planning.selection import Selection
from sciml_bench.record.run_folder import PROBLEMS
from sciml_bench.record.task import SOLVERS, Cell
from sciml_bench.spec import catalog, load_problem
from sciml_bench.spec.variant import Family, family
from sciml_bench.stats.scaling import LEAST_SIZES

TOLERANCE = "tolerance"
USUAL_SIZES: Mapping[str, tuple[int, ...]] = {
    "batch": (1, 4, 16, 64, 256),
    "width": (8, 32, 128, 512),
    "points": (15, 31, 63, 127),
    "span": (1, 2, 4, 8),
    # As few as the network can have, and more by the width of its layers.
    "parameters": (),
}
_USUAL_TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)

# Doubles resolve no less; a solver of one digit solves nothing.
_TIGHTEST, _LOOSEST = 1e-14, 0.1


@dataclass(frozen=True)
class ScalingPlan:
    """A plan over the sizes of one problem, its run's name, and the writer of its problem files, if any are made."""

    plan: Plan
    name: str
    write: WriteFiles | None


@contextmanager
def scaling_plan(
    problem: str,
    over: str,
    values: Sequence[float],
    *,
    network: str = "",
    selection: Selection | None = None,
    profile: str,
    out: Path,
    **options: Any,
) -> Iterator[ScalingPlan]:
    """The plan of a problem at several sizes on an axis of :data:`~sciml_bench.planning.purpose.AXES`.

    Without values the usual ones of the axis are taken. Problem files of variants are in a temporary folder while the
    context is open: a run that is opened there keeps its own.

    Raises:
        UsageError: no such axis or problem, or the values do not fit the axis.
        ProblemError: the problem cannot be varied along the axis, or a variant is wrong.
    """
    if over not in AXES:
        raise UsageError(f"unknown axis '{over}'; there are {', '.join(AXES)}")
    selection, path = selection or Selection(), catalog.given_path(problem)
    options |= {"profile": profile, "out": out}
    if over == TOLERANCE:
        name = load_problem(path).name
        files, named = ((path,), ()) if path == Path(problem) else ((), (name,))
        rtols = _tolerances(values, profile)
        sweep = Sweep(TOLERANCE, name, {})
        plan = planned(replace(selection, problems=named), files, sweep=sweep, rtols=rtols, **options)
        yield ScalingPlan(plan, _run_name(plan, sweep), None)
        return
    made = family(path, over, _sizes(values, over), network)
    if over in ("parameters", "span"):
        selection = _of_gradients(selection, made)
    with TemporaryDirectory() as folder:
        files = made.write(Path(folder))
        sweep = Sweep(over, made.base.name, _sizes_by_name(made, files, over))
        plan = planned(replace(selection, problems=()), files, sweep=sweep, **options)

        def write(run: Path) -> None:
            made.write(run / PROBLEMS)

        yield ScalingPlan(plan, _run_name(plan, sweep), write)


def _run_name(plan: Plan, sweep: Sweep) -> str:
    return f"scale-{sweep.of}-{sweep.over}_{plan.profile.name}"


def _sizes(values: Sequence[float], over: str) -> tuple[int, ...]:
    if not values:
        return USUAL_SIZES[over]
    for value in values:
        if not (1 <= value < math.inf and value == int(value)):
            raise UsageError(f"values: '{value:g}' is not a whole number above zero; give for example 1, 4, 16, 64")
    return tuple(sorted(map(int, _checked(values))))


def _tolerances(values: Sequence[float], profile: str) -> tuple[float, ...]:
    """Loosest first; without values the profile's own, if there are enough."""
    if not values:
        own = profile_named(profile).rtols
        return own if len(own) >= LEAST_SIZES else _USUAL_TOLERANCES
    for value in values:
        if not _TIGHTEST <= value <= _LOOSEST:
            raise UsageError(
                f"values: '{value:g}' is not a tolerance from {_TIGHTEST:g} to {_LOOSEST:g}; "
                "give for example 1e-4, 1e-6, 1e-8"
            )
    return tuple(sorted(_checked(values), reverse=True))


def _checked(values: Sequence[float]) -> Sequence[float]:
    if len(set(values)) < len(values):
        raise UsageError("values: a value stands twice")
    if len(values) < LEAST_SIZES:
        raise UsageError(f"values: {len(values)} given, but how cost grows takes {LEAST_SIZES} at least")
    return values


def _sizes_by_name(made: Family, files: Sequence[Path], over: str) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for path, variant in zip(files, made.variants, strict=True):
        try:
            loaded = load_problem(path)
        except ProblemError as error:
            # The file goes with its folder: the user knows the base.
            where = f"{made.base.path} with {over} {variant.value}"
            raise ProblemError(error.message, where=where, cure=error.cure) from None
        sizes[loaded.name] = loaded.n_parameters if over == "parameters" else variant.value
    return sizes


def _of_gradients(selection: Selection, made: Family) -> Selection:
    """Every kind of gradient of each adapter's first recommended method, unless the user has said what to take."""
    if selection.methods or selection.sensitivities or selection.cells:
        return selection
    base = made.base
    entry = PlannedProblem(base.name, base.title, base.suite, base.tier, base.tags, Path(base.path), loaded=base)
    labels: list[str] = []
    for name, adapter in adapters(selection.adapters).items():
        if adapter.track != SOLVERS or name not in (selection.adapters or (name,)):
            continue
        recipes = recipes_of(adapter, entry)
        if not recipes:
            continue
        modes = selection.modes or (recipes[0].mode,)
        labels += [
            Cell(variant.name, name, recipes[0].method, sensitivity, mode, saving=recipes[0].saving).label
            for variant in made.variants
            for sensitivity in adapter.sensitivities
            for mode in modes
        ]
    return replace(selection, cells=tuple(labels))

"""``scale``: one problem at several sizes in one run, and how its cost grows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sciml_bench.cli import completion
from sciml_bench.cli.machine import one_at_a_time, wait_options
from sciml_bench.cli.main import typed_command
from sciml_bench.cli.options import json_option, measuring_options, selection_options
from sciml_bench.cli.run import epilog, resume_option
from sciml_bench.errors import UsageError
from sciml_bench.plan.profiles import profile_named
from sciml_bench.stats.scaling import LEAST_SIZES

if TYPE_CHECKING:
    from sciml_bench.plan.purpose import Sweep
    from sciml_bench.problem.variant import Family


# The values of a sweep: what the user gave, or the usual ones.

USUAL = {
    "batch": (1, 4, 16, 64, 256),
    "width": (8, 32, 128, 512),
    "points": (15, 31, 63, 127),
    "span": (1, 2, 4, 8),
    # As few as the network can have, and more by the width of its layers.
    "parameters": (),
}
USUAL_TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)

# Doubles resolve no less; a solver of one digit solves nothing.
_TIGHTEST, _LOOSEST = 1e-14, 0.1


def sizes(values: str | None, over: str) -> tuple[int, ...]:
    """Whole numbers, smallest first.

    Raises:
        UsageError: a value is not a whole number above zero, one is a duplicate, or there are too few.
    """
    if values is None:
        return USUAL[over]
    found: list[int] = []
    for word in values.split(","):
        if not word.strip().isdecimal() or int(word) < 1:
            raise UsageError(
                f"--values: '{word.strip()}' is not a whole number above zero; write for example 1,4,16,64"
            )
        found.append(int(word))
    _check(found)
    return tuple(sorted(found))


def tolerances(values: str | None, profile: str) -> tuple[float, ...]:
    """Relative tolerances, loosest first; without values the profile's own, if there are enough.

    Raises:
        UsageError: a value is not a tolerance, one is a duplicate, or there are too few.
    """
    if values is None:
        own = profile_named(profile).rtols
        return own if len(own) >= LEAST_SIZES else USUAL_TOLERANCES
    found: list[float] = []
    for word in values.split(","):
        try:
            value = float(word)
        except ValueError:
            value = 0.0
        if not _TIGHTEST <= value <= _LOOSEST:
            raise UsageError(
                f"--values: '{word.strip()}' is not a tolerance from {_TIGHTEST:g} to {_LOOSEST:g}; "
                "write for example 1e-4,1e-6,1e-8"
            )
        found.append(value)
    _check(found)
    return tuple(sorted(found, reverse=True))


def _check(found: list[int] | list[float]) -> None:
    if len(set(found)) < len(found):
        raise UsageError("--values: a value stands twice")
    if len(found) < LEAST_SIZES:
        raise UsageError(f"--values: {len(found)} given, but how cost grows takes {LEAST_SIZES} at least")


AXES = ("batch", "width", "points", "span", "tolerance", "parameters")


@click.command(
    epilog=epilog(
        "sciml-bench scale small-node --over batch --values 1,4,16,64",
        "sciml-bench scale spiral-node --over parameters --adapter diffrax --sensitivity forward,checkpointed",
        "sciml-bench scale heat --over points --values 31,63,127 --adapter scipy,diffrax",
        "sciml-bench scale small-node --over span --sensitivity discrete,checkpointed,backsolve",
        "sciml-bench scale my_problem.toml --over tolerance --values 1e-3,1e-5,1e-7",
    )
)
@click.argument("problem", metavar="PROBLEM", shell_complete=completion.PROBLEMS)
@click.option("--over", type=click.Choice(AXES), required=True, help="The quantity that changes.")
@click.option("--values", metavar="N[,N]", help="The sizes or tolerances; three at least. Without it usual ones.")
@click.option("--network", default="", metavar="NAME", help="The network whose width is changed, if there are several.")
@selection_options(suite=False, problem=False)
@measuring_options
@resume_option
@wait_options
@json_option
def scale(problem: str, over: str, values: str | None, network: str, selection: dict[str, Any], **options: Any) -> int:
    """Measure how cost grows with the size of a batch, a network, a grid, with theta, time span or tolerance.

    PROBLEM is a name of the catalog or a file. Every size is a separate problem, made from the file with one number
    changed and kept in the run's folder; all are measured in one run. A table for each quantity follows with the
    exponent k of cost ~ size^k and its interval, and the sizes at which cells change places.

    A problem without a batch gets one whose initial states are drawn around its own. Over points, a grid keeps its
    stretch of space. Over span, the time span grows by whole factors, and the number of steps with it: the growth of a
    gradient's memory shows what each kind keeps of a step. Over parameters, theta grows by the width of the network
    while the equations stay the same. Over these two, without a method or a sensitivity named, every kind of gradient
    of each adapter's first recommended method is measured. Variants are not trained.
    """

    path = _path(problem)
    if over == "tolerance":
        from sciml_bench.plan.purpose import Sweep
        from sciml_bench.problem import load_problem

        rtols = tolerances(values, options["profile"])
        name = load_problem(path).name
        files, named = ((path,), ()) if path == Path(problem) else ((), (name,))
        sweep = Sweep("tolerance", name, {})
        return _carried_out({**selection, "problems": named}, files, sweep, None, rtols=rtols, **options)
    from sciml_bench.problem.variant import family

    made = family(path, over, sizes(values, over), network)
    if over in ("parameters", "span"):
        selection = _of_gradients(selection, made)
    return _staged({**selection, "problems": ()}, made, over, **options)


def _path(problem: str) -> Path:
    """The file of a problem, by its path or its name in the catalog."""
    from sciml_bench.problem import catalog

    path = Path(problem)
    return path if path.suffix == ".toml" or path.is_file() else catalog.path(problem)


def _of_gradients(selection: dict[str, Any], made: Family) -> dict[str, Any]:
    """Every kind of gradient of each adapter's first recommended method, unless the user has said what to take."""
    from sciml_bench.adapters.registry import adapters
    from sciml_bench.plan.cells import recipes_of
    from sciml_bench.plan.problems import PlannedProblem
    from sciml_bench.record.task import SOLVERS, Cell

    if selection["methods"] or selection["sensitivities"] or selection["cells"]:
        return selection
    base = made.base
    entry = PlannedProblem(base.name, base.title, base.suite, base.tier, base.tags, Path(base.path), loaded=base)
    labels: list[str] = []
    for name, adapter in adapters(selection["adapters"]).items():
        if adapter.track != SOLVERS or name not in (selection["adapters"] or (name,)):
            continue
        recipes = recipes_of(adapter, entry)
        if not recipes:
            continue
        modes = selection["modes"] or (recipes[0].mode,)
        labels += [
            Cell(variant.name, name, recipes[0].method, sensitivity, mode, saving=recipes[0].saving).label
            for variant in made.variants
            for sensitivity in adapter.sensitivities
            for mode in modes
        ]
    return {**selection, "cells": tuple(labels)}


def _staged(selection: dict[str, Any], made: Family, over: str, **options: Any) -> int:
    """Plan with the problem files in a separate folder; they move into the run's as soon as there is one."""
    from tempfile import TemporaryDirectory

    from sciml_bench.errors import ProblemError
    from sciml_bench.plan.purpose import Sweep
    from sciml_bench.problem import load_problem

    with TemporaryDirectory() as folder:
        files = made.write(Path(folder))
        sizes: dict[str, int] = {}
        for path, variant in zip(files, made.variants, strict=True):
            try:
                loaded = load_problem(path)
            except ProblemError as error:
                # The file goes with its folder: the user knows the base.
                where = f"{made.base.path} with {over} {variant.value}"
                raise ProblemError(error.message, where=where, cure=error.cure) from None
            sizes[loaded.name] = loaded.n_parameters if over == "parameters" else variant.value
        return _carried_out(selection, files, Sweep(over, made.base.name, sizes), made, **options)


def _carried_out(
    selection: dict[str, Any],
    files: tuple[Path, ...],
    sweep: Sweep,
    made: Family | None,
    *,
    out: Path,
    resume: bool | None,
    wait: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    from sciml_bench.cli.plan import print_nothing
    from sciml_bench.cli.progress import carry_out
    from sciml_bench.cli.run import end
    from sciml_bench.plan.selection import Selection
    from sciml_bench.record.run_folder import PROBLEMS
    from sciml_bench.run.planning import planned
    from sciml_bench.run.session import open_session

    plan = planned(Selection(**selection), files, out=out, sweep=sweep, **options)
    if not plan.planned:
        return print_nothing(plan)

    def write(folder: Path) -> None:
        assert made is not None
        made.write(folder / PROBLEMS)

    name = f"scale-{sweep.of}-{sweep.over}_{plan.profile.name}"
    with one_at_a_time(wait, plan.profile):
        session = open_session(
            plan, out, name, resume=resume, command=typed_command(), write=None if made is None else write
        )
        carry_out(session, as_json)
    return end(session, as_json)

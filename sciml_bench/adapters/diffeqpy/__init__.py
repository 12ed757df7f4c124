"""diffeqpy: DifferentialEquations.jl as Python users call it, with a Python function or a Julia one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sciml_bench.adapters.base import NO_GRADIENT, Adapter, Cost, Method, ProblemTraits, Recipe
from sciml_bench.adapters.julia import installation
from sciml_bench.adapters.julia.manifest import ManifestError, direct_dependencies
from sciml_bench.adapters.julia.optional_parts import absence
from sciml_bench.adapters.recipes import by_work, default, distinct, other_kind
from sciml_bench.record.task import Cell

__all__ = ["ADAPTER"]


PART = "diffeqpy"


def refusal(_cell: Cell, facts: ProblemTraits) -> str | None:
    """Return why a cell cannot run on a problem with these facts."""
    if facts.arrays or facts.latent or facts.controlled or facts.n_weights:
        return "diffeqpy is given right-hand sides written number by number, not vectors, fields, networks or paths"
    if facts.batch > 1:
        return "diffeqpy is given one trajectory at a time"
    return None


def lacking(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return why diffeqpy cannot run here, with the fix; ``None`` when it can. Reads files only, starts nothing.

    On import, diffeqpy installs anything missing: a Julia by that name, and packages that the project does not name
    itself. Neither may happen in a worker.
    """
    reason = installation.lacking(environment)
    found = None if reason else installation.found(environment)
    if found is None:
        return reason
    if Path(found.executable).stem != "julia":
        cure = f"{installation.CURE} --julia PATH"
        return f"diffeqpy looks for a program called julia, which {found.executable} is not; {cure}"
    try:
        return absence(PART, direct_dependencies(Path(found.project)))
    except ManifestError as error:
        return str(error)


def variables(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Environment variables of a worker: as for Julia, and Julia on ``PATH``, because diffeqpy installs another one
    otherwise.
    """
    found = installation.found(environment)
    if found is None:
        return {}
    path = os.pathsep.join(filter(None, (str(Path(found.executable).parent), environment.get("PATH", ""))))
    return {**installation.worker_variables(found), "PATH": path}


def recipes(facts: ProblemTraits) -> tuple[Recipe, ...]:
    """SciML's guides as for Julia itself, with a Julia function first; by default its users write a Python one."""
    explicit, implicit = (Recipe(method, NO_GRADIENT, "compiled") for method in ("tsit5", "rodas5p"))
    best = by_work(facts, explicit, implicit)
    return distinct(best, *other_kind(facts, explicit, implicit), default(best.method, NO_GRADIENT, "eager"))


ADAPTER = Adapter(
    name="diffeqpy",
    title="diffeqpy (Julia from Python)",
    packages={"juliacall": "juliacall", "diffeqpy": "diffeqpy"},
    extra="diffeqpy",
    target="python",
    program="sciml_bench.adapters.diffeqpy.program:DiffeqpyProgram",
    methods=(
        Method("tsit5", family="explicit_rk", order=5, implicit=False, lands=True),
        Method("vern9", family="explicit_rk", order=9, implicit=False, lands=True),
        Method("rodas5p", family="rosenbrock", order=5, implicit=True, stiff=True, lands=True),
    ),
    sensitivities=(NO_GRADIENT,),
    modes=("eager", "compiled"),
    mode_targets={"compiled": "julia"},
    recipes=recipes,
    refusal=refusal,
    variables=variables,
    lacking=lacking,
    compiles_long=True,
    locks=installation.locks,
    cost=Cost(startup_s=10.0, call_s=0.1),
)

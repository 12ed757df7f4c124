"""DifferentialEquations.jl through juliacall: explicit and implicit methods, with gradients forward and by adjoints.

Imports nothing here: a worker's program must load Julia before anything else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace

from sciml_bench.adapters.base import Adapter, Cost, Method, PlotStyle, ProblemTraits, Recipe
from sciml_bench.adapters.julia import installation
from sciml_bench.adapters.julia.environments import in_environment, unmet
from sciml_bench.adapters.julia.optional_parts import OPTIONAL, lacking_part
from sciml_bench.adapters.recipes import by_size, by_work, distinct, other_kind
from sciml_bench.record.task import LANDING, Cell

ADJOINTS = ("interpolating", "gauss", "quadrature", "backsolve")
PRODUCTS = ("reversediff", "enzyme", "zygote", "mooncake")

# The emitter writes no function that returns its result, which Zygote wants, for larger states.
_LARGEST_FOR_ZYGOTE = 20


def refusal(cell: Cell, facts: ProblemTraits, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return why a cell cannot run on a problem with these facts, in the installation that ``environment`` names."""
    named = facts.n_weights or facts.latent
    if named and cell.framework_mode == "in-place":
        why = (
            "Lux's layers give new arrays" if facts.n_weights else "Zygote must differentiate the code around the solve"
        )
        return f"{why}, so its right-hand side cannot write into one: mode compiled"
    if facts.events and (why := _no_events(cell, facts)):
        return why
    if cell.method == "cvode_bdf" and cell.sensitivity == "forward":
        return "SUNDIALS computes in Float64 only, so ForwardDiff's dual numbers cannot pass through CVODE_BDF"
    if cell.method == "cvode_bdf" and cell.framework_mode == "compiled":
        return "CVODE_BDF takes functions that write into arrays only: mode in-place"
    if cell.sensitivity.endswith("-zygote") and facts.n_states > _LARGEST_FOR_ZYGOTE and not named:
        return "ZygoteVJP cannot differentiate a right-hand side that writes into arrays, as fields need"
    if cell.saving == LANDING and cell.sensitivity != "forward":
        return (
            "adjoints go back from one saved time to the next in any case: landing on them is for sensitivity forward"
        )
    reasons = (_unusable(part, environment) for part in _parts(cell))
    return next(filter(None, reasons), None)


def _unusable(part: str, environment: Mapping[str, str]) -> str | None:
    """Return why a part of the installation cannot be used: it was never added, or did not work."""
    absent = lacking_part(part, environment) if part in OPTIONAL else None
    return absent or installation.refused_part(part, environment)


def _no_events(cell: Cell, facts: ProblemTraits) -> str | None:
    """Return why a cell cannot run on a problem with events."""
    if cell.saving == LANDING:
        return "saved times are before or after an event, which is not known before the solve"
    if facts.n_weights:
        return "events beside networks are not emitted for Julia"
    if cell.sensitivity != "forward" and (facts.latent or cell.sensitivity.endswith("-zygote")):
        return "adjoints of SciMLSensitivity change states at events in place, and the right-hand side gives new arrays"
    if cell.sensitivity == "enzyme":
        return "Enzyme differentiates no callbacks of a solve"
    return None


def _parts(cell: Cell) -> Iterator[str]:
    """The optional parts of an installation that a cell needs, see ``trial``."""
    if cell.sensitivity != "forward":
        yield "adjoint"
        product = cell.sensitivity.rpartition("-")[2]
        if product != "reversediff":
            yield product
    if cell.method == "cvode_bdf":
        yield "sundials"


_SMALL = 50
"""Rosenbrock methods up to this many states, multistep methods beyond them: SciML's guide says "small" and "large"."""


def recipes(facts: ProblemTraits) -> tuple[Recipe, ...]:
    """SciML's guides, gradients by the one rule.

    Stiff systems: Rosenbrock23 or Rodas5P for small ones, FBDF and QNDF for large ones. Non-stiff: "Tsit5 is the
    go-to", "Vern9 for high accuracy". Gradients: "ForwardDiffSensitivity is the fastest for small numbers of
    parameters (< 100)"; else "GaussAdjoint should be generally preferred", with ReverseDiffVJP(true) "the most
    efficient after Enzyme" for functions that mutate and have no branches; it also "works well for small Lux neural
    networks", like the networks of our problems; "using ``ZygoteVJP`` is faster than other vjp choices for larger
    neural networks". SciML's default, a switch of methods and a sensitivity by size, is not a cell.
    """
    gradient = by_size(facts, "forward", "gauss-reversediff")
    further = by_size(facts, "gauss-reversediff", "gauss-zygote" if facts.n_weights else "forward")
    small = facts.n_states <= _SMALL
    explicit = Recipe("tsit5", gradient, "compiled")
    implicit = Recipe("rodas5p" if small else "fbdf", gradient, "compiled")
    accurate = () if facts.n_weights else (Recipe("vern9", gradient, "compiled"),)
    stiff = (Recipe("fbdf" if small else "rodas5p", gradient, "compiled"), replace(implicit, sensitivity=further))
    networks = (replace(explicit, sensitivity=further),) if facts.n_weights else ()
    best, others = by_work(facts, (explicit, (*accurate, *networks)), (implicit, stiff))
    return distinct(best, *others, *other_kind(facts, explicit, implicit))


ADAPTER = Adapter(
    name="julia",
    title="DifferentialEquations.jl (Julia)",
    packages={"juliacall": "juliacall"},
    extra="julia",
    target="julia",
    program="sciml_bench.adapters.julia.program:JuliaProgram",
    script="sciml_bench.adapters.julia.script:script_of",
    event_program="sciml_bench.adapters.julia.program:JuliaProgram",
    methods=(
        Method("tsit5", family="explicit_rk", order=5, implicit=False, lands=True),
        Method("vern7", family="explicit_rk", order=7, implicit=False, lands=True),
        Method("vern9", family="explicit_rk", order=9, implicit=False, lands=True),
        Method("rodas5p", family="rosenbrock", order=5, implicit=True, stiff=True, lands=True),
        Method("rosenbrock23", family="rosenbrock", order=2, implicit=True, stiff=True, lands=True),
        Method("kencarp47", family="esdirk", order=4, implicit=True, stiff=True, lands=True),
        Method("trbdf2", family="esdirk", order=2, implicit=True, stiff=True, lands=True),
        Method("fbdf", family="bdf", order=5, implicit=True, stiff=True, lands=True),
        Method("qndf", family="bdf", order=5, implicit=True, stiff=True, lands=True),
        Method("radauiia5", family="radau", order=5, implicit=True, stiff=True, lands=True),
        Method("cvode_bdf", family="bdf", order=5, implicit=True, stiff=True, lands=True),
    ),
    sensitivities=("forward", *(f"{adjoint}-{product}" for adjoint in ADJOINTS for product in PRODUCTS), "enzyme"),
    modes=("compiled", "in-place"),
    recipes=recipes,
    refusal=refusal,
    variables=installation.variables,
    lacking=installation.lacking,
    compiles_long=True,
    # Julia compiles in every process: a solver, and dual numbers through it.
    locks=installation.locks,
    cost=Cost(startup_s=12.0, call_s=0.005, adjoint_startup_s=80.0, long_startup_s={"cvode_bdf": 40.0}),
    look=PlotStyle("#aa4499", "*p"),
    environment=lambda name: in_environment(ADAPTER, name, refusal),
    unmet=unmet,
)

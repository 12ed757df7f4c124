"""Diffrax in JAX: explicit and ESDIRK methods, with gradients through the steps, by the adjoint equation or forward."""

from __future__ import annotations

from sciml_bench.adapters.base import Adapter, Cost, Method, PlotStyle, ProblemTraits, Recipe
from sciml_bench.adapters.recipes import by_size, by_work, default, distinct, other_kind
from sciml_bench.record.task import LANDING, Cell

__all__ = ["ADAPTER"]


EXPLICIT = (
    Method("tsit5", family="explicit_rk", order=5, implicit=False, lands=True, interpolant=4),
    Method("dopri5", family="explicit_rk", order=5, implicit=False, lands=True, interpolant=4),
    Method("dopri8", family="explicit_rk", order=8, implicit=False, lands=True),
)
IMPLICIT = tuple(
    Method(
        f"kvaerno{order}-{finder}".removesuffix("-"),
        family="esdirk", order=order, implicit=True, stiff=True, lands=True, interpolant=3, root_finder=finder,
    )
    for finder in ("", "newton", "chord")
    for order in (5, 4, 3)
)  # fmt: skip
FIXED = (Method("tsit5-fixed", family="explicit_rk", order=5, implicit=False, adaptive=False, interpolant=4),)
STOCHASTIC = (
    Method("heun", family="explicit_rk", order=2, implicit=False, adaptive=False),
    Method("reversible-heun", family="explicit_rk", order=2, implicit=False, adaptive=False),
)
SPLIT = tuple(
    Method(
        f"kencarp{order}-{finder}".removesuffix("-"),
        family="imex_esdirk", order=order, implicit=True, stiff=True, root_finder=finder,
    )
    for finder in ("", "newton")
    for order in (5, 4, 3)
)  # fmt: skip


def refusal(cell: Cell, facts: ProblemTraits) -> str | None:
    """Return why a cell cannot run on a problem with these facts."""
    if facts.events and (why := _no_events(cell, facts)):
        return why
    if facts.controlled and cell.sensitivity == "backsolve":
        return "BacksolveAdjoint would solve for the gradient by every number of the paths that drive the equation, too"
    if cell.method in {method.name for method in STOCHASTIC}:
        return None if facts.stochastic else "this is for stochastic equations, of a drift and a matrix of noise"
    if facts.n_breakpoints and cell.method in {method.name for method in FIXED}:
        return "Diffrax's ConstantStepSize does not stop at the problem's breakpoints"
    if cell.method not in {method.name for method in SPLIT}:
        return None
    if not facts.split:
        return "Diffrax's KenCarp methods need an equation in two parts; the problem declares no [implicit] terms"
    if cell.sensitivity == "backsolve":
        return "Diffrax's BacksolveAdjoint takes equations of one part only, not the two of a KenCarp method"
    return None


def _no_events(cell: Cell, facts: ProblemTraits) -> str | None:
    """Return why a cell cannot run on a problem with events."""
    if cell.sensitivity == "backsolve":
        return "BacksolveAdjoint does not take diffrax.Event"
    if cell.method in {method.name for method in FIXED}:
        return "equal steps do not start again at an event"
    if cell.saving == LANDING:
        return "saved times are before or after an event, which is not known before the solve"
    if facts.n_weights:
        return "events beside networks are not emitted for JAX"
    return None


VERY_CHORD = "its root finder calls slow convergence divergence in Diffrax 0.7.2, see docs/diffrax-verychord.md"


def recipes(facts: ProblemTraits) -> tuple[Recipe, ...]:
    """Methods in the order of Diffrax's guide, gradients by the one rule, and the default root finder and adjoint.

    "How to choose a solver": Tsit5 is "a good general-purpose solver", "if you need accurate solutions at tight
    tolerances then try Dopri8", "for stiff problems then try the Kvaerno3, Kvaerno4, Kvaerno5 family"; its author
    recommends Kvaerno5 for stiff problems in general. The page on adjoints recommends ForwardMode and, "for most
    problems the preferred technique", RecursiveCheckpointAdjoint, not BacksolveAdjoint and DirectAdjoint. "Your entire
    computation should be wrapped in a single jax.jit": this is the only mode. Its table of solvers has ``Heun`` among
    those for equations with noise in the sense of Stratonovich.
    """
    gradient = by_size(facts, "forward", "checkpointed")
    explicit, implicit = (Recipe(method, gradient, "compiled") for method in ("tsit5", "kvaerno5-chord"))
    noisy = (Recipe("heun", "checkpointed", "compiled"),) if facts.stochastic else ()
    accurate = Recipe("dopri8", gradient, "compiled")
    usual = by_work(
        facts,
        default("tsit5", "checkpointed", "compiled"),
        default("kvaerno5", "checkpointed", "compiled", VERY_CHORD),
    )
    best = by_work(facts, explicit, implicit)
    other = by_work(facts, noisy or (accurate,), (Recipe("kvaerno5-chord", "checkpointed", "compiled"),))
    return distinct(best, *other, *other_kind(facts, explicit, implicit), usual)


ADAPTER = Adapter(
    name="diffrax",
    title="Diffrax (JAX)",
    packages={"jax": "jax", "diffrax": "diffrax"},
    extra="jax",
    target="jax",
    program="sciml_bench.adapters.diffrax.program:DiffraxProgram",
    script="sciml_bench.adapters.diffrax.script:script_of",
    methods=(*EXPLICIT, *IMPLICIT, *SPLIT, *FIXED, *STOCHASTIC),
    sensitivities=("checkpointed", "discrete", "backsolve", "forward"),
    modes=("compiled",),
    precisions=("float64", "float32"),
    devices=("cpu", "gpu"),
    recipes=recipes,
    refusal=refusal,
    cached_modes=("compiled",),
    cost=Cost(startup_s=5.0, call_s=0.01, adjoint_startup_s=12.0),
    look=PlotStyle("#0072b2", "sD"),
    event_program="sciml_bench.adapters.diffrax.events:EventProgram",
)

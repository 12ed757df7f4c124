"""The one rule by which every adapter recommends cells of its library, with its sources.

An adapter names its library's methods, in the order of that library's own documentation; these functions decide which
one is first on a problem, for all libraries equally.

- **Methods.** Explicit ones where a probe succeeds with one, implicit ones where it does not
  (:mod:`sciml_bench.record.probe`). If the probe decides nothing, the label ``stiff`` says which kind comes first, and
  the other kind is planned too, in every profile. If probe and label contradict each other, the first method of the
  other kind is recommended as well, after the rest, so that the difference can be seen.
- **Gradients.** Forward sensitivities up to ``FEW`` components of state and theta together, adjoints and
  back-propagation beyond. Ma, Dixit, Innes, Guo and Rackauckas, "A Comparison of Automatic Differentiation and
  Continuous Sensitivity Analysis for Derivatives of Differential Equation Solutions" (arXiv 1812.01892): forward
  methods are ahead below about a hundred parameters and states. SciMLSensitivity's manual: "ForwardDiffSensitivity is
  the fastest for small numbers of parameters (< 100)". PEtab.jl's defaults: forward-mode differentiation up to 20
  parameters and 15 states, forward sensitivities in between, adjoints for large models. Diffrax's page on adjoints:
  ``ForwardMode`` and ``RecursiveCheckpointAdjoint`` are the two recommended choices. On one core forward over
  checkpointed time there is 0.15 with two components (linear), 0.40 with 6 (Robertson), 0.57 with 6
  (Lotka-Volterra), 0.64 with 14 (Chemical Akzo Nobel), 0.67 with 18 (HIRES), 0.46 with 35 (Pleiades), 0.39 with 83
  (Brusselator 1-D), and 39 with 150 (Brusselator 5 × 5, 100 parameters, implicit).
- **A root finder that works.** The chord method in Diffrax, whose default takes slow convergence for divergence in
  0.7.2, see ``docs/diffrax-verychord.md``.
- **Solvers with a compiled loop first.** SciPy's guide: LSODA "can also be a good universal choice"; ``odeint`` is the
  same solver, whose loop is Fortran.
- **Saved times.** Steps land on them where the library's values between steps are of an order so far below its
  method's that they decide the accuracy (``LOST_ORDERS``), and the times are few beside the steps (``FEW_TIMES``,
  ``WORK_EACH``). Diffrax's documentation recommends ``step_ts`` for that. Interpolated over landing, at equal error
  over all saved times: Kvaerno5 in Diffrax, error 1e-7, 6.1 (solve) and 2.8 (gradient) on Robertson, 2.9 and 2.4 on
  HIRES, 3.2 and 1.0 on the stiff van der Pol oscillator, 2.1 and 1.0 on the Oregonator, 6.5 (solve) at the 50 times of
  Robertson's universal equation; dopri8 in torchdiffeq, error 1e-5, 1.6 and 1.7 on Lotka-Volterra, but 0.4 and 0.35 on
  the spiral's network, whose 30 times are closer than its steps. The best way stands there without landing, too, so
  that it can be seen what its interpolant costs.
- **The default beside the best.** What a library does unless it is told otherwise is a recipe of its own where it
  differs from the best one, named default. An explicit default is left out where the probe finds that it gets nowhere
  and the library has another method.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from sciml_bench.adapters.base import DEFAULT, OTHER_KIND, Adapter, ProblemTraits, Recipe, Recipes
from sciml_bench.host.processors import lacks_bfloat16
from sciml_bench.record.task import DEFAULT_SAVING, LANDING, TF32, Cell


def model_refusal(cell: Cell, _facts: ProblemTraits) -> str | None:
    """Return why a cell of a model cannot run here; ``None`` if it can. Workers check for GPUs."""
    if cell.precision == "bfloat16" and cell.device == "cpu":
        return lacks_bfloat16()
    if cell.precision == TF32 and cell.device != "gpu":
        return "TF32 is a precision of NVIDIA's matrix units: device gpu"
    return None


def scalar_refusal(facts: ProblemTraits, code: str, library: str) -> str | None:
    """Return why ``code`` that is written number by number cannot have a problem; ``None`` if it can."""
    if facts.arrays or facts.latent or facts.controlled or facts.n_weights:
        return f"{code} is written number by number, which vectors, fields and networks are too large for"
    if facts.batch > 1:
        return f"{library} takes one trajectory at a time"
    return None


INTERPOLATED = "interpolated"
"""The role of the best way without landing on saved times, if that way lands on them."""

LOST_ORDERS, FEW_TIMES, WORK_EACH = 2, 20, 20
"""Steps land on saved times if the interpolant's order is this much below the method's, and the probe counts this many
evaluations for each time; without a count, up to this many times.
"""

FEW = 100
"""Up to this many components of state and theta together, gradients are forward."""

Value = TypeVar("Value")


def takes_explicit(facts: ProblemTraits) -> bool:
    """Return whether explicit methods are recommended: as probed, or as labelled if the probe is undecided."""
    found = None if facts.probed is None else facts.probed.suits_explicit
    return not facts.stiff if found is None else found


def contradicted(facts: ProblemTraits) -> bool:
    """Return whether the probe contradicts the problem's label."""
    return takes_explicit(facts) == facts.stiff


def undecided(facts: ProblemTraits) -> bool:
    """Return whether a problem was probed and neither kind of method was found to suit it."""
    return facts.probed is not None and facts.probed.suits_explicit is None


def takes_both(facts: ProblemTraits) -> bool:
    """Return whether methods of both kinds are planned."""
    return contradicted(facts) or undecided(facts)


def is_small(facts: ProblemTraits) -> bool:
    """Return whether gradients are taken forward."""
    return facts.n_states + facts.n_theta <= FEW


def by_work(facts: ProblemTraits, explicit: Value, implicit: Value) -> Value:
    """The value for the work that the probe measured."""
    return explicit if takes_explicit(facts) else implicit


def by_size(facts: ProblemTraits, few: Value, many: Value) -> Value:
    """The value for this number of components."""
    return few if is_small(facts) else many


def other_kind(facts: ProblemTraits, explicit: Recipe, implicit: Recipe) -> tuple[Recipe, ...]:
    """Return the first recipe of the kind of method that is not the best one's, if both kinds are planned."""
    if not takes_both(facts):
        return ()
    return (replace(by_work(facts, implicit, explicit), role=OTHER_KIND if undecided(facts) else ""),)


def default(method: str, sensitivity: str, mode: str, note: str = "") -> Recipe:
    """A library's default, as a recipe."""
    return Recipe(method, sensitivity, mode, DEFAULT, note)


def distinct(*recipes: Recipe) -> tuple[Recipe, ...]:
    """Each recipe once. A default that equals the best way is dropped; any other keeps its name."""
    best = replace(recipes[0], role="")
    others = [recipe for recipe in recipes[1:] if recipe != best]
    named = {recipe: recipe for recipe in others} | {recipe: recipe for recipe in others if recipe.role}
    return (best, *named.values())


def recommended(adapter: Adapter, facts: ProblemTraits) -> tuple[Recipe, ...]:
    """Return an adapter's recipes, the best first, landing on the saved times by the one rule."""
    declared = adapter.recipes(facts)
    found = tuple(replace(recipe, saving=LANDING) if _lands(recipe, adapter, facts) else recipe for recipe in declared)
    if not found or found[0].saving == DEFAULT_SAVING:
        return found
    twin = replace(declared[0], role=INTERPOLATED)
    return found if twin in found else (*found, twin)


def _lands(recipe: Recipe, adapter: Adapter, facts: ProblemTraits) -> bool:
    method = adapter.method(recipe.method)
    if recipe.role == DEFAULT or not method.lands or method.interpolant is None:
        return False
    return method.order - method.interpolant >= LOST_ORDERS and 1 < facts.n_saved <= _few_times(facts)


def _few_times(facts: ProblemTraits) -> int:
    counts = () if facts.probed is None else (facts.probed.explicit, facts.probed.implicit)
    work = by_work(facts, *counts) if counts else None
    return FEW_TIMES if work is None else work // WORK_EACH


def always(*recipes: Recipe) -> Recipes:
    """Return recipes that hold for every problem."""
    return lambda _facts: recipes

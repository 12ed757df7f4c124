"""CasADi: SUNDIALS' CVODES and IDAS, with forward and adjoint sensitivities of symbolic equations."""

from __future__ import annotations

import shutil
from typing import Any

from sciml_bench.adapters.base import Adapter, Cost, Method, ProblemTraits, Recipe
from sciml_bench.adapters.event_list import MOST_EVENTS
from sciml_bench.adapters.recipes import by_size, by_work, default, distinct
from sciml_bench.record.task import Cell

__all__ = ["ADAPTER"]


SOLVERS: dict[str, tuple[str, dict[str, Any]]] = {
    "cvodes_bdf": ("cvodes", {}),
    "cvodes_adams": ("cvodes", {"linear_multistep_method": "adams", "nonlinear_solver_iteration": "functional"}),
    "idas": ("idas", {}),
}
"""The plug-in of each method, and its options."""

EVENT_OPTIONS = {"max_events": MOST_EVENTS, "event_tol": 1e-14, "max_event_iter": 50}
"""With less exact times of events the error of gradients stays near 1e-4, whatever the tolerances."""

LOOKS = 1000
"""Output times of the time span, at which CasADi looks for events."""

COMPILED = "compiled"
"""The mode that compiles the equations and their derivatives as C; the other one interprets them."""


def compiler() -> str | None:
    """The C compiler for the mode ``compiled``; ``None`` if there is none."""
    return shutil.which("gcc") or shutil.which("cc")


def refusal(cell: Cell, facts: ProblemTraits) -> str | None:
    """Return why a cell cannot run on a problem with these facts."""
    if facts.either_way:
        return "CasADi's events count in one direction, and right after one the sign of its condition is rounding"
    if facts.consistent and cell.method != "idas":
        return "of CasADi's integrators IDAS alone makes initial values consistent"
    if facts.arrays or (facts.latent and not facts.consistent) or facts.controlled or facts.n_weights:
        return "code for CasADi is written number by number, which vectors, fields and networks are too large for"
    if facts.batch > 1:
        return "the CasADi adapter takes one trajectory at a time"
    if cell.framework_mode == COMPILED and compiler() is None:
        return "CasADi compiles equations with a C compiler, and there is neither gcc nor cc"
    return None


def recipes(facts: ProblemTraits) -> tuple[Recipe, ...]:
    """CVODES, its default: BDF for stiff equations, Adams methods for others; gradients by its rule of sizes.

    ``casadi.gradient`` of a loss takes adjoints, whatever the size. Algebraic equations are what IDAS is for.
    """
    sensitivity = by_size(facts, "forward", "adjoint")
    if facts.algebraic:
        native = tuple(Recipe("idas", sensitivity, mode) for mode in (COMPILED, "eager"))
        return native if facts.consistent else distinct(*native, Recipe("cvodes_bdf", sensitivity, COMPILED))
    methods = by_work(facts, ("cvodes_adams", "cvodes_bdf"), ("cvodes_bdf", "idas"))
    modes = (COMPILED, "eager")
    best = tuple(Recipe(methods[0], sensitivity, mode) for mode in modes)
    return distinct(*best, Recipe(methods[1], sensitivity, COMPILED), default("cvodes_bdf", "adjoint", "eager"))


ADAPTER = Adapter(
    name="casadi",
    title="CasADi (SUNDIALS)",
    packages={"casadi": "casadi"},
    extra="casadi",
    target="casadi",
    program="sciml_bench.adapters.casadi.program:CasadiProgram",
    event_program="sciml_bench.adapters.casadi.program:CasadiProgram",
    script="sciml_bench.adapters.casadi.script:script_of",
    methods=(
        Method("cvodes_bdf", family="bdf", order=5, implicit=True, stiff=True),
        Method("cvodes_adams", family="multistep", order=12, implicit=False),
        Method("idas", family="bdf", order=5, implicit=True, stiff=True),
    ),
    sensitivities=("forward", "adjoint"),
    modes=(COMPILED, "eager"),
    recipes=recipes,
    refusal=refusal,
    cost=Cost(startup_s=1.0, call_s=0.005),
)

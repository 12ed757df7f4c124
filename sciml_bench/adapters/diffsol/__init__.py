"""diffsol from Python (pydiffsol): BDF and Runge-Kutta methods in Rust, the equations compiled by LLVM."""

from __future__ import annotations

from sciml_bench.adapters.base import DEFAULT, Adapter, Cost, Method, ProblemTraits, Recipe
from sciml_bench.adapters.recipes import by_size, by_work, distinct, scalar_refusal
from sciml_bench.record.task import Cell

__all__ = ["ADAPTER"]


SOLVERS = {"bdf": "bdf", "tr_bdf2": "tr_bdf2", "esdirk34": "esdirk34", "tsit45": "tsit45"}
"""The library's name of each method."""

MATRICES = {"compiled": "nalgebra_dense", "sparse": "faer_sparse"}
"""The library's matrices in each mode."""

SMALLEST_STEP = 1e-24
"""The smallest step as a part of the time span. The library's own, 1e-13 in any unit of time, ends solves whose first
steps are small because a state starts at zero."""

CONTROLLED = "forward-controlled"
"""The sensitivities whose errors shorten steps, too. An adjoint has the tolerances of the solve, its default: smaller
ones end it in its first step."""

SPARSE_FROM = 100
"""The smallest number of states with a recommendation of sparse matrices."""


def refusal(_cell: Cell, facts: ProblemTraits) -> str | None:
    """Return why a cell cannot run on a problem with these facts."""
    if reason := scalar_refusal(facts, "DiffSL", "pydiffsol"):
        return reason
    if facts.n_breakpoints:
        return "equations that jump are solved part by part, and pydiffsol's gradients start from fixed initial values"
    # Loads SymPy, which a declaration does not.
    from sciml_bench.emit.diffsl import FUNCTIONS

    if unknown := sorted(facts.functions - FUNCTIONS):
        return f"DiffSL has no way to write {', '.join(unknown)}"
    return None


def recipes(facts: ProblemTraits) -> tuple[Recipe, ...]:
    """Its documentation starts from BDF, and has TR-BDF2 and ESDIRK34 for moderate stiffness, Tsit45 for none.

    Without tolerances for them, sensitivities are left out of the error control; that is the default.
    """
    mode = "sparse" if facts.n_states >= SPARSE_FROM else "compiled"
    best, other = by_size(facts, (CONTROLLED, "forward"), ("adjoint", "forward"))
    methods = by_work(facts, ("tsit45", "bdf"), ("bdf", "tr_bdf2", "esdirk34"))
    default = Recipe("bdf", other, "compiled", DEFAULT)
    return distinct(*(Recipe(method, best, mode) for method in methods), default)


ADAPTER = Adapter(
    name="diffsol",
    title="diffsol (pydiffsol)",
    packages={"pydiffsol": "pydiffsol"},
    extra="diffsol",
    target="diffsl",
    program="sciml_bench.adapters.diffsol.program:DiffsolProgram",
    script="sciml_bench.adapters.diffsol.script:script_of",
    methods=(
        Method("bdf", family="bdf", order=5, implicit=True, stiff=True),
        Method("tr_bdf2", family="esdirk", order=2, implicit=True, stiff=True),
        Method("esdirk34", family="esdirk", order=3, implicit=True, stiff=True),
        Method("tsit45", family="explicit_rk", order=5, implicit=False),
    ),
    sensitivities=("forward", CONTROLLED, "adjoint"),
    modes=("compiled", "sparse"),
    recipes=recipes,
    refusal=refusal,
    cost=Cost(startup_s=0.5, call_s=0.001),
)

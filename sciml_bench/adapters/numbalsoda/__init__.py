"""numbalsoda: LSODA in C++ and DOP853 in Fortran, which call a right-hand side that Numba compiled."""

from __future__ import annotations

from sciml_bench.adapters.base import NO_GRADIENT, Adapter, Cost, Method, ProblemTraits, Recipe
from sciml_bench.adapters.recipes import by_work, scalar_refusal
from sciml_bench.record.task import Cell

__all__ = ["ADAPTER"]


def refusal(_cell: Cell, facts: ProblemTraits) -> str | None:
    """Return why a cell cannot run on a problem with these facts."""
    return scalar_refusal(facts, "code for Numba", "numbalsoda")


def recipes(facts: ProblemTraits) -> tuple[Recipe, ...]:
    """Its own guide shows lsoda, which detects stiffness, and dop853 for non-stiff problems."""
    lsoda, dop853 = (Recipe(method, NO_GRADIENT, "compiled") for method in ("lsoda", "dop853"))
    return by_work(facts, (lsoda, dop853), (lsoda,))


ADAPTER = Adapter(
    name="numbalsoda",
    title="numbalsoda (Numba)",
    packages={"numba": "numba", "numbalsoda": "numbalsoda"},
    extra="numbalsoda",
    target="numba",
    program="sciml_bench.adapters.numbalsoda.program:NumbalsodaProgram",
    script="sciml_bench.adapters.numbalsoda.script:script_of",
    methods=(
        # Switches between Adams methods of orders 1 to 12 and BDF of orders 1 to 5.
        Method("lsoda", family="multistep", order=5, implicit=True, stiff=True),
        Method("dop853", family="explicit_rk", order=8, implicit=False),
    ),
    sensitivities=(NO_GRADIENT,),
    modes=("compiled",),
    recipes=recipes,
    refusal=refusal,
    # Its import compiles.
    cost=Cost(startup_s=5.0, call_s=0.001),
)

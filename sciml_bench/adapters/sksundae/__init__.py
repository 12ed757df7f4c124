"""scikit-SUNDAE: SUNDIALS' CVODE from Python, with equations and Jacobian compiled by Numba."""

from __future__ import annotations

from sciml_bench.adapters.base import NO_GRADIENT, Adapter, Cost, Method, ProblemTraits, Recipe
from sciml_bench.adapters.recipes import by_work, scalar_refusal
from sciml_bench.record.task import Cell

__all__ = ["ADAPTER"]


METHODS = {"cvode_bdf": "BDF", "cvode_adams": "Adams"}
"""The library's name of each method."""


def refusal(_cell: Cell, facts: ProblemTraits) -> str | None:
    """Return why a cell cannot run on a problem with these facts."""
    return scalar_refusal(facts, "code for Numba", "scikit-SUNDAE")


def recipes(facts: ProblemTraits) -> tuple[Recipe, ...]:
    """Its documentation suggests BDF for stiff problems and Adams for others."""
    adams, bdf = (Recipe(method, NO_GRADIENT, "compiled") for method in ("cvode_adams", "cvode_bdf"))
    return by_work(facts, (adams, bdf), (bdf,))


ADAPTER = Adapter(
    name="sksundae",
    title="scikit-SUNDAE (Numba)",
    packages={"numba": "numba", "sksundae": "scikit-sundae"},
    extra="sksundae",
    target="numba",
    program="sciml_bench.adapters.sksundae.program:SundaeProgram",
    script="sciml_bench.adapters.sksundae.script:script_of",
    methods=(
        Method("cvode_bdf", family="bdf", order=5, implicit=True, stiff=True),
        Method("cvode_adams", family="multistep", order=12, implicit=False),
    ),
    sensitivities=(NO_GRADIENT,),
    modes=("compiled",),
    recipes=recipes,
    refusal=refusal,
    cost=Cost(startup_s=3.0, call_s=0.002),
)

"""CyRK: Runge-Kutta and multistep methods in C++, which call a right-hand side that Numba compiled."""

from __future__ import annotations

from sciml_bench.adapters.base import NO_GRADIENT, Adapter, Cost, Method, ProblemTraits, Recipe
from sciml_bench.adapters.recipes import by_work, scalar_refusal
from sciml_bench.record.task import Cell

__all__ = ["ADAPTER"]


METHODS = {
    "rk45": "RK45", "dop853": "DOP853", "tsit5": "Tsit5", "vern7": "Vern7", "lsoda": "LSODA", "radau": "RADAU",
    "bdf": "BDF",
}  # fmt: skip
"""The library's name of each method."""


def refusal(_cell: Cell, facts: ProblemTraits) -> str | None:
    """Return why a cell cannot run on a problem with these facts."""
    return scalar_refusal(facts, "code for Numba", "CyRK")


def recipes(facts: ProblemTraits) -> tuple[Recipe, ...]:
    """Its guide starts from RK45 and names DOP853 and Vern7 for tight tolerances, LSODA, BDF and RADAU if stiff."""
    explicit = ("vern7", "dop853", "rk45")
    implicit = ("lsoda", "radau", "bdf")
    return tuple(Recipe(method, NO_GRADIENT, "compiled") for method in by_work(facts, explicit, implicit))


ADAPTER = Adapter(
    name="cyrk",
    title="CyRK (Numba)",
    packages={"numba": "numba", "CyRK": "CyRK"},
    extra="cyrk",
    target="numba",
    program="sciml_bench.adapters.cyrk.program:CyrkProgram",
    script="sciml_bench.adapters.cyrk.script:script_of",
    methods=(
        Method("rk45", family="explicit_rk", order=5, implicit=False, interpolant=4),
        Method("dop853", family="explicit_rk", order=8, implicit=False, interpolant=7),
        Method("tsit5", family="explicit_rk", order=5, implicit=False, interpolant=4),
        Method("vern7", family="explicit_rk", order=7, implicit=False),
        # Switches between Adams methods of orders 1 to 12 and BDF of orders 1 to 5.
        Method("lsoda", family="multistep", order=5, implicit=True, stiff=True),
        Method("radau", family="radau", order=5, implicit=True, stiff=True, interpolant=3),
        Method("bdf", family="bdf", order=5, implicit=True, stiff=True),
    ),
    sensitivities=(NO_GRADIENT,),
    modes=("compiled",),
    recipes=recipes,
    refusal=refusal,
    # Its entry function is compiled in each process.
    cost=Cost(startup_s=12.0, call_s=0.001),
)

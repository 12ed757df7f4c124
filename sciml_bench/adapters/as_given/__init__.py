"""A Python function as its user gave it, in the solvers of its library, to show the gain of a rewrite.

NumPy functions are solved by SciPy, and differentiated by differences of the loss; functions of JAX and PyTorch by
Diffrax and torchdiffeq, in the ways in which these take emitted equations.
"""

from __future__ import annotations

from dataclasses import replace

from sciml_bench.adapters.base import Adapter, ProblemTraits, Recipe
from sciml_bench.adapters.diffrax import ADAPTER as DIFFRAX
from sciml_bench.adapters.recipes import takes_explicit
from sciml_bench.adapters.scipy import ADAPTER as SCIPY
from sciml_bench.adapters.torchdiffeq import ADAPTER as TORCHDIFFEQ
from sciml_bench.record.task import Cell

NAME = "as-given"
DIFFERENCES = "differences"


def adapter_of(path: str, function: str, library: str) -> Adapter:
    """The adapter of a function of a Python file, by the library of its arrays: ``numpy``, ``jax`` or ``torch``."""
    whole = {"numpy": SCIPY, "jax": DIFFRAX, "torch": TORCHDIFFEQ}[library]
    recipes, options = _in_scipy if library == "numpy" else whole.recipes, {"path": path, "function": function}
    if library == "numpy":
        whole = replace(whole, sensitivities=(DIFFERENCES,), mode_targets={}, mode_extras={})

    def refusal(cell: Cell, facts: ProblemTraits) -> str | None:
        ways = {(way.method, way.sensitivity, way.mode, way.saving) for way in recipes(facts)}
        if (cell.method, cell.sensitivity, cell.mode, cell.saving) not in ways:
            return "a function is solved as it was given only in the recommended ways of its library"
        return None

    return replace(
        whole, name=NAME, title=f"the function as given, {whole.title}", script="", options=options, refusal=refusal,
        program=f"{__name__}.in_{whole.name}:GivenProgram", modes=whole.modes[:1], recipes=recipes,
    )  # fmt: skip


def _in_scipy(facts: ProblemTraits) -> tuple[Recipe, ...]:
    """LSODA, which detects stiffness, in both interfaces, and the usual method of ``solve_ivp``."""
    usual = "rk45" if takes_explicit(facts) else "bdf"
    return tuple(Recipe(method, DIFFERENCES, "eager") for method in ("lsoda", "odeint", usual))

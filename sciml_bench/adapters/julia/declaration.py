"""What the Julia side can do. Imports nothing of Julia.

Mode ``compiled`` is the form that SciML's guides recommend for the problem: static vectors where the state is small
and the gradient is taken forward, functions that write into arrays elsewhere. ``in-place`` is always the latter, the
form of SciML's first tutorial. Julia compiles both. With networks there is ``compiled`` only: Lux layers and one
``ComponentVector`` of parameters, in a right-hand side that gives a new vector, as in SciML's tutorials. Problems that
compute something around their solve have that form too: a gradient goes through all of it, by ForwardDiff, or by Zygote
around the adjoint, for which nothing writes into arrays. What paths drive is solved from each of their values to the
next one; so are the straight lines of a Brownian motion (Wong and Zakai), without methods for stochastic equations.

An adjoint is named with the vector-Jacobian product that it uses: ``gauss-reversediff`` is ``GaussAdjoint`` with
``ReverseDiffVJP``. Zygote differentiates the loss around it; with ``enzyme`` Enzyme does, around ``GaussAdjoint``.

Backwards from each saved time of a stiff problem the adjoint solution falls off within the fastest time scale. With
implicit methods two adjoints need help to resolve such layers; ``InterpolatingAdjoint``, whose integral is a state of
the adjoint equation, needs none, nor do explicit methods.

- ``GaussAdjoint`` and all that integrates over differences of times lose digits where a layer is hardly longer than the
  times' own spacing. In POLLU one lasts 2e-12 s, and the spacing of doubles at t = 60 is 7e-15: DiffEqCallbacks (4.18,
  ``SavingIntegrandSumAffect``) takes the width of a step as ``t - tprev``, rounded to that, while the solver took
  ``dt``. At rtol 1e-10 with Rodas5P the gradient is off by 8e-6, by 7e-5 at 1e-11, whatever the number of nodes. So
  the solve of a gradient is cut at the saved times, and each piece counts time from its end, near which numbers are
  dense (``cut`` in the Julia package): the gradient is right to 7e-13. On POLLU the cuts add 10 % of the steps and
  4 % of the time, on Robertson 6 % of the steps and nothing that can be told of the time.
- ``QuadratureAdjoint`` hands QuadGK the whole interval between two saved times, whose first nodes miss the layer, and
  the rest is smooth: no tolerance makes it look closer. On Robertson (layers of 1e-4 in intervals of up to 6e4, rtol
  1e-10, Rodas5P) the gradient is off by 28 %. Its pieces are also saved at more times, which come closer and closer to
  both ends (``saveat``; ``breaks``).

With an implicit method ``ReverseDiffVJP`` is slow in all adjoints: the solver's Jacobian of the adjoint equation is
taken with dual numbers, which a compiled tape of numbers cannot hold, so that SciMLSensitivity (7.112,
``_vecjacobian!``) records a new tape for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sciml_bench.adapters.base import Adapter, Facts, Method, Recipe
from sciml_bench.adapters.julia import installation
from sciml_bench.adapters.recipes import by_size, by_work, contradicting, distinct
from sciml_bench.task import Cell

ADJOINTS = ("interpolating", "gauss", "quadrature", "backsolve")
PRODUCTS = ("reversediff", "enzyme", "zygote")

# The emitter writes no function that returns its result, which Zygote wants, for larger states.
_LARGEST_FOR_ZYGOTE = 20


def refusal(cell: Cell, facts: Facts) -> str | None:
    """Why a cell cannot run on a problem with these facts."""
    named = facts.n_weights or facts.latent
    if named and cell.framework_mode == "in-place":
        why = (
            "Lux's layers give new arrays" if facts.n_weights else "Zygote must differentiate what is around the solve"
        )
        return f"{why}, so there is no right-hand side that writes into one: mode compiled"
    if cell.method == "cvode_bdf" and cell.sensitivity == "forward":
        return "SUNDIALS computes in Float64 only, so ForwardDiff's dual numbers cannot pass through CVODE_BDF"
    if cell.method == "cvode_bdf" and cell.framework_mode == "compiled":
        return "CVODE_BDF takes functions that write into arrays only: mode in-place"
    if cell.sensitivity.endswith("-zygote") and facts.n_states > _LARGEST_FOR_ZYGOTE and not named:
        return "ZygoteVJP differentiates no right-hand side that writes into arrays, as those of fields do"
    return next((reason for part in _parts(cell) if (reason := installation.refused_part(part))), None)


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
"""Up to so many states a Rosenbrock method, beyond them one of many steps: SciML's guide says "small" and "large"."""


def recipes(facts: Facts) -> tuple[Recipe, ...]:
    """SciML's guides, gradients by the one rule.

    Stiff systems: Rosenbrock23 or Rodas5P for small ones, FBDF and QNDF for large ones. Non-stiff: "Tsit5 is the
    go-to", "Vern9 for high accuracy". Gradients: "ForwardDiffSensitivity is the fastest for small numbers of parameters
    (< 100)"; else "GaussAdjoint should be generally preferred", with ReverseDiffVJP(true) "the most efficient after
    Enzyme" for functions that mutate and have no branches; it also "works well for small Lux neural networks", which
    those of our problems are; "using ``ZygoteVJP`` is faster than other vjp choices for larger neural networks". What
    SciML does unless it is told otherwise, a switch of methods and a sensitivity by size, is none of the cells.
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
    return distinct(best, *others, *contradicting(facts, explicit, implicit))


ADAPTER = Adapter(
    name="julia",
    title="DifferentialEquations.jl (Julia)",
    packages={"juliacall": "juliacall"},
    extra="julia",
    target="julia",
    program="sciml_bench.adapters.julia.program:build",
    methods=(
        Method("tsit5", family="explicit_rk", order=5, implicit=False),
        Method("vern7", family="explicit_rk", order=7, implicit=False),
        Method("vern9", family="explicit_rk", order=9, implicit=False),
        Method("rodas5p", family="rosenbrock", order=5, implicit=True, stiff=True),
        Method("rosenbrock23", family="rosenbrock", order=2, implicit=True, stiff=True),
        Method("kencarp47", family="esdirk", order=4, implicit=True, stiff=True),
        Method("trbdf2", family="esdirk", order=2, implicit=True, stiff=True),
        Method("fbdf", family="bdf", order=5, implicit=True, stiff=True),
        Method("qndf", family="bdf", order=5, implicit=True, stiff=True),
        Method("radauiia5", family="radau", order=5, implicit=True, stiff=True),
        Method("cvode_bdf", family="bdf", order=5, implicit=True, stiff=True),
    ),
    sensitivities=("forward", *(f"{adjoint}-{product}" for adjoint in ADJOINTS for product in PRODUCTS), "enzyme"),
    modes=("compiled", "in-place"),
    recipes=recipes,
    refusal=refusal,
    variables=installation.variables,
    lacking=installation.lacking,
    compiles_long=True,
)

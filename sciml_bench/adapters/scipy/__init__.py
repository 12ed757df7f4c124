"""SciPy's ``solve_ivp``, with gradients from the forward sensitivity equations."""

from __future__ import annotations

from sciml_bench.adapters.base import Adapter, Cost, Method, PlotStyle, ProblemTraits, Recipe
from sciml_bench.adapters.recipes import by_work, default, distinct
from sciml_bench.record.task import LANDING, Cell

__all__ = ["ADAPTER"]


MOST_TRAJECTORIES = 1000
"""Larger batches are for libraries that solve many trajectories at once; the conditions of an experiment are fewer."""


def refusal(cell: Cell, facts: ProblemTraits) -> str | None:
    """Return why a cell cannot run on a problem with these facts."""
    if facts.controlled:
        return "paths that drive an equation, through data or of Brownian motions, are not emitted to NumPy"
    if facts.events and (why := _no_events(cell)):
        return why
    if facts.n_weights:
        return (
            "SciPy has no automatic differentiation, and forward sensitivity equations for all the weights of a network"
            " are no way to train it"
        )
    if facts.batch > MOST_TRAJECTORIES:
        return f"SciPy takes one trajectory at a time, and {facts.batch} one after the other are no way to solve them"
    if cell.framework_mode == "compiled" and facts.latent and facts.arrays:
        return "code for Numba has computations around the solve only of states and definitions that are numbers"
    if cell.framework_mode == "compiled" and facts.not_local:
        return f"code for Numba is written number by number, and code for arrays point by point: {facts.not_local}"
    return None


def _no_events(cell: Cell) -> str | None:
    """Return why a cell cannot run on a problem with events."""
    if cell.method == "odeint":
        return "odeint does not look for events; solve_ivp does"
    if cell.framework_mode == "compiled":
        return "events are not emitted for Numba"
    if cell.saving == LANDING:
        return "solve_ivp looks for events while it interpolates at saved times"
    return None


def recipes(facts: ProblemTraits) -> tuple[Recipe, ...]:
    """LSODA first, which detects stiffness; in its older interface, whose loop is Fortran.

    SciPy's guide: "explicit Runge-Kutta methods should be used for non-stiff problems and implicit methods ('Radau',
    'BDF') for stiff problems. Among Runge-Kutta methods, 'DOP853' is recommended for solving with high precision", and
    "'LSODA' can also be a good universal choice". ``solve_ivp`` takes RK45 by default. Without Numba, or on a problem
    that does not suit it, the next one is the best.
    """
    implicit = (Recipe("radau", "forward", "eager"), Recipe("bdf", "forward", "eager"))
    further = by_work(facts, (Recipe("dop853", "forward", "eager"),), implicit)
    usual = by_work(facts, (default("rk45", "forward", "eager"),), ())
    return distinct(
        Recipe("odeint", "forward", "compiled"),
        Recipe("odeint", "forward", "eager"),
        Recipe("lsoda", "forward", "eager"),
        *further,
        *usual,
    )


ADAPTER = Adapter(
    name="scipy",
    title="SciPy solve_ivp",
    packages={"numpy": "numpy", "scipy": "scipy"},
    extra="",
    target="numpy",
    program="sciml_bench.adapters.scipy.program:SciPyProgram",
    script="sciml_bench.adapters.scipy.script:script_of",
    methods=(
        Method("rk45", family="explicit_rk", order=5, implicit=False, lands=True, interpolant=4),
        Method("dop853", family="explicit_rk", order=8, implicit=False, lands=True, interpolant=7),
        Method("radau", family="radau", order=5, implicit=True, stiff=True, lands=True, interpolant=3),
        Method("bdf", family="bdf", order=5, implicit=True, stiff=True, lands=True),
        # Switches between Adams methods of orders 1 to 12 and BDF of orders 1 to 5.
        Method("lsoda", family="multistep", order=5, implicit=True, stiff=True),
        # LSODA in the older interface, whose loop is compiled as a whole; "for new code, use solve_ivp".
        Method("odeint", family="multistep", order=5, implicit=True, stiff=True, lands=True),
    ),
    sensitivities=("forward",),
    # Compiled: the right-hand side and its Jacobians by Numba, the solver's own loop stays Python or Fortran.
    modes=("eager", "compiled"),
    mode_targets={"compiled": "numba"},
    mode_extras={"compiled": "numba"},
    recipes=recipes,
    refusal=refusal,
    cost=Cost(startup_s=1.0, call_s=0.1),
    look=PlotStyle("#00916a", "oH"),
    event_program="sciml_bench.adapters.scipy.events:EventProgram",
)

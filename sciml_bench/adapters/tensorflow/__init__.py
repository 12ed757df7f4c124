"""TensorFlow Probability's ODE solvers in TensorFlow; gradients by adjoint or forward sensitivity equations."""

from __future__ import annotations

from sciml_bench.adapters.base import Adapter, Cost, Method, PlotStyle, ProblemTraits, Recipe
from sciml_bench.adapters.recipes import by_size, by_work, default, distinct, other_kind
from sciml_bench.record.task import Cell

__all__ = ["ADAPTER"]


BDF = Method("bdf", family="bdf", order=5, implicit=True, stiff=True)
DORMAND_PRINCE = Method("dormand_prince", family="explicit_rk", order=5, implicit=False)
RK4 = Method("rk4", family="explicit_rk", order=4, implicit=False, adaptive=False)

BACKSOLVE, DISCRETE, FORWARD = "backsolve", "discrete", "forward"

UNROLLED = "unrolled"
"""A graph without a loop: every step is written into it, which takes long to build and then runs without overhead."""


def refusal(cell: Cell, facts: ProblemTraits) -> str | None:
    """Return why a cell cannot run on a problem with these facts."""
    fixed = cell.method == RK4.name
    if fixed and cell.sensitivity != DISCRETE:
        return "a loop of fixed steps is differentiated as it stands; what else there is, is for the library's solvers"
    if not fixed and cell.sensitivity == DISCRETE:
        return "TensorFlow Probability's solvers are differentiated by the adjoint or forward equations, not by steps"
    if not fixed and cell.framework_mode == UNROLLED:
        return "the steps of an adaptive method cannot be written out: how many there are is not known before"
    if facts.stochastic:
        return "TensorFlow Probability's solvers take no Brownian motion that drives an equation"
    if facts.controlled:
        return "TensorFlow Probability has no paths through data that drive an equation"
    return None


def recipes(facts: ProblemTraits) -> tuple[Recipe, ...]:
    """The guide names BDF for stiff and DormandPrince for other equations; gradients are by the one rule.

    By itself the library solves the adjoint equation, which is the default; it does not get through it for stiff
    problems, where forward sensitivities are the only gradient.

    XLA comes first: it is the documented way to make a graph of many small operations fast, here by a factor of a
    hundred. A ``tf.function`` without it is the default.
    """
    gradient = by_size(facts, FORWARD, BACKSOLVE)
    explicit, implicit = (Recipe(method.name, gradient, "xla") for method in (DORMAND_PRINCE, BDF))
    best = by_work(facts, explicit, implicit)
    return distinct(best, *other_kind(facts, explicit, implicit), default(best.method, BACKSOLVE, "graph"))


ADAPTER = Adapter(
    name="tensorflow",
    title="TensorFlow Probability (TensorFlow)",
    packages={
        "tensorflow": "tensorflow",
        "tensorflow_probability": "tensorflow-probability",
        "tf_keras": "tf-keras",
    },
    extra="tensorflow",
    target="tensorflow",
    program="sciml_bench.adapters.tensorflow.program:TensorFlowProgram",
    script="sciml_bench.adapters.tensorflow.script:script_of",
    methods=(BDF, DORMAND_PRINCE, RK4),
    sensitivities=(BACKSOLVE, DISCRETE, FORWARD),
    devices=("cpu", "gpu"),
    modes=("xla", "graph", UNROLLED),
    refusal=refusal,
    # TensorFlow's persistent cache of XLA programs. It does not report hits: no new file means a hit.
    cached_modes=("xla",),
    recipes=recipes,
    cost=Cost(startup_s=10.0, call_s=0.02, long_startup_s={UNROLLED: 90.0}),
    look=PlotStyle("#b07d00", "PX"),
)

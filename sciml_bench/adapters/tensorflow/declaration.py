"""What TensorFlow Probability's solvers can do. Imports nothing of TensorFlow.

There is no eager mode: TensorFlow's own guide is to wrap computations in ``tf.function``, and these solvers, loops of
hundreds of small operations a step, take minutes without it. Single precision is left out: the solvers are made for
``float64`` tolerances, and emitted constants are ``float64``, which TensorFlow does not mix with ``float32``.
"""

from __future__ import annotations

from sciml_bench.adapters.base import Adapter, Facts, Method, Recipe
from sciml_bench.task import Cell


def refusal(_cell: Cell, facts: Facts) -> str | None:
    """Why a cell cannot run on a problem with these facts."""
    if facts.stochastic:
        return "TensorFlow Probability's solvers take no Brownian motion that drives an equation"
    if facts.controlled:
        return "TensorFlow Probability has no paths through data that drive an equation"
    return None


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
    program="sciml_bench.adapters.tensorflow.program:build",
    methods=(
        Method("bdf", family="bdf", order=5, implicit=True, stiff=True),
        Method("dormand_prince", family="explicit_rk", order=5, implicit=False),
    ),
    sensitivities=("backsolve",),
    modes=("xla", "graph"),
    refusal=refusal,
    # TensorFlow's persistent cache of XLA programs. It does not tell of hits; that it adds no file shows them.
    cached_modes=("xla",),
    # The guide names BDF for stiff and DormandPrince for non-stiff equations. XLA comes first: it is the documented
    # way to make a graph of many small operations fast, here by a factor of a hundred.
    stiff_recipes=(Recipe("bdf", "backsolve", "xla"), Recipe("bdf", "backsolve", "graph")),
    nonstiff_recipes=(Recipe("dormand_prince", "backsolve", "xla"), Recipe("dormand_prince", "backsolve", "graph")),
)

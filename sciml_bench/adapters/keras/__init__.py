"""Keras on TensorFlow, for the models of the conventional track."""

from __future__ import annotations

from sciml_bench.adapters.base import NETWORK, Adapter, Cost, ProblemTraits, Recipe
from sciml_bench.adapters.recipes import model_refusal
from sciml_bench.record.task import CONVENTIONAL, TF32


def _recipes(facts: ProblemTraits) -> tuple[Recipe, ...]:
    """If modes are compared, include one that nobody would train in."""
    modes = (
        (
            "graph",
            "xla",
            "eager",
        )
        if facts.fusion
        else ("graph", "xla")
    )
    return tuple(Recipe("network", "reverse", mode) for mode in modes)


ADAPTER = Adapter(
    name="keras",
    title="Keras (TensorFlow)",
    packages={"tensorflow": "tensorflow", "keras": "keras"},
    extra="tensorflow",
    target="keras",
    program="sciml_bench.adapters.keras.program:KerasProgram",
    methods=(NETWORK,),
    sensitivities=("reverse",),
    modes=("graph", "xla", "eager"),
    precisions=("float32", "float64", "bfloat16", TF32),
    devices=("cpu", "gpu"),
    recipes=_recipes,
    refusal=model_refusal,
    track=CONVENTIONAL,
    cost=Cost(startup_s=10.0, call_s=0.02),
)

"""JAX with Equinox and Optax, for the models of the conventional track."""

from __future__ import annotations

from sciml_bench.adapters.base import NETWORK, Adapter, Cost, ProblemTraits, Recipe
from sciml_bench.adapters.recipes import model_refusal
from sciml_bench.record.task import CONVENTIONAL, TF32


def _recipes(facts: ProblemTraits) -> tuple[Recipe, ...]:
    """If modes are compared, include one that nobody would train in."""
    modes = (
        (
            "jit",
            "eager",
        )
        if facts.fusion
        else ("jit",)
    )
    return tuple(Recipe("network", "reverse", mode) for mode in modes)


ADAPTER = Adapter(
    name="jax",
    title="JAX with Equinox and Optax",
    packages={"jax": "jax", "equinox": "equinox", "optax": "optax"},
    extra="jax",
    target="jax",
    program="sciml_bench.adapters.jax.program:JaxProgram",
    methods=(NETWORK,),
    sensitivities=("reverse",),
    modes=("jit", "eager"),
    precisions=("float32", "float64", "bfloat16", TF32),
    devices=("cpu", "gpu"),
    recipes=_recipes,
    refusal=model_refusal,
    cached_modes=("jit",),
    track=CONVENTIONAL,
    cost=Cost(startup_s=8.0, call_s=0.02),
)

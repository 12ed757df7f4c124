"""What the adapter of JAX, with Equinox and Optax, can do. Imports nothing of them."""

from __future__ import annotations

from sciml_bench.adapters.base import CONVENTIONAL, NETWORK, Adapter, Recipe
from sciml_bench.adapters.refusing import model_refusal

ADAPTER = Adapter(
    name="jax",
    title="JAX with Equinox and Optax",
    packages={"jax": "jax", "equinox": "equinox", "optax": "optax"},
    extra="jax",
    target="jax",
    program="sciml_bench.adapters.jax.program:build",
    methods=(NETWORK,),
    sensitivities=("reverse",),
    modes=("jit", "eager"),
    precisions=("float32", "float64", "bfloat16"),
    devices=("cpu", "gpu"),
    nonstiff_recipes=(Recipe("network", "reverse", "jit"),),
    refusal=model_refusal,
    cached_modes=("jit",),
    track=CONVENTIONAL,
)

"""What the adapter of Keras on TensorFlow can do. Imports nothing of them."""

from __future__ import annotations

from sciml_bench.adapters.base import CONVENTIONAL, NETWORK, Adapter, Recipe
from sciml_bench.adapters.refusing import model_refusal

ADAPTER = Adapter(
    name="keras",
    title="Keras (TensorFlow)",
    packages={"tensorflow": "tensorflow", "keras": "keras"},
    extra="tensorflow",
    target="keras",
    program="sciml_bench.adapters.keras.program:build",
    methods=(NETWORK,),
    sensitivities=("reverse",),
    modes=("graph", "xla", "eager"),
    precisions=("float32", "float64", "bfloat16"),
    devices=("cpu", "gpu"),
    nonstiff_recipes=(Recipe("network", "reverse", "graph"), Recipe("network", "reverse", "xla")),
    refusal=model_refusal,
    track=CONVENTIONAL,
)

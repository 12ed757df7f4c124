"""PyTorch, for the models of the conventional track."""

from __future__ import annotations

from sciml_bench.adapters.base import NETWORK, Adapter, Cost, Recipe
from sciml_bench.adapters.recipes import always, model_refusal
from sciml_bench.record.task import CONVENTIONAL, TF32

ADAPTER = Adapter(
    name="torch",
    title="PyTorch",
    packages={"torch": "torch"},
    extra="torch",
    target="torch",
    program="sciml_bench.adapters.torch.program:TorchProgram",
    methods=(NETWORK,),
    sensitivities=("reverse",),
    modes=("eager", "compiled"),
    precisions=("float32", "float64", "bfloat16", TF32),
    devices=("cpu", "gpu"),
    recipes=always(Recipe("network", "reverse", "eager"), Recipe("network", "reverse", "compiled")),
    refusal=model_refusal,
    cached_modes=("compiled",),
    track=CONVENTIONAL,
    cost=Cost(startup_s=3.0, call_s=0.02, long_startup_s={"compiled": 30.0}),
)

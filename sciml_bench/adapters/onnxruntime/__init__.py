"""ONNX Runtime, which infers only, for the models of the conventional track."""

from __future__ import annotations

from sciml_bench.adapters.base import INFERENCE, NETWORK, Adapter, Cost, Recipe
from sciml_bench.adapters.recipes import always, model_refusal
from sciml_bench.record.task import CONVENTIONAL

ADAPTER = Adapter(
    name="onnxruntime",
    title="ONNX Runtime (inference only)",
    packages={"onnxruntime": "onnxruntime", "onnx": "onnx"},
    extra="onnx",
    target="onnx",
    program="sciml_bench.adapters.onnxruntime.program:OnnxRuntimeProgram",
    methods=(NETWORK,),
    sensitivities=(INFERENCE,),
    modes=("graph",),
    # Its kernels for the CPU have no convolution and no error function of doubles.
    precisions=("float32",),
    devices=("cpu", "gpu"),
    recipes=always(Recipe("network", INFERENCE, "graph")),
    refusal=model_refusal,
    track=CONVENTIONAL,
    cost=Cost(startup_s=1.0, call_s=0.01),
)

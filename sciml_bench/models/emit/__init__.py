"""Emitters of models: the declared layers as the source that a user of each framework would write."""

from __future__ import annotations

from sciml_bench.emit.source import source
from sciml_bench.models.emit.equinox import equinox_source
from sciml_bench.models.emit.keras import keras_source
from sciml_bench.models.emit.lux import lux_source
from sciml_bench.models.emit.onnx import onnx_source
from sciml_bench.models.emit.simplechains import simplechains_source
from sciml_bench.models.emit.torch import torch_source
from sciml_bench.models.model import Model
from sciml_bench.spec.model import Problem

EMITTERS = {
    "torch": torch_source, "jax": equinox_source, "keras": keras_source, "onnx": onnx_source, "lux": lux_source,
    "simplechains": simplechains_source,
}  # fmt: skip


def architecture_source(model: Model, target: str) -> str:
    """The module that a worker runs.

    PyTorch's has ``Model``, an ``nn.Module`` that takes images (n, channels, height, width) or tokens (n, positions),
    and ``loss(outputs, labels)``. JAX's has ``Model``, an Equinox module that takes one sample without a batch, and
    ``loss(model, inputs, labels)``. Keras's has ``build_model()``, whose images are (n, height, width, channels), and
    ``loss(labels, outputs)``. ONNX's has ``build_graph(weights, element)``. Lux's is Julia: it has ``build_model()``, a
    chain that takes images (width, height, channels, n) or tokens (positions, n), and ``loss(outputs, labels)``.
    SimpleChains' has ``build_model()``, a chain that takes such images, and ``loss``, which makes its last layer of the
    labels.

    Raises:
        KeyError: there is no such target.
        UsageError: the target has not all of the layers.
    """
    return EMITTERS[target](model)


def source_of(declared: Problem | Model, target: str) -> str:
    """The module that a worker runs, of equations or of a model; raises what both do."""
    if isinstance(declared, Model):
        return architecture_source(declared, target)
    return source(declared, target)

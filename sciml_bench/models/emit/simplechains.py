"""A model as a SimpleChain, where SimpleChains.jl has all of its layers.

Images lie as (width, height, channels, batch). Sizes of inputs are static, so that loops are compiled for them.
"""

from __future__ import annotations

from sciml_bench.errors import UsageError
from sciml_bench.models.emit.lines import indented
from sciml_bench.models.layer import Layer
from sciml_bench.models.model import Model

# The layers that it can differentiate.
_ACTIVATIONS = ("relu", "tanh")
_WEIGHTED = ("conv2d", "dense")
_LOSSES = {"cross_entropy": "LogitCrossEntropyLoss", "mean_square": "SquaredLoss"}


def simplechains_source(model: Model) -> str:
    """A file with ``build_model()``, whose layers have the order of theta, and ``loss``, which holds the labels.

    Raises:
        UsageError: SimpleChains has not all of the layers.
    """
    reason = refused_layer(model.layers)
    if reason:
        raise UsageError(f"'{model.name}' cannot be written for SimpleChains: {reason}")
    layers = _without_flatten_first(model.layers)
    sizes = [f"static({size})" for size in reversed(layers[0].input)]
    inputs = f"({', '.join(sizes)})" if len(sizes) > 1 else f"({sizes[0]},)"
    lines = [
        f"# {model.name} for SimpleChains, emitted from its neutral spec {model.spec_hash[:12]}.",
        "",
        "using SimpleChains",
        "",
        "function build_model()",
        *indented(["return SimpleChain(", *indented([f"{inputs},", *_members(layers)]), ")"]),
        "end",
        "",
        f"const loss = {_LOSSES[model.loss]}",
    ]
    return "\n".join(lines) + "\n"


def refused_layer(layers: tuple[Layer, ...]) -> str | None:
    """The layer that SimpleChains does not have, as a reason; ``None`` when it has all."""
    rest = _without_flatten_first(layers)
    if not any(layer.slots for layer in rest):
        return "SimpleChains differentiates with respect to weights, and the model has none"
    for before, layer in zip((None, *rest), rest, strict=False):
        reason = _why_not(layer, before)
        if reason:
            return reason
    return None


def _why_not(layer: Layer, before: Layer | None) -> str | None:
    n, named = layer.numbers, layer.name or layer.kind
    match layer.kind:
        case "conv2d" if n["padding"]:
            return f"SimpleChains has no padding, and {named} pads by {n['padding']}"
        case "conv2d" if n["stride"] > 1:
            return f"SimpleChains has no strides, and {named} has one of {n['stride']}"
        case "dense" if len(layer.input) > 1:
            return f"SimpleChains has no dense layer of positions, as {named} is"
        case "relu" | "tanh" if before is None or before.kind not in _WEIGHTED:
            return f"SimpleChains applies activations in dense layers and convolutions, and {named} is separate"
        case "conv2d" | "dense" | "max_pool" | "flatten" | "relu" | "tanh":
            return None
    return f"SimpleChains has no layer like {named}"


def _without_flatten_first(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """The layers after the first if that only flattens: batches then come flattened.

    A gradient writes into what the layer before handed on, which for SimpleChains' ``Flatten`` is the batch itself.
    """
    return layers[1:] if layers and layers[0].kind == "flatten" else layers


def _members(layers: tuple[Layer, ...]) -> list[str]:
    told: list[str] = []
    for number, layer in enumerate(layers):
        after = layers[number + 1].kind if number + 1 < len(layers) else ""
        if layer.kind not in _ACTIVATIONS:
            code = _member(layer, after if after in _ACTIVATIONS else "identity")
            told.append(f"{code},  # {layer.name}" if layer.name else f"{code},")
    return told


def _member(layer: Layer, activation: str) -> str:
    n = layer.numbers
    match layer.kind:
        case "conv2d":
            return f"Conv({activation}, ({n['kernel']}, {n['kernel']}), {n['channels']})"
        case "dense":
            return f"TurboDense({activation}, {n['width']})"
        case "max_pool":
            return f"MaxPool({n['size']}, {n['size']})"
        case "flatten":
            return f"Flatten({len(layer.input)})"
    raise ValueError(layer.kind)

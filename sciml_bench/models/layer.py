"""Layers of the neutral spec, with the shapes of one sample before and after them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sciml_bench.record.model_task import Shape, Slot

KINDS: dict[str, tuple[str, ...]] = {
    "conv2d": ("channels", "kernel", "stride", "padding"),
    "dense": ("width",),
    "embedding": ("width",),
    "positions": (),
    "group_norm": ("groups",),
    "layer_norm": (),
    "relu": (),
    "gelu": (),
    "tanh": (),
    "max_pool": ("size",),
    "mean_pool": ("size",),
    "mean": (),
    "flatten": (),
    "tokens": (),
    "attention": ("heads", "causal"),
    "residual": ("layers", "shortcut"),
    "blocks": ("layers", "count"),
}
"""The kinds of layers and their keys.

``positions`` adds a learned vector to each position. ``mean`` is over all pixels, or over all positions. ``tokens``
turns the pixels of an image into positions, row by row. ``gelu`` is the exact one, by the error function.
``attention`` is scaled dot-product self-attention of several heads, with its projections and their biases.
``residual`` adds the output of its layers to their input, or to the output of ``shortcut``. ``blocks`` repeats its
layers, each time with new weights.
"""

EPSILON = 1e-5
"""The constant that group and layer norm add to the variance: the default of PyTorch and Equinox."""


@dataclass(frozen=True)
class Layer:
    """One layer. ``name`` is unique in its model (``conv1``); ``numbers`` depend on its kind.

    ``body`` and ``shortcut`` are the layers of a residual one.
    """

    kind: str
    name: str
    input: Shape
    output: Shape
    numbers: Mapping[str, int] = field(default_factory=dict[str, int])
    slots: tuple[Slot, ...] = ()
    body: tuple[Layer, ...] = ()
    shortcut: tuple[Layer, ...] = ()


def walk(layers: tuple[Layer, ...]) -> Iterator[Layer]:
    """All layers in the order of their weights, residual ones before their inner layers."""
    for layer in layers:
        yield layer
        yield from walk(layer.body)
        yield from walk(layer.shortcut)

"""Layers of the neutral spec, with the shapes of one sample before and after them.

Images are (channels, height, width), tokens (positions, width) or, before their embedding, (positions,) whole numbers.
There is no batch norm, whose running statistics make training and inference two different functions, and no dropout,
whose random numbers no two frameworks share; group and layer norm take the place of the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sciml_bench.learning import Shape, Slot

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
turns the pixels of an image into positions, row by row. ``gelu`` is the exact one, by the error function. ``attention``
is scaled dot-product self-attention of several heads, with its projections and their biases. ``residual`` adds what its
layers make of its input to that input, or to what ``shortcut`` makes of it. ``blocks`` repeats its layers, each time
with weights of their own.
"""

EPSILON = 1e-5
"""What group and layer norm add to the variance: the default of PyTorch and Equinox."""


@dataclass(frozen=True)
class Layer:
    """One layer. ``name`` is unique in its model (``conv1``); ``numbers`` are those of its kind.

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
    """All layers in the order in which their weights stand, residual ones before what is in them."""
    for layer in layers:
        yield layer
        yield from walk(layer.body)
        yield from walk(layer.shortcut)

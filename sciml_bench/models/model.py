"""A model of the conventional track, checked: what the catalog, the plan, adapters and reports know of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sciml_bench.record.model_task import DataSet, ModelTask, ModelTruth, Shape, Slot
from sciml_bench.record.task import Numbers, Point, Training

if TYPE_CHECKING:
    from sciml_bench.spec.literature import Source


# Layers of the neutral spec, with the shapes of one sample before and after them.

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


@dataclass(frozen=True)
class Model:
    """A model with its data, loss and training, as a frozen value.

    ``weights`` is the flat theta, slot by slot (see :class:`~sciml_bench.record.model_task.Slot`), each number exactly
    representable in single precision. ``batches`` are the sizes at which it is measured, increasing.
    """

    name: str
    title: str
    suite: str
    tier: str
    tags: tuple[str, ...]
    description: str
    source: Source
    data: DataSet
    layers: tuple[Layer, ...]
    weights: tuple[float, ...]
    loss: str
    batches: tuple[int, ...]
    training: Training | None
    spec_hash: str
    path: str

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The place of each array of weights in theta."""
        return tuple(slot for layer in walk(self.layers) for slot in layer.slots)

    @property
    def n_weights(self) -> int:
        """Number of weights."""
        return len(self.weights)

    @property
    def n_outputs(self) -> int:
        """Number of components of the output of one sample."""
        return math.prod(self.layers[-1].output)

    @property
    def points(self) -> tuple[Point, ...]:
        """The batches as points."""
        return tuple(Point(0.0, 0.0, batch) for batch in self.batches)

    def numbers(self) -> Numbers:
        """The weights as a task carries them; a model has no states and no times."""
        return Numbers(
            y0=(), p=self.weights, t0=0.0, t1=0.0, save_times=(), breakpoints=(), atol_scale=(), wrt="parameters",
            n_weights=self.n_weights,
        )  # fmt: skip

    def learning(self, truth: ModelTruth | None = None) -> ModelTask:
        """A task's entries on the model, next to its source and weights."""
        return ModelTask(self.slots, self.data, self.loss, self.n_outputs, truth)

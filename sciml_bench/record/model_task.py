"""A task's entries on a model of the conventional track: its weights' places, its data set, and the truth.

Plain data, part of a task.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

Shape = tuple[int, ...]

EXTENDED, DOUBLE = "extended", "double"
"""The precisions in which a model's truth is computed: its kinds."""

LOSSES = ("cross_entropy", "mean_square")
"""``cross_entropy`` of logits against integer labels, and ``mean_square`` of the outputs; both are means over the
batch, and over positions or components."""


@dataclass(frozen=True)
class Slot:
    """The place of one array of weights: in the layer ``layer``, as ``role``, of the neutral ``shape``.

    The flat theta holds the slots one after the other, each in C order. Neutral shapes are PyTorch's: kernels of
    convolutions (outputs, inputs, height, width), of dense layers (outputs, inputs). ``flattened`` is the shape
    (channels, height, width) that was flattened into the inputs of a dense layer, empty without flattening.
    """

    layer: str
    kind: str
    role: str
    shape: Shape
    flattened: Shape = ()
    heads: int = 0

    @property
    def size(self) -> int:
        """Number of weights."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class DataSet:
    """A data set and its split, see ``models.samples``.

    ``kind`` is ``images``, ``text`` or ``synthetic``; ``path`` is empty for synthetic tensors, which are drawn from
    ``seed``. ``input_shape`` is the shape of one sample: (channels, height, width), or (positions,) of whole numbers
    below ``classes``. ``held_out`` samples are kept from training; ``size`` counts all. ``scale`` divides the values
    of images.
    """

    name: str
    kind: str
    path: str
    sha256: str
    version: str
    source: str
    licence: str
    input_shape: Shape
    classes: int
    scale: float
    size: int
    held_out: int
    seed: int


@dataclass(frozen=True)
class ModelTruth:
    """The truth about the first samples of the training part, in extended precision rounded to double.

    ``kind`` is :data:`EXTENDED` or :data:`DOUBLE`. ``outputs`` belong to the first few samples, (n_covered,
    n_outputs); ``losses`` of each sample, (n_samples,); ``slopes`` the derivatives of each sample's loss along the
    directions of ``direction_seed``, (n_directions, n_samples). A batch of b samples has the means over the first b.
    ``slope_digits`` is the trust in the slopes.
    """

    kind: str
    outputs: tuple[tuple[float, ...], ...]
    losses: tuple[float, ...]
    slopes: tuple[tuple[float, ...], ...]
    direction_seed: int
    slope_digits: float


@dataclass(frozen=True)
class ModelTask:
    """A task's entries on a model, other than its source and its weights, which are ``Numbers.p``."""

    slots: tuple[Slot, ...]
    data: DataSet
    loss: str
    n_outputs: int
    truth: ModelTruth | None = None


@dataclass(frozen=True)
class Evaluation:
    """The held-out loss and accuracy after ``step`` steps; ``accuracy`` is a share, ``None`` without labels."""

    step: int
    loss: float | None
    accuracy: float | None

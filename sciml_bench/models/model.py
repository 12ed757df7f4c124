"""A model of the conventional track, checked: what the catalog, the plan, adapters and reports know of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sciml_bench.models.layer import Layer, walk
from sciml_bench.record.model_task import DataSet, ModelTask, ModelTruth, Slot
from sciml_bench.record.task import Numbers, Point, Training

if TYPE_CHECKING:
    from sciml_bench.spec.literature import Source


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

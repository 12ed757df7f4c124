"""What varies from call to call: theta a little, or, for a model, which samples are the batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sciml_bench.adapters.base import FloatArray
from sciml_bench.measure.sampling import varied
from sciml_bench.task import Point, Task


class Inputs:
    """The inputs of a task's calls, alike for every adapter of a block."""

    def __init__(self, task: Task):
        self._task = task
        self._theta = np.asarray(task.numbers.theta, dtype=np.float64)

    def first(self, point: Point) -> FloatArray:
        """Those of the scored call: theta as it is, or the first samples of the training part."""
        if self._task.learning is not None:
            return np.arange(point.batch or 1, dtype=np.float64)
        return self._theta.copy()

    def stream(self, point: Point, *entropy: int) -> Iterator[FloatArray]:
        """Endless inputs by seeded numbers."""
        if self._task.learning is not None:
            data = self._task.learning.data
            return _drawn(data.size - data.held_out, point.batch or 1, self._task.seed, *entropy)
        return varied(self._theta, self._task.sampling.perturbation, self._task.seed, *entropy)


def _drawn(count: int, size: int, *entropy: int) -> Iterator[FloatArray]:
    """So many different places in the training part, for each call anew."""
    generator = np.random.Generator(np.random.PCG64(entropy))
    while True:
        yield generator.choice(count, size=size, replace=False).astype(np.float64)

"""The variation from call to call: theta a little, or, for a model, the samples of the batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sciml_bench.adapters.program import IntArray, Varied
from sciml_bench.measure.sampling import varied
from sciml_bench.record.task import Point, Task


class Inputs:
    """The inputs of a task's calls, the same for every adapter of a block."""

    def __init__(self, task: Task):
        self._task = task
        self._theta = np.asarray(task.numbers.theta, dtype=np.float64)

    def first(self, point: Point) -> Varied:
        """The inputs of the scored call: theta as it is, or the first samples of the training part."""
        if self._task.learning is not None:
            return np.arange(point.batch or 1)
        return self._theta.copy()

    def stream(self, point: Point, *entropy: int) -> Iterator[Varied]:
        """Endless inputs by seeded numbers."""
        if self._task.learning is not None:
            data = self._task.learning.data
            return _drawn(data.size - data.held_out, point.batch or 1, self._task.seed, *entropy)
        return varied(self._theta, self._task.sampling.perturbation, self._task.seed, *entropy)


def _drawn(count: int, size: int, *entropy: int) -> Iterator[IntArray]:
    """Draw ``count`` distinct training indices for each call."""
    generator = np.random.Generator(np.random.PCG64(entropy))
    while True:
        yield generator.choice(count, size=size, replace=False)

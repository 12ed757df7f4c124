"""Training with Optimisers.jl: the gradient and the step are one call into Julia."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sciml_bench.adapters.program import FloatArray, Gradient, Trainer
from sciml_bench.record.task import Training

_NUMBERS = ("learning_rate", "beta1", "beta2", "epsilon", "decay", "weight_decay")


class JuliaTrainer(Trainer):
    """``trainer`` is the package's own; ``read`` decodes the output of a step, which has the form of a gradient."""

    def __init__(self, bench: Any, trainer: Any, read: Callable[[Any], Gradient]):
        self._trained, self._theta_vector = bench.trained, bench.theta_vector
        self._trainer = trainer
        self._read = read

    def step(self) -> Any:
        return self._trained(self._trainer)

    def synchronise(self, output: Any) -> None:
        """Nothing to wait for: Julia computes before it returns."""

    def read_loss(self, output: Any) -> float:
        return self._read(output).loss

    def theta(self) -> FloatArray:
        return np.array(self._theta_vector(self._trainer).to_numpy(copy=True))


def optimiser_numbers(training: Training) -> dict[str, float]:
    """The numbers that the optimiser has, by name."""
    given = ((name, getattr(training, name)) for name in _NUMBERS)
    return {name: float(value) for name, value in given if value is not None}

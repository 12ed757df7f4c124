"""Training with ``torch.optim``: the loop that PyTorch's users write, over the leaves of the program's own equation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from sciml_bench.adapters.base import FloatArray, Gradient, Trainer
from sciml_bench.adapters.torch.optimisers import optimiser_of
from sciml_bench.record.task import Training


class TorchdiffeqTrainer(Trainer):
    """``backward`` solves, gives every leaf its ``grad``, and returns the loss and gradient that ``read`` checks."""

    def __init__(
        self,
        training: Training,
        leaves: Sequence[Tensor],
        backward: Callable[[], Any],
        read: Callable[[Any], Gradient],
    ):
        self._leaves = leaves
        self._optimiser = optimiser_of(training, leaves)
        self._backward = backward
        self._read = read

    def step(self) -> Any:
        self._optimiser.zero_grad()
        output = self._backward()
        self._optimiser.step()
        return output

    def synchronise(self, output: Any) -> None:
        """Nothing to wait for: PyTorch computes on the CPU before it returns."""

    def read_loss(self, output: Any) -> float:
        return self._read(output).loss

    def theta(self) -> FloatArray:
        return torch.nn.utils.parameters_to_vector(self._leaves).detach().double().numpy()

"""Training with ``torch.optim``: the loop that PyTorch's users write, over the leaves of the program's own equation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from sciml_bench.adapters.program import FloatArray, Trainer
from sciml_bench.adapters.torch.compiler import CompiledProgram
from sciml_bench.adapters.torch.optimisers import optimiser_of
from sciml_bench.record.task import Training


class TorchdiffeqTrainer(Trainer):
    """``backward`` solves, gives every leaf its ``grad``, and returns what the program reads and checks."""

    def __init__(
        self,
        training: Training,
        leaves: Sequence[Tensor],
        backward: Callable[[], Any],
        program: CompiledProgram,
    ):
        self._leaves = leaves
        self._optimiser = optimiser_of(training, leaves)
        self._backward = backward
        self._run = program

    def step(self) -> Any:
        self._optimiser.zero_grad()
        output = self._backward()
        self._optimiser.step()
        return output

    def synchronise(self, output: Any) -> None:
        self._run.synchronise(output)

    def read_loss(self, output: Any) -> float:
        return self._run.read_gradient(output).loss

    def theta(self) -> FloatArray:
        return torch.nn.utils.parameters_to_vector(self._leaves).detach().to("cpu", torch.float64).numpy()

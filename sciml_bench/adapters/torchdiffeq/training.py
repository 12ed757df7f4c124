"""Training with ``torch.optim``: the loop that PyTorch's users write, over the leaves of the program's own equation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from sciml_bench.adapters.base import FloatArray, Gradient, Trainer
from sciml_bench.task import Training


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


def optimiser_of(training: Training, leaves: Sequence[Tensor]) -> torch.optim.Optimizer:
    """PyTorch's optimiser of the pinned formula (see ``Training``): all of its own are of this form.

    Its Adam corrects v before it takes the root and adds ``eps``; its RMSprop adds ``eps`` to the root.
    """
    rate, number = training.learning_rate, training.number
    match training.optimiser:
        case "adam":
            betas = (number("beta1"), number("beta2"))
            return torch.optim.Adam(leaves, lr=rate, betas=betas, eps=number("epsilon"))
        case "adamw":
            betas, decay = (number("beta1"), number("beta2")), number("weight_decay")
            return torch.optim.AdamW(leaves, lr=rate, betas=betas, eps=number("epsilon"), weight_decay=decay)
        case "rmsprop":
            return torch.optim.RMSprop(leaves, lr=rate, alpha=number("decay"), eps=number("epsilon"))
        case "sgd":
            return torch.optim.SGD(leaves, lr=rate)
    raise ValueError(f"there is no optimiser '{training.optimiser}'")

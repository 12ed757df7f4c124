"""``torch.optim``'s optimisers by their pinned formulas (see ``Training``), which are PyTorch's own."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from sciml_bench.record.task import Training


def optimiser_of(training: Training, parameters: Iterable[Tensor]) -> torch.optim.Optimizer:
    """The optimiser of a training over these parameters.

    PyTorch's Adam corrects v before it takes the root and adds ``eps``; its RMSprop adds ``eps`` to the root.
    """
    rate, number = training.learning_rate, training.number
    match training.optimiser:
        case "adam":
            betas = (number("beta1"), number("beta2"))
            return torch.optim.Adam(parameters, lr=rate, betas=betas, eps=number("epsilon"))
        case "adamw":
            betas, decay = (number("beta1"), number("beta2")), number("weight_decay")
            return torch.optim.AdamW(parameters, lr=rate, betas=betas, eps=number("epsilon"), weight_decay=decay)
        case "rmsprop":
            return torch.optim.RMSprop(parameters, lr=rate, alpha=number("decay"), eps=number("epsilon"))
        case "sgd":
            return torch.optim.SGD(parameters, lr=rate)
    raise ValueError(f"unknown optimiser '{training.optimiser}'")

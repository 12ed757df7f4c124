"""Networks as plain functions of their input, as eager PyTorch evaluates them fastest."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

Function = Callable[[Tensor], Tensor]


def as_function(network: nn.Module) -> Function:
    """A network as a function of its current weights. A network that is not a chain of layers stays a module."""
    if not isinstance(network, nn.Sequential):
        return network
    layers = [_layer(module) for module in network]

    def apply(x: Tensor) -> Tensor:
        for layer in layers:
            x = layer(x)
        return x

    return apply


def _layer(module: nn.Module) -> Function:
    if not isinstance(module, nn.Linear):
        return module.forward
    weight, bias = module.weight, module.bias

    def linear(x: Tensor) -> Tensor:
        return torch.addmv(bias, weight, x) if x.dim() == 1 else nn.functional.linear(x, weight, bias)

    return linear

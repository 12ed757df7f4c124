"""Neural ODEs in torchdiffeq by hand, after its examples ``ode_demo.py`` and Diffrax's benchmark against it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torchdiffeq import odeint

from handwritten import Handwritten
from handwritten.neural import RTOL, SMALL, SPIRAL, small_data, spiral_data


class Spiral(nn.Module):
    """A network of the cubes of two states."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2))

    def forward(self, t: Tensor, y: Tensor) -> Tensor:
        return self.net(y**3)


class Small(nn.Module):
    """Diffrax's own benchmark."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.Softplus(), nn.Linear(32, 4), nn.Tanh())

    def forward(self, t: Tensor, y: Tensor) -> Tensor:
        return self.net(y)


def spiral_node() -> Handwritten:
    """Dormand-Prince, back-propagation through its steps."""
    weights, data = spiral_data()
    target = torch.tensor(data)
    times = torch.linspace(0.0, 1.5, 31, dtype=torch.float64)
    return _eager(Spiral(), weights, SPIRAL.y0, times, lambda ys: torch.sum((ys - target) ** 2))


def small_node() -> Handwritten:
    """Dormand-Prince, back-propagation through its steps."""
    times = torch.linspace(0.0, 100.0, 101, dtype=torch.float64)
    return _eager(Small(), small_data(), SMALL.y0, times, torch.sum)


def _eager(
    model: nn.Module,
    weights: list[np.ndarray],
    y0: tuple[float, ...],
    times: Tensor,
    loss: Callable[[Tensor], Tensor],
) -> Handwritten:
    model.double()
    with torch.no_grad():
        for parameter, weight in zip(model.parameters(), weights, strict=True):
            parameter.copy_(torch.tensor(weight))
    parameters, start = tuple(model.parameters()), torch.tensor(y0, dtype=torch.float64)

    def solve() -> Tensor:
        with torch.no_grad():
            return odeint(model, start, times, rtol=RTOL, atol=RTOL, method="dopri5")[1:]

    def gradient() -> tuple[Tensor, tuple[Tensor, ...]]:
        value = loss(odeint(model, start, times, rtol=RTOL, atol=RTOL, method="dopri5")[1:])
        return value.detach(), torch.autograd.grad(value, parameters)

    return Handwritten("dopri5", "discrete", "eager", RTOL, RTOL, solve, gradient, _done)


def _done(_output: object) -> None:
    """PyTorch computes on the CPU before it returns."""


CASES = {"spiral-node": spiral_node, "small-node": small_node}

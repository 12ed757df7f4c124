"""torchdiffeq by hand: a module for the equation, ``odeint``, and autograd.

There is no Robertson: no adaptive method of torchdiffeq is implicit, and an explicit one takes hundreds of millions
of steps.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torchdiffeq import odeint

from handwritten import Handwritten

RTOL, ATOL = 1e-6, 1e-8


class LotkaVolterra(nn.Module):
    """Two states, four parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.p = nn.Parameter(torch.tensor([1.5, 1.0, 3.0, 1.0], dtype=torch.float64))

    def forward(self, t: Tensor, z: Tensor) -> Tensor:
        a, b, c, d = self.p.unbind()
        x, y = z.unbind()
        return torch.stack((a * x - b * x * y, d * x * y - c * y))


def brusselator(z: Tensor, p: Tensor) -> Tensor:
    """Eighty states on a ring."""
    feed, rate, alpha = p.unbind()
    u, v = z.chunk(2)
    reaction = u * u * v
    return torch.cat(
        (feed + reaction - (rate + 1) * u + alpha * laplacian(u), rate * u - reaction + alpha * laplacian(v))
    )


def laplacian(u: Tensor) -> Tensor:
    """Second differences on the ring, times 40**2."""
    return 1600.0 * (torch.roll(u, 1) - 2 * u + torch.roll(u, -1))


class Brusselator(nn.Module):
    """The right-hand side compiled, as torch.compile's guide advises for a function that is called often."""

    def __init__(self) -> None:
        super().__init__()
        self.p = nn.Parameter(torch.tensor([1.0, 3.0, 0.02], dtype=torch.float64))
        self.rhs = torch.compile(brusselator, fullgraph=True, dynamic=False)

    def forward(self, t: Tensor, z: Tensor) -> Tensor:
        return self.rhs(z, self.p)


def lotka_volterra() -> Handwritten:
    """Dormand-Prince, back-propagation through its steps."""
    equation = LotkaVolterra()
    start = torch.ones(2, dtype=torch.float64)
    times = torch.linspace(0.0, 10.0, 21, dtype=torch.float64)

    def solve() -> Tensor:
        with torch.no_grad():
            return odeint(equation, start, times, rtol=RTOL, atol=ATOL, method="dopri5")[1:]

    def gradient() -> tuple[Tensor, Tensor]:
        ys = odeint(equation, start, times, rtol=RTOL, atol=ATOL, method="dopri5")[1:]
        loss = torch.sum(ys**2)
        return loss.detach(), torch.autograd.grad(loss, equation.p)[0]

    return Handwritten("dopri5", "discrete", "eager", RTOL, ATOL, solve, gradient, _done)


def brusselator_1d() -> Handwritten:
    """Dormand-Prince, back-propagation through its steps; its adjoint equation is unstable backward in time."""
    equation = Brusselator()
    x = torch.linspace(0.0, 1.0, 40, dtype=torch.float64)
    start = torch.cat((1 + torch.sin(2 * math.pi * x), torch.full((40,), 3.0, dtype=torch.float64)))
    times = torch.linspace(0.0, 10.0, 21, dtype=torch.float64)

    def solve() -> Tensor:
        with torch.no_grad():
            return odeint(equation, start, times, rtol=RTOL, atol=ATOL, method="dopri5")[1:]

    def gradient() -> tuple[Tensor, Tensor]:
        ys = odeint(equation, start, times, rtol=RTOL, atol=ATOL, method="dopri5")[1:]
        loss = torch.sum(ys**2)
        return loss.detach(), torch.autograd.grad(loss, equation.p)[0]

    return Handwritten("dopri5", "discrete", "compiled", RTOL, ATOL, solve, gradient, _done)


def _done(_output: object) -> None:
    """PyTorch computes on the CPU before it returns."""


CASES = {"lotka-volterra": lotka_volterra, "brusselator-1d": brusselator_1d}

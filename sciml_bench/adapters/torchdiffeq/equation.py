"""The right-hand side as torchdiffeq takes it: a module that holds the parameters and is called with (t, y)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from sciml_bench.adapters.segments import Segment

RightHandSide = Callable[[Tensor, Tensor, Tensor], Tensor]


class Equation(nn.Module):
    """y' = f(t, y, p). ``calls[0]`` counts evaluations."""

    p: Tensor

    def __init__(self, rhs: RightHandSide, p: Tensor, calls: list[int]):
        super().__init__()
        self.rhs = rhs
        self.p = p
        self.calls = calls

    def forward(self, t: Tensor, y: Tensor) -> Tensor:
        self.calls[0] += 1
        return self.rhs(t, y, self.p)


class OneSidedEquation(Equation):
    """y' = f(t, y, p) on a segment that starts or ends at a breakpoint: there f is its limit from inside."""

    def __init__(self, rhs: RightHandSide, p: Tensor, calls: list[int], segment: Segment):
        super().__init__(rhs, p, calls)
        self.low, self.high = segment.low, segment.high

    def forward(self, t: Tensor, y: Tensor) -> Tensor:
        self.calls[0] += 1
        return self.rhs(t.clamp(self.low, self.high), y, self.p)


def equation(rhs: RightHandSide, p: Tensor, calls: list[int], segment: Segment) -> Equation:
    """The module for one segment."""
    return OneSidedEquation(rhs, p, calls, segment) if segment.clipped else Equation(rhs, p, calls)


def depends_on_time(rhs: RightHandSide, t0: float, y0: Tensor, p: Tensor) -> bool:
    """Whether the right-hand side uses ``t``, other than in comparisons."""
    t = torch.tensor(t0, dtype=y0.dtype, requires_grad=True)
    with torch.enable_grad():
        value = rhs(t, y0.detach(), p.detach()).sum()
    return value.requires_grad and torch.autograd.grad(value, t, allow_unused=True)[0] is not None

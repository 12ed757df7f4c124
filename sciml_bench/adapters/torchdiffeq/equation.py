"""The right-hand side as torchdiffeq takes it: a module that holds the parameters and is called with (t, y)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from sciml_bench.adapters.segments import Segment


@dataclass
class Calls:
    """Counts while a program runs: evaluations of the right-hand side, and accepted steps."""

    evaluations: int = 0
    accepted: int = 0

    def restart(self) -> None:
        """Count from 0."""
        self.evaluations = self.accepted = 0


RightHandSide = Callable[..., Tensor]
"""``rhs(t, y, p, *networks)``; for p the values that the emitted module prepared from it, if it does."""


class Arguments(NamedTuple):
    """The arguments of the right-hand side after t and y: the named parameters, and each network as a module."""

    p: Tensor
    networks: tuple[nn.Module, ...] = ()

    @property
    def leaves(self) -> tuple[Tensor, ...]:
        """The tensors that gradients are taken with respect to, in the order of the flat parameters."""
        named = (self.p,) if self.p.numel() else ()
        return (*named, *(weight for network in self.networks for weight in network.parameters()))


class Equation(nn.Module):
    """y' = f(t, y, p). ``calls`` counts evaluations; ``arguments`` are what f takes after t and y."""

    callback_accept_step: Callable[[Tensor, Tensor, Tensor], None]
    """Called after each accepted step by adaptive methods; others warn of it, so that it may be missing."""

    def __init__(self, rhs: RightHandSide, calls: Calls):
        super().__init__()
        self.rhs = rhs
        self.calls = calls
        self.arguments: tuple[Any, ...] = ()

    def forward(self, t: Tensor, y: Tensor) -> Tensor:
        self.calls.evaluations += 1
        return self.rhs(t, y, *self.arguments)


def equation(rhs: RightHandSide, calls: Calls, segment: Segment, counts_steps: bool) -> Equation:
    """The module for one segment; ``counts_steps`` where the method has a callback for accepted steps.

    On a segment that starts or ends at a breakpoint, f is its limit from inside there.
    """

    def one_sided(t: Tensor, y: Tensor, *arguments: Any) -> Tensor:
        return rhs(t.clamp(segment.low, segment.high), y, *arguments)

    made = Equation(one_sided if segment.clipped else rhs, calls)

    def count(_t: Tensor, _y: Tensor, _dt: Tensor) -> None:
        calls.accepted += 1

    if counts_steps:
        made.callback_accept_step = count
    return made


def depends_on_time(rhs: RightHandSide, t0: float, y0: Tensor, arguments: tuple[Any, ...]) -> bool:
    """Return whether the right-hand side uses ``t``, other than in comparisons."""
    t = torch.tensor(t0, dtype=y0.dtype, device=y0.device, requires_grad=True)
    with torch.enable_grad():
        value = rhs(t, y0.detach(), *arguments).sum()
    return value.requires_grad and torch.autograd.grad(value, t, allow_unused=True)[0] is not None

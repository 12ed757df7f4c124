"""The differentiated quantity: the problem's loss, or one component of the solution at one saved time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flint import arb

from sciml_bench.spec.model import Loss

Rows = Sequence[Sequence[arb]]


class Objective(Protocol):
    """A smooth function of the states at the saved times, and of the parameters p (n_parameters,)."""

    def value(self, rows: Rows, p: Sequence[arb] = ()) -> arb:
        """The value at states of shape (n_times, n_states)."""
        ...

    def slope(self, row: Sequence[arb], k: int, last: int, p: Sequence[arb] = ()) -> list[arb] | None:
        """The derivative with respect to the state at saved time k of 0 … last, or ``None`` if it is zero."""
        ...

    def direct(self, rows: Rows, p: Sequence[arb]) -> list[arb] | None:
        """The derivative with respect to the parameters for fixed states, or ``None`` if it is zero."""
        ...


def phi(kind: str, residual: arb) -> arb:
    """The summed function of a kind of loss."""
    match kind:
        case "sum_of_squares":
            return residual**2
        case "sum_of_magnitudes":
            return abs(residual)
        case _:
            return residual


def phi_slope(kind: str, residual: arb) -> arb:
    """Its derivative."""
    match kind:
        case "sum_of_squares":
            return 2 * residual
        case "sum_of_magnitudes":
            return residual.sgn()
        case _:
            return arb(1)


def factors(loss: Loss, k: int) -> list[arb]:
    """The factors of the differences from the targets at saved time k: weights over scales."""
    return [arb(weight) / arb(scale) for weight, scale in zip(loss.weights_at(k), loss.scale, strict=True)]


@dataclass(frozen=True)
class DeclaredLoss:
    """The loss of a problem, with its targets and scales as doubles, exactly as every adapter reads them."""

    loss: Loss

    def value(self, rows: Rows, p: Sequence[arb] = ()) -> arb:
        """Sum of weight phi((y − target) / scale) over saved times and components."""
        total = arb(0)
        first = 0 if self.loss.at == "saved" else len(rows) - 1
        for k, row in enumerate(rows[first:], start=first):
            for y, target, factor in zip(row, self.loss.target_at(k), factors(self.loss, k), strict=True):
                total += phi(self.loss.kind, (y - arb(target)) * factor)
        return (total * arb(self.loss.weight)).mid()

    def direct(self, rows: Rows, p: Sequence[arb]) -> None:
        """It sees the parameters through the states only."""

    def slope(self, row: Sequence[arb], k: int, last: int, p: Sequence[arb] = ()) -> list[arb] | None:
        """Derivative of the loss with respect to one saved state."""
        if self.loss.at == "end" and k != last:
            return None
        weight = arb(self.loss.weight)
        return [
            (weight * phi_slope(self.loss.kind, (y - arb(target)) * factor) * factor).mid()
            for y, target, factor in zip(row, self.loss.target_at(k), factors(self.loss, k), strict=True)
        ]


@dataclass(frozen=True)
class ComponentAt:
    """Component ``component`` of the state at saved time ``time``."""

    component: int
    time: int

    def value(self, rows: Rows, p: Sequence[arb] = ()) -> arb:
        """The component."""
        return rows[self.time][self.component]

    def direct(self, rows: Rows, p: Sequence[arb]) -> None:
        """It sees the parameters through the states only."""

    def slope(self, row: Sequence[arb], k: int, last: int, p: Sequence[arb] = ()) -> list[arb] | None:
        """A unit vector at the one time."""
        if k != self.time:
            return None
        return [arb(int(i == self.component)) for i in range(len(row))]

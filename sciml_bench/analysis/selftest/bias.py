"""Bias and drift of the harness, from a cell that was measured beside itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sciml_bench.analysis.selftest.blocks import Order, is_later, order_of
from sciml_bench.stats.autocorrelation import autocorrelation, error, unbiased, widening
from sciml_bench.stats.effects import coefficient, fit, level
from sciml_bench.stats.student import critical_t, two_sided_p

Interval = tuple[float, float, float]
"""A ratio and its 95 % interval: estimate, low, high."""


@dataclass(frozen=True)
class Bias:
    """A cell's difference from itself, as ratios with 95 % intervals.

    ``label``: the second of the two equal roles over the first, apart from their places. ``position``: who is measured
    later in a block over who is measured earlier. ``orders``: the second over the first in the blocks of each order,
    with ``p`` of each against 1. ``drift``: that ratio at the end of the self-test over that at its beginning, with its
    p among the others; ``own_drift``: the same of the cell's own time, which pairs do not see and unpaired runs do.
    ``serial`` is the autocorrelation of the ratio in neighbouring blocks with its standard error.
    """

    label: Interval
    position: Interval
    orders: Mapping[str, Interval]
    drift: Interval
    own_drift: Interval
    p: Mapping[str, float]
    serial: tuple[float, float]

    def __post_init__(self) -> None:
        if set(self.orders) != set(Order) or set(self.p) != {*Order, DRIFT}:
            raise ValueError("a bias has an interval of each order, and a p of each and of the drift")

    def level(self, blocks: int, nominal: float) -> float:
        """Return how often a plain t-test of ``blocks`` blocks errs with the measured autocorrelation."""
        rho = min(0.95, max(0.0, self.serial[0]))
        return two_sided_p(critical_t(1 - nominal, blocks - 1) / widening(rho), blocks - 1)


DRIFT = "drift"


def bias(blocks: Sequence[int], base: Sequence[float], again: Sequence[float], seed: int) -> Bias:
    """The bias of a series; times are in seconds, by block.

    Raises:
        ValueError: the blocks of an order are too few for an interval.
    """
    differences = [math.log(b / a) for a, b in zip(base, again, strict=True)]
    places = [1.0 if is_later(block, seed) else -1.0 for block in blocks]
    line = fit(differences, places)
    # The distance in blocks between equal orders.
    rho = coefficient(line.residuals) ** len(Order)
    by_order = {
        order: level([d for block, d in zip(blocks, differences, strict=True) if order_of(block) is order], rho)
        for order in Order
    }
    span = [(block - blocks[0]) / (blocks[-1] - blocks[0]) for block in blocks]
    drift = fit(differences, span).slope
    found = autocorrelation(line.residuals)
    return Bias(
        label=line.level.interval(),
        position=line.slope.interval(),
        orders={order.value: effect.interval() for order, effect in by_order.items()},
        drift=drift.interval(),
        own_drift=fit([math.log(seconds) for seconds in base], span).slope.interval(),
        p={**{order.value: effect.p for order, effect in by_order.items()}, DRIFT: drift.p},
        serial=(0.0 if found is None else unbiased(found, len(blocks)), error(len(blocks))),
    )

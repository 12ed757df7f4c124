"""Calls of several sides in turn, forwards and backwards, and the ratio of two of them with its interval."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from best import Expert, Vector
from best.ladder import Between

CLOCKS = (time.process_time, time.perf_counter)
_BATCH_S, _LARGEST_BATCH = 4e-3, 48
_PERTURBATION = 1e-6
_FEWEST_ROUNDS, _MOST_ROUNDS = 6, 60

# The number of steps at one tolerance is a matter of luck, as its error is: each round moves all tolerances by a common
# factor of up to so many decades either way, and the ratio's interval has that scatter, too.
_NUDGE_DECADES = 0.1


class Timed(NamedTuple):
    """Seconds a call in each round, (n_rounds,), in processor time and in wall time."""

    processor: Vector
    wall: Vector


class Entrant(NamedTuple):
    """A side and where its ladder achieves the accuracy."""

    side: Expert
    where: Between


def in_turn(entrants: Sequence[Entrant], kind: str, theta: Vector, budget_s: float, seed: int) -> list[Timed]:
    """Time the entrants in rounds, each forwards and backwards through all of them, for so many seconds of wall time.

    All see the same inputs: theta, varied by one part in a million from call to call, as the suite's workers do, at
    tolerances that all are nudged alike from round to round.
    """
    generator = np.random.default_rng(seed)
    calls = [
        {rtol: _batch(rung) for rtol, rung in ((entrant.where.loose.rtol, entrant.where.loose),
                                               (entrant.where.tight.rtol, entrant.where.tight))}
        for entrant in entrants
    ]  # fmt: skip
    rounds: list[list[list[float]]] = []
    until = time.perf_counter() + budget_s
    while len(rounds) < _MOST_ROUNDS and (len(rounds) < _FEWEST_ROUNDS or time.perf_counter() < until):
        varied = theta * (1.0 + _PERTURBATION * generator.uniform(-1.0, 1.0, (_LARGEST_BATCH, *theta.shape)))
        nudge = 10.0 ** generator.uniform(-_NUDGE_DECADES, _NUDGE_DECADES)
        spent: list[dict[float, Vector]] = [{} for _ in entrants]
        there = list(range(len(entrants)))
        for index in (*there, *reversed(there)):
            side, where = entrants[index]
            for rtol in where.rtols:
                took = _timed(side, getattr(side, kind), rtol * nudge, varied[: calls[index][rtol]])
                spent[index][rtol] = spent[index].get(rtol, np.zeros(2)) + took / 2
        rounds.append([
            [entrant.where.time(_of_clock(spent[index], clock)) for clock in (0, 1)]
            for index, entrant in enumerate(entrants)
        ])  # fmt: skip
    table = np.array(rounds)
    return [Timed(table[:, index, 0], table[:, index, 1]) for index in range(len(entrants))]


def ratio(one: Vector, other: Vector) -> tuple[float, float, float]:
    """The median of paired ratios, and the order statistics that enclose it with 95 % confidence."""
    ratios = np.sort(one / other)
    n, below, k = len(ratios), 0.0, 0
    while below + math.comb(n, k) / 2**n <= 0.025:
        below += math.comb(n, k) / 2**n
        k += 1
    low = max(k - 1, 0)
    return float(np.median(ratios)), float(ratios[low]), float(ratios[n - 1 - low])


def _of_clock(spent: dict[float, Vector], clock: int) -> Callable[[float], float]:
    return lambda rtol: float(spent[rtol][clock])


def _batch(rung: Any) -> int:
    return max(1, min(_LARGEST_BATCH, math.ceil(_BATCH_S / max(rung.seconds, 1e-6))))


def _timed(side: Expert, run: Callable[[Any], Any], rtol: float, thetas: Vector) -> Vector:
    """Seconds a call, of both clocks, over a batch whose inputs are made before and whose outputs are kept."""
    inputs = [side.prepare(theta, rtol) for theta in thetas]
    outputs = []
    gc.collect()
    gc.disable()
    try:
        starts = [clock() for clock in CLOCKS]
        for values in inputs:
            output = run(values)
            side.wait(output)
            outputs.append(output)
        ends = [clock() for clock in CLOCKS]
    finally:
        gc.enable()
    return np.subtract(ends, starts) / len(inputs)

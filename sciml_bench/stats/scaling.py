"""The growth of a time with a size: the exponent of a power law with its interval, and crossings of two of them.

Sizes and times are compared in logarithms. A process block is the unit of replication: each block gives a separate
exponent, by least squares over its sizes, and the interval is Student's t over blocks, which removes effects that all
sizes of a block share (a busy host). Measurements of one block at several sizes are thereby paired.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sciml_bench.stats.log_means import exp, logs, mean_and_sd
from sciml_bench.stats.student import critical_t, two_sided_p

LEAST_SIZES = 3
"""A line through two points fits always: an exponent needs one size more."""

# Slopes between neighbouring sizes that differ by less are one power law for every use that is made of it.
_SLOPES_ALIKE = 0.15
_LEVEL = 0.05

Blocks = Sequence[Sequence[float]]
"""A row for each block: one positive number for each size."""


@dataclass(frozen=True)
class PowerLaw:
    """time ~ size^``exponent`` over ``n`` blocks.

    [``low``, ``high``] is the interval at ``confidence``; both are ``None`` for a single block. ``local`` are the
    slopes between neighbouring sizes. ``bend_p`` is the two-sided probability of a quadratic term this large in a
    straight line, ``None`` for a single block. ``curved`` says that one exponent does not describe the data: slopes
    differ by more than matters and, with several blocks, by more than chance.
    """

    exponent: float
    low: float | None
    high: float | None
    n: int
    local: tuple[float, ...]
    bend_p: float | None
    curved: bool
    confidence: float = 0.95


@dataclass(frozen=True)
class Crossing:
    """Below ``size`` one of two is faster, above it the other.

    ``size`` is interpolated between two measured sizes, linearly in logarithms. [``low``, ``high``] is its interval
    over blocks; ``None`` where not every block crosses once. ``below`` and ``above`` are 0 or 1, the faster one on
    either side. ``sure`` says that on both sides of it there is a size at which one is judged to be faster.
    """

    size: float
    low: float | None
    high: float | None
    below: int
    above: int
    sure: bool


def complete(of_blocks: Mapping[int, Mapping[float, float | None]], sizes: Sequence[float]) -> list[list[float]]:
    """The rows of those blocks that have a number at each of these sizes, in order of the blocks."""
    rows = [[row.get(size) for size in sizes] for _, row in sorted(of_blocks.items())]
    return [[value for value in row if value is not None] for row in rows if None not in row]


def power_law(sizes: Sequence[float], blocks: Blocks, confidence: float = 0.95) -> PowerLaw:
    """The exponent of times (blocks × sizes) over increasing sizes.

    Raises:
        ValueError: there are fewer than three sizes or no block, sizes do not increase, a row has another length, or
            a number is not positive and finite.
    """
    x, rows = _checked(sizes, blocks)
    if len(x) < LEAST_SIZES:
        raise ValueError(f"an exponent needs {LEAST_SIZES} sizes, got {len(x)}")
    line, bend = _contrasts(x)
    slopes = [_dot(line, row) for row in rows]
    mean, sd = mean_and_sd(slopes)
    n = len(rows)
    half = critical_t(confidence, n - 1) * sd / math.sqrt(n) if n > 1 else None
    bends = [_dot(bend, row) for row in rows]
    bend_p = _p(bends) if n > 1 else None
    local = _local(x, rows)
    apart = max(local) - min(local) > _SLOPES_ALIKE
    return PowerLaw(
        exponent=mean,
        low=None if half is None else mean - half,
        high=None if half is None else mean + half,
        n=n,
        local=local,
        bend_p=bend_p,
        curved=apart and (bend_p is None or bend_p < _LEVEL),
        confidence=confidence,
    )


def crossings(
    sizes: Sequence[float],
    first: Blocks,
    second: Blocks,
    ahead: Sequence[int | None],
    confidence: float = 0.95,
) -> list[Crossing]:
    """The sizes at which two cells measured in the same blocks change places, smallest first; empty if they never do.

    ``ahead`` has for each size which one is judged to be faster, 0 or 1, or ``None``. Nothing is extrapolated: what
    lies outside the sizes is not known.

    Raises:
        ValueError: as in :func:`power`, or the blocks of both differ in number.
    """
    x, ours = _checked(sizes, first)
    _, theirs = _checked(sizes, second)
    if len(ours) != len(theirs):
        raise ValueError(f"crossings need the same blocks of both, got {len(ours)} and {len(theirs)}")
    differences = [[a - b for a, b in zip(*rows, strict=True)] for rows in zip(ours, theirs, strict=True)]
    mean = [math.fsum(column) / len(column) for column in zip(*differences, strict=True)]
    places = _roots(x, mean)
    of_blocks = [_roots(x, row) for row in differences]
    found: list[Crossing] = []
    for number, (place, negative_below) in enumerate(places):
        single = len(places) == 1 and len(differences) > 1 and all(len(roots) == 1 for roots in of_blocks)
        low, high = _interval([roots[0][0] for roots in of_blocks], confidence) if single else (None, None)
        start = places[number - 1][0] if number else -math.inf
        end = places[number + 1][0] if number + 1 < len(places) else math.inf
        below_faster = 0 if negative_below else 1
        below = any(ahead[i] == below_faster for i in range(len(x)) if start < x[i] < place)
        above = any(ahead[i] == 1 - below_faster for i in range(len(x)) if place < x[i] < end)
        found.append(Crossing(exp(place), low, high, below_faster, 1 - below_faster, below and above))
    return found


def _checked(sizes: Sequence[float], blocks: Blocks) -> tuple[list[float], list[list[float]]]:
    x = logs(sizes, "sizes")
    if any(not a < b for a, b in pairwise(x)):
        raise ValueError(f"sizes must increase, got {list(sizes)!r}")
    if not blocks or any(len(row) != len(x) for row in blocks):
        raise ValueError(f"each block needs a number for each of {len(x)} sizes")
    return x, [logs(row, "numbers") for row in blocks]


def _contrasts(x: Sequence[float]) -> tuple[list[float], list[float]]:
    """Weights that give the least-squares slope, and the coefficient of the quadratic term orthogonal to the line."""
    centre = math.fsum(x) / len(x)
    u = [value - centre for value in x]
    squares = math.fsum(value * value for value in u)
    line = [value / squares for value in u]
    q = [value * value for value in u]
    q_mean, q_slope = math.fsum(q) / len(q), _dot(line, q)
    rest = [value - q_mean - q_slope * at for value, at in zip(q, u, strict=True)]
    norm = math.fsum(value * value for value in rest)
    return line, [value / norm for value in rest]


def _local(x: Sequence[float], rows: Sequence[Sequence[float]]) -> tuple[float, ...]:
    mean = [math.fsum(column) / len(column) for column in zip(*rows, strict=True)]
    return tuple((b - a) / (d - c) for (a, b), (c, d) in zip(pairwise(mean), pairwise(x), strict=True))


def _dot(weights: Sequence[float], values: Sequence[float]) -> float:
    return math.fsum(w * v for w, v in zip(weights, values, strict=True))


def _p(values: Sequence[float]) -> float:
    """The two-sided probability that values this far from 0 have the mean 0."""
    mean, sd = mean_and_sd(values)
    error = sd / math.sqrt(len(values))
    return two_sided_p(mean / error, len(values) - 1) if error > 0 else float(mean == 0)


def _roots(x: Sequence[float], d: Sequence[float]) -> list[tuple[float, bool]]:
    """The sign changes of a piecewise linear curve, and whether it is negative before each."""
    found: list[tuple[float, bool]] = []
    last: tuple[float, float] | None = None
    for at, value in zip(x, d, strict=True):
        # A curve that touches zero has not crossed it yet.
        if value == 0:
            continue
        if last is not None and (value < 0) != (last[1] < 0):
            found.append((last[0] + (at - last[0]) * last[1] / (last[1] - value), last[1] < 0))
        last = (at, value)
    return found


def _interval(places: Sequence[float], confidence: float) -> tuple[float, float]:
    mean, sd = mean_and_sd(places)
    half = critical_t(confidence, len(places) - 1) * sd / math.sqrt(len(places))
    return exp(mean - half), exp(mean + half)

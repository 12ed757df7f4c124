"""Steady state of the calls of one loop: whether they settle, and from which call on, by change-points of their times.

After Barrett, Bolz-Tereick, Killick, Mount and Tratt, "Virtual machine warmup blows hot and cold" (arXiv 1602.00602):
outliers are set aside, PELT (Killick, Fearnhead and Eckley 2012, arXiv 1101.1438) finds where the mean or the variance
changes, and the loop is named after how its last segment compares with those before it. Two things differ here:

- Segments are equal when their means differ by no more than the largest of one standard deviation of the last
  segment, 2.5 % of its mean, and 0.1 µs. The paper takes its variance or 1 ms, which suits its calls of a second and
  would make every call of a microsecond equal to any other. 2.5 % is half of the band of 5 % inside which two solvers
  count as the same; a difference below the spread of single calls cannot be seen in one; and two looks at the clock
  take some tens of nanoseconds.
- Outliers that open a loop are no outliers but its warm-up: loops here have tens of calls, not thousands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciml_bench.record.point import Steady

FEWEST_SAMPLES = 10
"""Fewer calls cannot be judged: they get no class, and all of them count."""

MOST_SAMPLES = 5000
"""The search takes time with the square of the calls; of more calls, groups are judged."""

_OUTLIER_WINDOW = 200
_OUTLIER_SPREADS = 3.0
_PENALTY = 15.0

# The last segment must cover this share of the calls (500 of 2000 in the paper); otherwise no steady state is reached.
_STEADY_SHARE = 0.25

_EQUAL_SHARE = 0.025
_EQUAL_NS = 100.0

# A segment needs two calls to have a variance. Changes below a thousandth of a call are ignored.
_SHORTEST_SEGMENT = 2
_SPREAD_FLOOR = 1e-3

# To look for useless candidates costs as much as a step of the search.
_PRUNED_EVERY = 8


FloatArray = NDArray[np.floating[Any]]


def steady_state(samples_ns: Sequence[int]) -> Steady | None:
    """The class of a loop and its first steady call, from the times of its calls in order.

    ``None`` for fewer than :data:`FEWEST_SAMPLES` calls.
    """
    if len(samples_ns) < FEWEST_SAMPLES:
        return None
    times = np.asarray(samples_ns, dtype=np.float64)
    if len(times) > MOST_SAMPLES:
        return _of_groups(times)
    return _steady_state(times)


def _of_groups(times: FloatArray) -> Steady:
    """Test the medians of consecutive groups, which are few enough; the rest at the end is left out."""
    size = math.ceil(len(times) / MOST_SAMPLES)
    groups = times[: len(times) // size * size].reshape(-1, size)
    state = _steady_state(np.median(groups, axis=1))
    return {
        "class": state["class"],
        "start": state["start"] * size,
        "changepoints": [index * size for index in state["changepoints"]],
    }


def _steady_state(times: FloatArray) -> Steady:
    kept = np.flatnonzero(~outliers(times))
    found = changepoints(times[kept])
    starts = [0, *(int(kept[index]) for index in found)]
    means, deviation = _moments(times[kept], found)
    start = _first_equal(means, deviation)
    if start == 0:
        return {"class": "flat", "start": 0, "changepoints": starts[1:]}
    if starts[start] > (1.0 - _STEADY_SHARE) * len(times):
        return {"class": "none", "start": 0, "changepoints": starts[1:]}
    fastest = all(means[-1] <= mean or _equal(mean, means[-1], deviation) for mean in means)
    return {"class": "warm_up" if fastest else "slow_down", "start": starts[start], "changepoints": starts[1:]}


def settled(samples_ns: Sequence[int]) -> bool:
    """Return whether a warm-up may end: its calls have a steady segment that is long enough to be one."""
    state = steady_state(samples_ns)
    return state is not None and state["class"] != "none" and len(samples_ns) - state["start"] >= FEWEST_SAMPLES


def outliers(times: FloatArray) -> NDArray[np.bool_]:
    """Mark the times (n,) that are further from the median of the calls around them than 3 × (P90 − P10).

    The window holds the 200 calls around one, at the ends the nearest 200. A run of outliers that opens the loop is
    left in.
    """
    size = min(_OUTLIER_WINDOW, len(times))
    windows = np.lib.stride_tricks.sliding_window_view(times, size)
    low, median, high = np.percentile(windows, (10.0, 50.0, 90.0), axis=1)
    window = np.clip(np.arange(len(times)) - size // 2, 0, len(windows) - 1)
    found = np.abs(times - median[window]) > _OUTLIER_SPREADS * (high - low)[window]
    opening = int(np.argmin(found))
    found[:opening] = False
    return found


def changepoints(times: FloatArray) -> list[int]:
    """The starts of segments of a new mean or variance, by PELT with a normal likelihood and the penalty 15 log n.

    The least cost is found exactly: a candidate is dropped only if the segment that beats it, which starts at the
    useless candidate, can be long enough.
    """
    count = len(times)
    if count < 2 * _SHORTEST_SEGMENT:
        return []
    penalty = _PENALTY * math.log(count)
    cost = _SegmentCost(times)
    best = np.full(count + 1, np.inf)
    best[0] = -penalty
    last = np.zeros(count + 1, dtype=np.intp)
    candidates = np.zeros(1, dtype=np.intp)
    useful = np.ones(1, dtype=np.bool_)
    for end in range(_SHORTEST_SEGMENT, count + 1):
        totals = best[candidates] + cost.between(candidates, end)
        chosen = int(np.argmin(totals))
        best[end] = totals[chosen] + penalty
        last[end] = candidates[chosen]
        if end % _PRUNED_EVERY == 0:
            useful = totals <= best[end]
        elif end % _PRUNED_EVERY == _SHORTEST_SEGMENT - 1:
            candidates = candidates[np.append(useful, np.ones(len(candidates) - len(useful), dtype=np.bool_))]
            useful = np.ones(len(candidates), dtype=np.bool_)
        # The latest start of a segment that ends at the next end.
        candidates = np.append(candidates, end + 1 - _SHORTEST_SEGMENT)
    found: list[int] = []
    start = int(last[count])
    while start > 0:
        found.append(start)
        start = int(last[start])
    return found[::-1]


class _SegmentCost:
    """Twice the negative log-likelihood of segments, up to a constant per call, from sums over the calls before each.

    Times are taken relative to their median, so that squares lose no digits and the floor means the same for calls of
    any length.
    """

    def __init__(self, times: FloatArray):
        middle = float(np.median(times)) or 1.0
        relative = times / middle - 1.0
        self._sums = np.concatenate(([0.0], np.cumsum(relative)))
        self._squares = np.concatenate(([0.0], np.cumsum(relative * relative)))

    def between(self, starts: NDArray[np.intp], end: int) -> FloatArray:
        """The cost of each segment from a start to ``end``, which it does not contain."""
        calls = end - starts
        mean = (self._sums[end] - self._sums[starts]) / calls
        variance = np.maximum((self._squares[end] - self._squares[starts]) / calls - mean * mean, 0.0)
        floored = np.maximum(variance, _SPREAD_FLOOR**2)
        return calls * (np.log(floored) + variance / floored)


def _moments(times: FloatArray, found: Sequence[int]) -> tuple[list[float], float]:
    """The mean of each segment, and the standard deviation of the last."""
    edges = [0, *found, len(times)]
    segments = [times[start:end] for start, end in pairwise(edges)]
    return [float(np.mean(segment)) for segment in segments], float(np.std(segments[-1]))


def _first_equal(means: Sequence[float], deviation: float) -> int:
    """The first of the segments that equal the last."""
    first = len(means) - 1
    while first > 0 and _equal(means[first - 1], means[-1], deviation):
        first -= 1
    return first


def _equal(mean: float, last: float, deviation: float) -> bool:
    return abs(mean - last) <= max(deviation, _EQUAL_SHARE * last, _EQUAL_NS)

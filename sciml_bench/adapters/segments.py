"""The time span split at the breakpoints, so that no step crosses a jump of the right-hand side."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from sciml_bench.record.task import Numbers


@dataclass(frozen=True)
class Segment:
    """A part of the time span in which the right-hand side is smooth.

    ``times`` increase, lie in (start, end] and end with ``end``; the first ``n_saved`` of them are saved times (except
    the last one if ``end`` is only a breakpoint). Evaluations of the right-hand side clip ``t`` to ``low`` and
    ``high``; an end of the segment that is not a breakpoint does not clip (``-inf``, ``inf``).
    """

    start: float
    end: float
    times: tuple[float, ...]
    n_saved: int
    low: float
    high: float

    @property
    def clipped(self) -> bool:
        """Return whether ``t`` must be clipped at all."""
        return math.isfinite(self.low) or math.isfinite(self.high)


def split(numbers: Numbers, dtype: DTypeLike = np.float64) -> tuple[Segment, ...]:
    """The segments between t0, the breakpoints and t1, in order; one, unclipped, when there are no breakpoints.

    ``dtype`` is the precision in which the framework holds ``t``: the neighbour of a breakpoint depends on it.
    """
    ends = (numbers.t0, *numbers.breakpoints, numbers.t1)
    last = len(ends) - 2
    return tuple(
        _segment(start, end, numbers.save_times, index > 0, index < last, dtype)
        for index, (start, end) in enumerate(itertools.pairwise(ends))
    )


def _segment(
    start: float, end: float, save_times: Sequence[float], open_start: bool, open_end: bool, dtype: DTypeLike
) -> Segment:
    saved = tuple(time for time in save_times if start < time <= end)
    return Segment(
        start=start,
        end=end,
        times=saved if saved and saved[-1] == end else (*saved, end),
        n_saved=len(saved),
        low=_neighbour(start, math.inf, dtype) if open_start else -math.inf,
        high=_neighbour(end, -math.inf, dtype) if open_end else math.inf,
    )


def _neighbour(time: float, towards: float, dtype: DTypeLike) -> float:
    return float(np.nextafter(np.array(time, dtype), np.array(towards, dtype)))

"""Scales of logarithms and of counts: limits, ticks, and the names of ticks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sciml_bench.analysis.tables import formatting

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MOST_TICKS = 8
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def power(exponent: int) -> str:
    """A power of ten, such as ``10⁻⁶``."""
    return f"10{str(exponent).translate(_SUPERSCRIPTS)}"


def duration_tick(log_s: float) -> str:
    """A tick on an axis of log10 seconds, such as ``20 ms``; a power of ten far from everyday times."""
    if not -9.5 < log_s < 3.5:
        return f"{power_tick(log_s)} s"
    seconds = 10.0**log_s
    scale, unit = next(((scale, unit) for scale, unit in _TIMES if seconds > 0.999 * scale), _TIMES[-1])
    return f"{seconds / scale:.4g} {unit}"


def power_tick(log_value: float) -> str:
    """A tick on an axis of log10 of a plain number."""
    if abs(log_value - round(log_value)) < 1e-9:
        return power(round(log_value))
    return f"{10.0**log_value:.0e}".replace("e-0", "e-").replace("e+0", "e")


def ratio_tick(log_ratio: float) -> str:
    """A tick on an axis of log10 of a ratio."""
    return f"{10.0**log_ratio:g}" if -3 < log_ratio < 4 else power_tick(log_ratio)


def count_tick(log_count: float) -> str:
    """A tick on an axis of log10 of a number of calls."""
    count = 10.0**log_count
    return formatting.count(round(count)) if count < 99_999 else power_tick(log_count)


def log_limits(values: Sequence[float], margin: float = 0.06, least: float = 1.0) -> tuple[float, float]:
    """The limits of an axis of logs: around the values, at least ``least`` decades wide."""
    low, high = min(values), max(values)
    if high - low < least:
        middle = (low + high) / 2
        low, high = middle - least / 2, middle + least / 2
    pad = margin * (high - low)
    return low - pad, high + pad


def log_ticks(low: float, high: float) -> list[float]:
    """Ticks between the limits of an axis of logs: decades, or 1, 2 and 5 if there are few of them."""
    first, last = math.ceil(low), math.floor(high)
    if last - first >= 2:
        step = math.ceil((last - first + 1) / _MOST_TICKS)
        return [float(tick) for tick in range(first, last + 1) if tick % step == 0]
    parts = (0.0, math.log10(2), math.log10(5))
    return [tick for decade in range(first - 1, last + 1) for part in parts if low <= (tick := decade + part) <= high]


def linear_ticks(longest: float, most: int = 6) -> list[float]:
    """Round numbers from 0 up to ``longest``."""
    rough = longest / most
    decade = 10.0 ** math.floor(math.log10(rough))
    step = next(decade * part for part in (1, 2, 5, 10) if decade * part >= rough)
    return [step * count for count in range(int(longest / step) + 1)]


def named_ticks(limits: tuple[float, float], name: Callable[[float], str]) -> dict[float, str]:
    """The ticks between the limits of a scale of logs, and their names."""
    return {tick: name(tick) for tick in log_ticks(*limits)}

"""Numbers as people read them: three significant digits and a unit."""

from __future__ import annotations

import math
import textwrap
from typing import Any

from sciml_bench.stats.spread import Spread

NOTHING = "–"

_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_SIZE_UNITS = ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))


def duration(seconds: float | None) -> str:
    """A duration, such as ``12.3 ms``."""
    if seconds is None or not math.isfinite(seconds):
        return NOTHING
    return _with_unit(seconds, _TIME_UNITS)


def rough_duration(seconds: float) -> str:
    """A duration as people say it: ``40 s``, ``12 min``, ``3.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def duration_range(spread: Spread | None) -> str:
    """Smallest and largest of the processes in the unit of their median, such as ``11.9–13.0``.

    Empty for a single process.
    """
    if spread is None or spread.processes < 2:
        return ""
    scale, _ = _unit(spread.median, _TIME_UNITS)
    return f"{_three(spread.minimum / scale)}–{_three(spread.maximum / scale)}"


def size(n_bytes: float | None) -> str:
    """An amount of memory, such as ``312 MiB``."""
    return NOTHING if n_bytes is None else _with_unit(n_bytes, _SIZE_UNITS)


def error(value: float | None) -> str:
    """A relative error, such as ``3.2e-07``."""
    return NOTHING if value is None else f"{value:.1e}"


def tolerance(value: float) -> str:
    """A tolerance, such as ``1e-4`` or ``2.5e-7``."""
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}"


def count(value: int) -> str:
    """A number of calls, such as ``12 300``: three digits that mean something, in groups of three."""
    if value >= 1000:
        value = round(value, 3 - len(str(value)))
    return f"{value:,}".replace(",", "\u202f")


def ratio(value: float) -> str:
    """A ratio, such as ``1.02``, ``0.013`` or ``346``: two or three digits that mean something."""
    if value >= 1e5 or 0 < value < 1e-3:
        return f"{value:.0e}" if math.isfinite(value) else "∞"
    if value >= 9.95:
        return f"{value:.0f}" if value >= 99.5 else f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.0995 or value == 0 else f"{value:.3f}"


def target(digits: float | None, rtol: float | None) -> str:
    """The point of comparison, such as ``an error of 3.2e-07``; empty without one."""
    if digits is not None:
        return f"an error of {error(10.0**-digits)}"
    return f"a relative tolerance of {tolerance(rtol)}" if rtol is not None else ""


def digits(value: float | None) -> str:
    """Correct digits, such as ``8.4``."""
    return NOTHING if value is None else f"{value:.1f}"


def _with_unit(value: float, units: tuple[tuple[float, str], ...]) -> str:
    scale, unit = _unit(value, units)
    return f"{_three(value / scale)} {unit}"


def _unit(value: float, units: tuple[tuple[float, str], ...]) -> tuple[float, str]:
    for scale, unit in units:
        # 0.9995 of a unit would be printed as 1.00 of it.
        if value >= 0.9995 * scale:
            return scale, unit
    return units[-1]


def _three(value: float) -> str:
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def finite(data: dict[str, Any]) -> dict[str, Any]:
    """Replace NaN and infinities with ``None``, for JSON."""
    return {key: value if not isinstance(value, float) or math.isfinite(value) else None for key, value in data.items()}


# Narrower terminals get lines of this width.
_NARROWEST = 40


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """The lines of a text, indented, and from the second on by two more."""
    return textwrap.wrap(
        text,
        max(width, _NARROWEST),
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )

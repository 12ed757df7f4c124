"""Energy per call, from the loops of a record that were long enough to be measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def joules_per_call(energy: Mapping[str, Any] | None, point: int, kind: str) -> float | None:
    """Joules for one ``solve`` or ``gradient`` at a point, above the machine's idle power if that is known.

    ``None`` when it was not measured, or when nothing is left above idle.
    """
    if not energy:
        return None
    try:
        loops = [loop for loop in energy.get("loops", ()) if loop["point"] == point and loop["kind"] == kind]
        joules = sum(float(loop["joules"]) for loop in loops)
        window_s = sum(float(loop["window_s"]) for loop in loops)
        calls = sum(int(loop["calls"]) for loop in loops)
        idle_joules = float(energy.get("idle_watts") or 0.0) * window_s
    except (AttributeError, KeyError, TypeError, ValueError):
        # A record that was changed by hand has no energy, and is shown otherwise.
        return None
    return (joules - idle_joules) / calls if calls > 0 and joules > idle_joules else None


def why_not_measured(energy: Mapping[str, Any] | None) -> str:
    """The reason that a record gives for having no energy; empty when it has some, or says nothing."""
    reason = (energy or {}).get("not_measurable", "")
    return reason if isinstance(reason, str) else ""

"""The events of a problem as every program that solves from event to event takes them, from its emitted source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_EVENTS = 10_000
"""More events in a solve than these are a sign that they accumulate."""

NEAR = 1e-9
"""Rounding, relative to what a condition is made of: right after its event the sign of a condition may be either."""


@dataclass(frozen=True)
class EventList:
    """Events by their number in the order of the file.

    ``resets`` are functions of time, state and parameters for all events. ``conditions`` are the numbers of the events
    that a condition decides and ``directions`` in which it passes zero (1, -1, or 0 for both). ``scheduled`` has the
    numbers of the other events by their times.
    """

    resets: Sequence[Callable[..., Any]]
    conditions: Sequence[int]
    directions: Sequence[int]
    scheduled: Mapping[float, Sequence[int]]

    @property
    def scheduled_resets(self) -> dict[float, list[Callable[..., Any]]]:
        """The resets at each scheduled time, in order."""
        return {t: [self.resets[k] for k in events] for t, events in self.scheduled.items()}

    @property
    def crossings(self) -> list[tuple[int, Callable[..., Any]]]:
        """The direction and the reset of each event that a condition decides."""
        return [(way, self.resets[k]) for k, way in zip(self.conditions, self.directions, strict=True)]

    @classmethod
    def of(cls, source: Any) -> EventList:
        """The events of a module that :func:`~sciml_bench.emit.events.event_sources` wrote."""
        listed = source.EVENTS
        scheduled: dict[float, list[int]] = {}
        for k, (_, _, times) in enumerate(listed):
            for t in times:
                scheduled.setdefault(t, []).append(k)
        conditions = [k for k, (_, direction, _) in enumerate(listed) if direction is not None]
        return cls(
            [getattr(source, f"reset__{name}") for name, _, _ in listed],
            conditions,
            [listed[k][1] for k in conditions],
            dict(sorted(scheduled.items())),
        )

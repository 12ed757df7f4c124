"""The phase clock: tells each phase as it starts and as it completes, so that a failure has a place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from sciml_bench.host.processes.process import Clock
from sciml_bench.measure.protocol import Enter, Event, PhaseDone


class Phases:
    """Phases of one worker, in order. ``current`` is the last that was entered: where a failure happened."""

    def __init__(self, clock: Clock, send: Callable[[Event], None]):
        self.clock = clock
        self._send = send
        self.current: str | None = None

    def enter(self, name: str, point: int | None = None) -> None:
        """Tell that a phase starts. The engine's time limit runs from here."""
        self.current = name
        self._send(Enter(name, point))

    def complete(
        self, name: str, start_ns: int, ns: int, point: int | None = None, inside: Mapping[str, int] | None = None
    ) -> None:
        """Tell that a phase is over, with the part of it that was timed, and what the framework says it did inside."""
        self._send(PhaseDone(name, start_ns, ns, point, dict(inside or {})))

    @contextmanager
    def phase(self, name: str, point: int | None = None) -> Iterator[None]:
        """Time the body as one phase; a body that raises leaves the phase incomplete."""
        self.enter(name, point)
        start_ns = self.clock.now_ns()
        yield
        self.complete(name, start_ns, self.clock.now_ns() - start_ns, point)

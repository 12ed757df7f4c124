"""Workers of a group take turns in their steady loops, so that compared cells are measured in the same moments."""

from __future__ import annotations

import os
from collections.abc import Callable

from sciml_bench.host.processes.process import Clock
from sciml_bench.measure.protocol import Event, Waits

SLICE_S = 0.02
"""Long against what a change of worker costs, short against the tenths of a second in which a host changes."""


class TurnToken:
    """The token of a worker without a group: it never waits."""

    def wait(self, position: int) -> None:
        """Wait for the baton before or after a steady loop; those at lower positions go first."""

    def between_calls(self) -> None:
        """Pass the baton on when the slice is over, and wait until it comes back."""


class SharedTurnToken(TurnToken):
    """The baton of a worker in a group; the engine passes it by writing a line. Waiting stops the worker's clock."""

    def __init__(self, clock: Clock, send: Callable[[Event], None], receive: Callable[[], str], slice_s: float):
        self._clock = clock
        self._send = send
        self._receive = receive
        self._slice_ns = round(slice_s * 1e9)
        self._position = 0
        self._since_ns = 0

    def wait(self, position: int) -> None:
        self._position = position
        with self._clock.stopped():
            self._send(Waits(position))
            if not self._receive():
                # The engine is gone, and with it everybody who would want to know.
                os._exit(1)
        self._since_ns = self._clock.now_ns()

    def between_calls(self) -> None:
        if self._clock.now_ns() - self._since_ns >= self._slice_ns:
            self.wait(self._position)

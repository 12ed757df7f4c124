"""The lines between a worker and its engine: one JSON object a line, on a private duplicate of standard output."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sciml_bench.host.processes.process import Clock
from sciml_bench.record.codec import decode as decoded
from sciml_bench.record.codec import encode as plain
from sciml_bench.record.codec import parse
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.point import PerturbedSolve, PointResult
from sciml_bench.record.process import WorkerInfo
from sciml_bench.record.training import Trained


class ProtocolError(ValueError):
    """A line that no honest worker writes."""


@dataclass(frozen=True)
class Ready:
    """The worker's interpreter runs its first line of ours; ``at_ns`` on the clock that all processes share."""

    at_ns: int


@dataclass(frozen=True)
class Enter:
    """A phase starts. ``point`` is the index of the tolerance point, ``None`` before the first."""

    name: str
    point: int | None = None


@dataclass(frozen=True)
class PhaseDone:
    """A phase is complete. ``inside`` is what the framework did in it, as ``Program.phases_ns`` names it."""

    name: str
    start_ns: int
    ns: int
    point: int | None = None
    inside: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class PointDone:
    """The state of a point. Sent more than once for a point; ``complete`` marks the last."""

    index: int
    result: PointResult
    complete: bool


@dataclass(frozen=True)
class TrialDone:
    """One solve for a perturbed theta has ended."""

    trial: PerturbedSolve


@dataclass(frozen=True)
class TrainingDone:
    """The state of the training. Sent more than once; ``complete`` marks the last."""

    result: Trained
    complete: bool


@dataclass(frozen=True)
class Waits:
    """The worker does nothing until the engine writes it a line: it gives others of its group a turn.

    ``position`` grows over the worker's life; whoever is at the lowest is next.
    """

    position: int


@dataclass(frozen=True)
class End:
    """The worker has nothing more to say. ``outcome`` is the failure that ended the cell before its points, or ok.

    ``energy`` is what ``measure.energy`` found over the steady loops, ``displaced_per_s`` how often a second the worker
    was taken off its processors in them.
    """

    outcome: Outcome
    phase: str | None = None
    message: str = ""
    worker: WorkerInfo | None = None
    energy: dict[str, Any] | None = None
    displaced_per_s: float | None = None


Event = Ready | Enter | PhaseDone | PointDone | TrialDone | TrainingDone | Waits | End

_NAMES: dict[type, str] = {
    Ready: "ready",
    Enter: "enter",
    PhaseDone: "phase",
    PointDone: "point",
    TrialDone: "trial",
    TrainingDone: "training",
    Waits: "waits",
    End: "end",
}


_KINDS = {name: kind for kind, name in _NAMES.items()}


def encode(event: Event) -> str:
    """One line, without its newline."""
    return json.dumps({"event": _NAMES[type(event)], **plain(event)}, allow_nan=False, separators=(",", ":"))


def decode(line: str) -> Event:
    """The event on a line; :class:`ProtocolError` when there is none."""
    try:
        data = parse(line)
        return decoded(_KINDS[data["event"]], data)
    except (KeyError, TypeError, ValueError) as error:
        raise ProtocolError(f"not a line of the worker protocol: {line[:200]!r}") from error


class Channel:
    """The worker's end: writes events to a file descriptor, each in one go."""

    def __init__(self, descriptor: int):
        self._descriptor = descriptor

    @classmethod
    def claim_stdout(cls) -> Channel:
        """Take standard output for events and send everything that others print there to standard error.

        The duplicate is not inherited by child processes, so that a helper that outlives the worker cannot hold it.
        """
        private = os.dup(1)
        os.dup2(2, 1)
        return cls(private)

    def send(self, event: Event) -> None:
        """Write one line."""
        data = memoryview(encode(event).encode() + b"\n")
        while data:
            data = data[os.write(self._descriptor, data) :]


# Workers of a group take turns in their steady loops, so that compared cells are measured in the same moments.

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


# The phase clock: tells each phase as it starts and as it completes, so that a failure has a place.


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


# From an exception in a worker to a typed outcome with a message.

_MAX_MESSAGE = 2000

# Frameworks raise their own types for exhausted memory, which cannot be imported here: XlaRuntimeError and
# TensorFlow's ResourceExhaustedError carry the status name, PyTorch and Julia name it in the type.
_OUT_OF_MEMORY_TYPES = ("OutOfMemoryError", "ResourceExhaustedError")
_OUT_OF_MEMORY_TEXTS = ("RESOURCE_EXHAUSTED", "CUDA out of memory", "OutOfMemoryError")


def explain(error: BaseException, otherwise: Outcome) -> tuple[Outcome, str]:
    """The outcome of an exception, and a message; ``otherwise`` for unknown kinds."""
    if isinstance(error, SolverFailure):
        # A failure that calls itself ok is none the less one.
        return otherwise if error.outcome is Outcome.OK else error.outcome, str(error)[:_MAX_MESSAGE]
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, MemoryError) or type(error).__name__ in _OUT_OF_MEMORY_TYPES:
        return Outcome.OUT_OF_MEMORY, message[:_MAX_MESSAGE]
    if any(text in message for text in _OUT_OF_MEMORY_TEXTS):
        return Outcome.OUT_OF_MEMORY, message[:_MAX_MESSAGE]
    if isinstance(error, ImportError):
        return Outcome.IMPORT_ERROR, message[:_MAX_MESSAGE]
    return otherwise, message[:_MAX_MESSAGE]

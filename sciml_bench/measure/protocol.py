"""The lines between a worker and its engine: one JSON object a line, on a private duplicate of standard output."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any

from sciml_bench.record.codec import decode as decoded
from sciml_bench.record.codec import encode as plain
from sciml_bench.record.codec import parse
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.perturbed_solve import PerturbedSolve
from sciml_bench.record.point import PointResult
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

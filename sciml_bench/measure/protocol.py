"""The lines between a worker and its engine: one JSON object a line, on a private duplicate of standard output."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any

from sciml_bench.measure.point import PointResult
from sciml_bench.measure.trained import Trained
from sciml_bench.measure.trial import Trial
from sciml_bench.outcome import Outcome


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
    """What is known of a point. Sent more than once for a point; ``complete`` marks the last."""

    index: int
    result: PointResult
    complete: bool


@dataclass(frozen=True)
class TrialDone:
    """One solve for a perturbed theta has ended."""

    trial: Trial


@dataclass(frozen=True)
class TrainingDone:
    """What is known of the training. Sent more than once; ``complete`` marks the last."""

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
    peak_rss_bytes: int | None = None
    threads: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    compile_cache_hits: int | None = None
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


def encode(event: Event) -> str:
    """One line, without its newline."""
    return json.dumps({"event": _NAMES[type(event)], **asdict(event)}, allow_nan=False, separators=(",", ":"))


def decode(line: str) -> Event:
    """The event on a line; :class:`ProtocolError` when there is none."""
    try:
        data = json.loads(line)
        return _event(data.pop("event"), data)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ProtocolError(f"not a line of the worker protocol: {line[:200]!r}") from error


def _event(name: str, data: dict[str, Any]) -> Event:
    match name:
        case "ready":
            return Ready(at_ns=int(data["at_ns"]))
        case "enter":
            return Enter(name=str(data["name"]), point=_index(data.get("point")))
        case "phase":
            inside = {str(name): int(ns) for name, ns in data.get("inside", {}).items()}
            start_ns, ns = int(data["start_ns"]), int(data["ns"])
            return PhaseDone(str(data["name"]), start_ns, ns, _index(data.get("point")), inside)
        case "point":
            return PointDone(int(data["index"]), PointResult.from_dict(data["result"]), bool(data["complete"]))
        case "trial":
            return TrialDone(Trial.from_dict(data["trial"]))
        case "training":
            return TrainingDone(Trained.from_dict(data["result"]), bool(data["complete"]))
        case "waits":
            return Waits(int(data["position"]))
        case "end":
            data["outcome"] = Outcome(data["outcome"])
            return End(**data)
    raise ValueError(name)


def _index(value: Any) -> int | None:
    return None if value is None else int(value)


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

"""What a worker found at one tolerance point: outcomes, raw samples, scores and the solver's own counts."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

from sciml_bench.record.outcome import Outcome
from sciml_bench.record.task import Point
from sciml_bench.record.trajectories import Trajectories

MAX_STORED_COMPONENTS = 100
"""A gradient or an end state longer than this keeps only its leading components in the record."""

Steady = TypedDict("Steady", {"class": str, "start": int, "changepoints": list[int]})
"""``class`` is ``flat``, ``warm_up`` (the last segment is the fastest), ``slow_down`` (it is not) or ``none``;
``start`` is the first call that counts, 0 for ``flat`` and ``none``; ``changepoints`` are first calls of segments."""

STEADY_CLASSES = ("flat", "warm_up", "slow_down", "none")

Scores = dict[str, Any]
"""Numbers, names and truths, as the scorer that made them says."""
Drifts = dict[str, dict[str, float | None]]
"""Of each invariant its value at t0, ``initial``, and its largest change over the saved times, ``drift``."""


@dataclass(frozen=True)
class PointResult:
    """One tolerance point, measured.

    ``outcome`` is ``solve_outcome`` unless that is ok, else ``gradient_outcome``; ``phase`` and ``message`` belong to
    it. A half that was never tried has the outcome ``None``: while the worker runs, or as its task does not ask for it.
    Samples are nanoseconds, one number per call; ``first_*_ns`` is the scored call at the unperturbed theta. ``loss``,
    ``gradient`` and ``end_state`` come from the scored calls; long ones keep their first components, and
    ``gradient_size`` and ``state_size`` say how many there are. ``truncated`` tells that a loop was cut by the time
    limit before its minimum count. ``memory_growth_bytes`` is the worker's growth over its steady loops;
    ``*_working_bytes`` is what one warm call holds at its peak beyond what the worker held before it, ``None`` where
    the system cannot tell. ``trajectories`` tells of each one of a batch. ``slopes`` are the products of a model's
    whole gradient with the directions of its truth.
    ``invariants`` tells how well the scored solve kept what the exact one keeps.
    ``*_inside`` holds what the framework timed of each call of a steady loop behind a bridge (see ``adapters.base``), a
    list for each of its names; ``None`` for a framework that Python calls directly.
    ``*_steady`` says whether a steady loop had settled, and from which call on (see ``measure.steady``); ``None`` for a
    loop that is too short to judge.
    """

    rtol: float
    atol: float
    outcome: Outcome
    phase: str | None = None
    message: str = ""
    solve_outcome: Outcome | None = None
    gradient_outcome: Outcome | None = None
    first_solve_ns: int | None = None
    first_gradient_ns: int | None = None
    solve_ns: tuple[int, ...] = ()
    gradient_ns: tuple[int, ...] = ()
    warm_up_solve_ns: tuple[int, ...] = ()
    warm_up_gradient_ns: tuple[int, ...] = ()
    solve_scores: Scores | None = None
    gradient_scores: Scores | None = None
    solve_statistics: dict[str, float | None] = field(default_factory=dict)
    gradient_statistics: dict[str, float | None] = field(default_factory=dict)
    loss: float | None = None
    gradient: tuple[float | None, ...] = ()
    gradient_size: int = 0
    end_state: tuple[float | None, ...] = ()
    state_size: int = 0
    memory_growth_bytes: int | None = None
    solve_working_bytes: int | None = None
    gradient_working_bytes: int | None = None
    trajectories: Trajectories | None = None
    invariants: Drifts | None = None
    slopes: tuple[float | None, ...] | None = None
    truncated: bool = False
    solve_steady: Steady | None = None
    gradient_steady: Steady | None = None
    solve_inside: dict[str, tuple[int, ...]] | None = None
    gradient_inside: dict[str, tuple[int, ...]] | None = None
    batch: int | None = None

    @property
    def solve_bridge_ns(self) -> float | None:
        """What crossing the bridge cost a solve: the median difference of each call's two times."""
        return _difference(self.solve_ns, self.solve_inside)

    @property
    def gradient_bridge_ns(self) -> float | None:
        """What crossing the bridge cost a gradient: the median difference of each call's two times."""
        return _difference(self.gradient_ns, self.gradient_inside)

    @property
    def counted_solve_ns(self) -> tuple[int, ...]:
        """The solves that count: those from where their loop had settled."""
        return self.solve_ns[self.solve_steady["start"] if self.solve_steady else 0 :]

    @property
    def counted_gradient_ns(self) -> tuple[int, ...]:
        """The gradients that count: those from where their loop had settled."""
        return self.gradient_ns[self.gradient_steady["start"] if self.gradient_steady else 0 :]

    @classmethod
    def failed(cls, point: Point, outcome: Outcome, phase: str | None, message: str) -> PointResult:
        """A point of which nothing was measured."""
        return cls(
            rtol=point.rtol,
            batch=point.batch,
            atol=point.atol,
            outcome=outcome,
            phase=phase,
            message=message,
            solve_outcome=outcome,
            gradient_outcome=outcome,
        )

    def ended_by(self, outcome: Outcome, phase: str | None, message: str) -> PointResult:
        """This point, when the worker was ended before the point was complete: what was finished stays."""
        solve = self.solve_outcome or outcome
        gradient = self.gradient_outcome or outcome
        if self.solve_outcome is not None and (solve is not Outcome.OK or self.gradient_outcome is not None):
            phase, message = self.phase, self.message
        return dataclasses.replace(
            self,
            outcome=gradient if solve is Outcome.OK else solve,
            phase=phase,
            message=message,
            solve_outcome=solve,
            gradient_outcome=gradient,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, those of a bridge or a batch only where there is one."""
        data = dataclasses.asdict(self)
        return {name: value for name, value in data.items() if value is not None or name not in _ABSENT_WHERE_NONE}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PointResult:
        """Inverse of :meth:`to_dict`; unknown keys are ignored.

        Raises ``KeyError``, ``TypeError`` or ``ValueError`` when the data is not a point.
        """
        known = {name: data[name] for name in _FIELDS if name in data}
        for name in _OUTCOMES:
            if known.get(name) is not None:
                known[name] = Outcome(known[name])
        for name in _SEQUENCES:
            if name in known:
                known[name] = tuple(known[name])
        for name in _STEADY:
            if known.get(name) is not None:
                _check_steady(known[name])
        for name in _INSIDE:
            if known.get(name) is not None:
                known[name] = {key: tuple(values) for key, values in known[name].items()}
        if known.get("trajectories") is not None:
            known["trajectories"] = Trajectories.from_dict(known["trajectories"])
        if known.get("slopes") is not None:
            known["slopes"] = tuple(known["slopes"])
        return cls(**known)


def _difference(ns: tuple[int, ...], inside: dict[str, tuple[int, ...]] | None) -> float | None:
    if not inside:
        return None
    return statistics.median(outer - inner for outer, inner in zip(ns, inside["ns"], strict=True))


def _check_steady(steady: Mapping[str, Any]) -> None:
    if steady["class"] not in STEADY_CLASSES or not isinstance(steady["start"], int) or steady["start"] < 0:
        raise ValueError(f"not a steady state: {steady!r}")


_FIELDS = tuple(item.name for item in dataclasses.fields(PointResult))
_STEADY = ("solve_steady", "gradient_steady")
_INSIDE = ("solve_inside", "gradient_inside")
_ABSENT_WHERE_NONE = (*_INSIDE, "trajectories", "invariants", "slopes", "batch")
_OUTCOMES = ("outcome", "solve_outcome", "gradient_outcome")
_SEQUENCES = ("solve_ns", "gradient_ns", "warm_up_solve_ns", "warm_up_gradient_ns", "gradient", "end_state")


def finite(value: float) -> float | None:
    """The number, or ``None`` where JSON has no word for it (not a number, infinite)."""
    number = float(value)
    return number if math.isfinite(number) else None


# What became of one solve for a perturbed theta.

PHASE = "stability"
WRONG_FACTOR = 1000.0


@dataclass(frozen=True)
class Trial:
    """One solve: which draw of theta, at which point, how it ended, and its largest mixed error if it succeeded."""

    draw: int
    point: int
    outcome: Outcome
    error: float | None = None

    def kind(self, rtol: float) -> str | None:
        """``right``, ``honest`` about failing, or ``silent``: success is reported, but the error is past a thousand
        tolerances. ``None`` without an error to judge by, or where the machine was too busy to tell.
        """
        if self.outcome is Outcome.BUSY_TIMEOUT:
            return None
        if self.outcome is not Outcome.OK:
            return "honest"
        if self.error is None:
            return None
        return "silent" if self.error > WRONG_FACTOR * rtol else "right"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Trial:
        """Inverse of :meth:`to_dict`."""
        return cls(int(data["draw"]), int(data["point"]), Outcome(data["outcome"]), data.get("error"))

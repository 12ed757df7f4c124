"""The results of a worker at one tolerance point: solves and gradients, with outcomes, raw samples and scores."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypedDict

from sciml_bench.record.outcome import Outcome
from sciml_bench.record.task import GRADIENT, SOLVE, Point
from sciml_bench.record.trajectories import Trajectories

MAX_STORED_COMPONENTS = 100
"""A gradient or an end state longer than this keeps only its leading components in the record."""

SteadyClass = Literal["flat", "warm_up", "slow_down", "none"]
"""``flat``; or the last segment is the fastest (``warm_up``), or is not (``slow_down``); or it never settled."""

Steady = TypedDict("Steady", {"class": SteadyClass, "start": int, "changepoints": list[int]})
"""``start`` is the first call that counts, 0 for ``flat`` and ``none``; ``changepoints`` begin segments."""


class Scores(TypedDict, total=False):
    """Errors of a solution, of a gradient, or of a model's outputs and slopes, as the scorer that made them says.

    A solution has ``scd``, ``mescd`` and ``trajectory_error`` (``measure.scoring``), a gradient ``error`` and what goes
    with it (``measure.gradient_scoring``) or ``difference_error`` (``measure.gradient_check``), a model the others.
    """

    scd: float | None
    mescd: float | None
    trajectory_error: float | None
    scored_components: int
    below_reference: bool
    error: float | None
    worst_group: str | None
    worst_component: str | None
    worst_component_error: float | None
    norm_error: float | None
    excused: int
    unresolved: list[str]
    unresolved_count: int
    uncertified: list[str]
    uncertified_count: int
    difference_error: float | None
    differences: int
    tightest_error: float | None
    output_error: float | None
    loss_error: float | None
    slope_error: float | None
    gradient_norm: float | None


class InvariantDrift(TypedDict):
    """An invariant's value at t0, and its largest change over the saved times."""

    initial: float | None
    drift: float | None


Drifts = dict[str, InvariantDrift]
"""The drift of each invariant."""


@dataclass(frozen=True)
class CallResult:
    """The solves, or the gradients, of one point.

    ``outcome`` is ``None`` for a half that was never tried: while the worker runs, or because its task leaves it out.
    Samples are nanoseconds, one number per call: ``first_ns`` the scored call at the unperturbed theta, ``ns`` the
    steady loop. ``steady`` says whether that loop had settled, and from which call on (see ``measure.steady``);
    ``None`` for a loop that is too short to judge. ``inside`` holds the framework's own times of each call behind a
    bridge (see ``adapters.base``), a list for each name; ``None`` for a framework that Python calls directly.
    ``prepare_ns`` is the median time in which the inputs of a steady call were prepared, which is in no sample.
    ``statistics`` are the solver's own counts in the scored call, ``scores`` its errors. ``working_bytes`` is the peak
    memory of one warm call beyond what the worker held before it, on a GPU the device's; ``None`` if it is not known.
    ``to_device_ns`` are times in which the inputs of a call reached a GPU, ``from_device_ns`` times in which its result
    was read from there; the steady samples contain neither.
    """

    outcome: Outcome | None = None
    first_ns: int | None = None
    warm_up_ns: tuple[int, ...] = ()
    ns: tuple[int, ...] = ()
    steady: Steady | None = None
    inside: dict[str, tuple[int, ...]] | None = None
    statistics: dict[str, float | None] = field(default_factory=dict)
    scores: Scores | None = None
    working_bytes: int | None = None
    to_device_ns: tuple[int, ...] = ()
    from_device_ns: tuple[int, ...] = ()
    prepare_ns: int | None = None

    def __post_init__(self) -> None:
        if self.steady is not None and self.steady["start"] < 0:
            raise ValueError(f"a steady loop cannot start at call {self.steady['start']}")
        if self.inside and ("ns" not in self.inside or len(self.inside["ns"]) != len(self.ns)):
            raise ValueError(f"{len(self.ns)} calls were timed, inside them {len(self.inside.get('ns', ()))}")

    @property
    def counted_from(self) -> int:
        """The first call that counts, after the loop had settled."""
        return self.steady["start"] if self.steady else 0

    @property
    def counted_ns(self) -> tuple[int, ...]:
        """The samples that count."""
        return self.ns[self.counted_from :]

    def without_samples(self) -> CallResult:
        """Return a copy without samples and scores, for summaries of large runs."""
        plain = {name: getattr(self, name) for name in CallResult.__dataclass_fields__}
        return CallResult(**plain | {"warm_up_ns": (), "ns": (), "inside": None, "scores": None})

    @property
    def bridge_ns(self) -> float | None:
        """The cost of crossing the bridge: the median difference of each call's two times."""
        if not self.inside or not self.ns:
            return None
        return statistics.median(outer - inner for outer, inner in zip(self.ns, self.inside["ns"], strict=True))


@dataclass(frozen=True)
class SolveResult(CallResult):
    """The solves of a point. ``end_state`` is the final state of the scored call, its first components if it is long;
    ``state_size`` is its number of components. ``trajectories`` belong to a batch, ``invariants`` are the drifts
    from the exact solution's invariants.
    """

    end_state: tuple[float | None, ...] = ()
    state_size: int = 0
    trajectories: Trajectories | None = None
    invariants: Drifts | None = None


@dataclass(frozen=True)
class GradientResult(CallResult):
    """The gradients of a point. ``loss`` and ``values`` belong to the scored call, the first components if the
    gradient is long; ``size`` is its number of components. ``slopes`` are the products of a model's whole gradient
    with the directions of its truth.
    """

    loss: float | None = None
    values: tuple[float | None, ...] = ()
    size: int = 0
    slopes: tuple[float | None, ...] | None = None


CHECK = "check"
"""The phase of a worker that takes one difference of the loss, to check gradients without a reference."""

REBUILD = "rebuild"
"""The phase of a worker that builds its program again, to compare calls of an input that the first one has seen."""


@dataclass(frozen=True)
class PointResult:
    """One tolerance point, measured.

    ``outcome`` is the solves' unless that is ok, otherwise the gradients'; ``phase`` and ``message`` belong to it.
    ``memory_growth_bytes`` is the worker's growth over the steady loops of both. ``truncated`` is true if a loop was
    cut by the time limit before its minimum count. ``batch`` belongs to a model of the conventional track.
    """

    rtol: float
    atol: float
    outcome: Outcome
    phase: str | None = None
    message: str = ""
    batch: int | None = None
    solve: SolveResult = SolveResult()
    gradient: GradientResult = GradientResult()
    memory_growth_bytes: int | None = None
    truncated: bool = False

    @property
    def halves(self) -> dict[str, CallResult]:
        """The solves and the gradients, under the names of their calls."""
        return {SOLVE: self.solve, GRADIENT: self.gradient}

    @property
    def outcomes(self) -> tuple[Outcome | None, ...]:
        """The outcomes of the point and of its halves."""
        return (self.outcome, self.solve.outcome, self.gradient.outcome)

    @classmethod
    def failed(
        cls, point: Point, outcome: Outcome, phase: str | None, message: str, calls: Sequence[str] = (SOLVE, GRADIENT)
    ) -> PointResult:
        """Return a point without measurements; ``calls`` are the requested kinds of calls."""
        return cls(
            rtol=point.rtol,
            atol=point.atol,
            outcome=outcome,
            phase=phase,
            message=message,
            batch=point.batch,
            solve=SolveResult(outcome if SOLVE in calls else None),
            gradient=GradientResult(outcome if GRADIENT in calls else None),
        )

    def ended_by(
        self, outcome: Outcome, phase: str | None, message: str, calls: Sequence[str] = (SOLVE, GRADIENT)
    ) -> PointResult:
        """This point, if the worker was ended before the point was complete: finished parts stay.

        ``calls`` are the requested kinds of calls: only they count.
        """
        solve, gradient = (half.outcome or (outcome if kind in calls else None) for kind, half in self.halves.items())
        known = {kind: half.outcome is not None or kind not in calls for kind, half in self.halves.items()}
        says = (solve if SOLVE in calls else None) or Outcome.OK
        if known[SOLVE] and (says is not Outcome.OK or known[GRADIENT]):
            phase, message = self.phase, self.message
        return dataclasses.replace(
            self,
            outcome=gradient or says if says is Outcome.OK else says,
            phase=phase,
            message=message,
            solve=dataclasses.replace(self.solve, outcome=solve),
            gradient=dataclasses.replace(self.gradient, outcome=gradient),
        )


def finite(value: float) -> float | None:
    """The number, or ``None`` where JSON has no word for it (not a number, infinite)."""
    number = float(value)
    return number if math.isfinite(number) else None

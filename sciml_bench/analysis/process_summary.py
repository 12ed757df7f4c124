"""The summary of one record: medians of its loops, its errors, and its use of resources, without raw samples."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean, median
from typing import TypeGuard

from sciml_bench.analysis.explanation.energy import joules_per_call, why_not_measured
from sciml_bench.analysis.explanation.loops import Loop, longest_loop
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import CallResult, Drifts, GradientResult, PointResult, Scores
from sciml_bench.record.process import COMPILED, REPLACED, ProcessInfo
from sciml_bench.record.record import Record
from sciml_bench.record.scoring_rules import BY_COMPONENT
from sciml_bench.record.task import CALLS, GRADIENT, GRADIENT_ERROR_BOUND, SOLVE
from sciml_bench.record.training import Trained
from sciml_bench.record.trajectories import Trajectories
from sciml_bench.stats.front import WorkPoint
from sciml_bench.stats.spread import process_median

NO_RESULT = CallResult()


@dataclass(frozen=True)
class CallTimes:
    """The calls of a loop that count, in seconds, by each statistic."""

    median: float
    mean: float
    minimum: float

    @staticmethod
    def of(samples_ns: Sequence[int]) -> CallTimes | None:
        """Reduce samples; ``None`` without any."""
        if not samples_ns:
            return None
        return CallTimes(median(samples_ns) / 1e9, fmean(samples_ns) / 1e9, min(samples_ns) / 1e9)


@dataclass(frozen=True)
class CallSummary:
    """The solves, or the gradients, of one point of one process. Times are in seconds; ``None`` when it failed.

    ``seconds`` is the median of the calls that count, ``first_s`` the first call's time. ``digits`` belong to the
    error that is compared with the time: a solution's mescd, or −log10 of a gradient's error; ``below_reference`` says
    that the reference is no better. ``steady_class`` describes its loop (see ``measure.steady``), ``None`` if that was
    too short to judge. ``joules`` are per call, ``None`` if they were not measurable. ``bridge_s`` is the cost per
    call of crossing a bridge to the framework, ``None`` without a bridge. ``calls`` are the times of the calls that
    count by other statistics, ``inside`` those on the framework's side of a bridge. ``kept`` is the half of the record,
    without its samples.
    """

    seconds: float | None = None
    first_s: float | None = None
    digits: float | None = None
    below_reference: bool = False
    steady_class: str | None = None
    joules: float | None = None
    bridge_s: float | None = None
    calls: CallTimes | None = None
    inside: CallTimes | None = None
    kept: CallResult = NO_RESULT

    @property
    def counts(self) -> Mapping[str, float | None]:
        """The solver's own counts."""
        return self.kept.statistics

    @property
    def working_bytes(self) -> int | None:
        """Peak memory of one warm call beyond what the process held before."""
        return self.kept.working_bytes

    @cached_property
    def work(self) -> WorkPoint | None:
        """Digits against time, if both are known; an error below the reference's own is not known."""
        if self.seconds is None or self.digits is None or self.below_reference:
            return None
        return WorkPoint(self.digits, self.seconds)


@dataclass(frozen=True)
class PointSummary:
    """One point of one process.

    ``scd`` is taken at t1. ``mescd`` is taken over all saved times: t1 alone flatters a solution that decays or
    returns. ``memory_growth_bytes`` is taken over its steady loops; ``batch`` belongs to a model, whose errors against
    its reference are ``parity``, also if they miss their bounds. ``gradient_error`` is the error of d loss / d log p,
    ``worst_component_error`` one component's, relative to its size. ``unresolved`` and ``uncertified`` name components
    that are not judged by their size, or not at all (see ``measure.gradient_scoring``).
    """

    rtol: float
    outcome: Outcome
    phase: str | None = None
    message: str = ""
    solve: CallSummary = CallSummary()
    gradient: CallSummary = CallSummary()
    scd: float | None = None
    gradient_error: float | None = None
    memory_growth_bytes: int | None = None
    trajectories: Trajectories | None = None
    invariants: Drifts | None = None
    batch: int | None = None
    worst_component: str | None = None
    worst_component_error: float | None = None
    unresolved: tuple[str, ...] = ()
    uncertified: tuple[str, ...] = ()
    parity: Mapping[str, float | None] = field(default_factory=dict[str, float | None])

    @property
    def mescd(self) -> float | None:
        """Digits of the solution."""
        return self.solve.digits

    @property
    def unsteady(self) -> bool:
        """Return whether a loop of it was long enough to judge and never settled."""
        return "none" in (self.solve.steady_class, self.gradient.steady_class)

    def half(self, call: str) -> CallSummary:
        """The half of a call: ``gradient``, or the solves."""
        return self.gradient if call == GRADIENT else self.solve


@dataclass(frozen=True)
class TrainingSummary:
    """The training of one process. Times in seconds; ``step_s`` is the median of the steps after the first.

    ``to_target_s`` is counted from the start of the first step, ``to_target_from_process_s`` from the start of the
    process, without the measurements between; both are ``None`` if the target was not reached.
    """

    outcome: Outcome
    first_step_s: float | None
    step_s: float | None
    to_target_s: float | None
    to_target_from_process_s: float | None


@dataclass(frozen=True)
class ProcessSummary:
    """One record, reduced. Times in seconds. ``trials`` counts trials by kind, ``trials_at`` by tolerance and kind.
    ``earlier_scoring``: its gradients were scored before components were compared with a bound. Only the first
    process of a cell keeps ``loop`` and ``curve``, the training with its losses. ``first_call_s`` is the time to
    the first gradient from the start of the process, also if that one missed its error bound. ``replaced`` and
    ``compiled`` list packages as in the versions of a worker.
    """

    block: int
    outcome: Outcome
    phase: str | None
    message: str
    first_gradient_process_s: float | None
    first_gradient_built_s: float | None
    points: tuple[PointSummary, ...]
    first_call_s: float | None = None
    facts: ProcessInfo | None = None
    wall_s: float = 0.0
    phases_s: Mapping[str, float] = field(default_factory=dict[str, float])
    noisy: tuple[str, ...] = ()
    attempt: int = 0
    trials: Mapping[str, int] = field(default_factory=Counter[str])
    trials_at: Mapping[tuple[float, str], int] = field(default_factory=Counter[tuple[float, str]])
    loop: Loop | None = None
    no_energy: str = ""
    training: TrainingSummary | None = None
    curve: Trained | None = None
    earlier_scoring: bool = False
    replaced: str = ""
    compiled: str = ""

    @property
    def starved(self) -> bool:
        """Return whether other work kept it from its processors until it, or a point of it, was ended."""
        halves = (point.half(call).kept.outcome for point in self.points for call in CALLS)
        return Outcome.BUSY_TIMEOUT in (self.outcome, *(point.outcome for point in self.points), *halves)

    @property
    def peak_rss_bytes(self) -> int | None:
        """The largest resident memory of the process."""
        return None if self.facts is None else self.facts.worker.peak_rss_bytes

    @property
    def peak_array_bytes(self) -> int | None:
        """The most memory on the device that the framework held in arrays."""
        return None if self.facts is None else self.facts.worker.peak_array_bytes

    @property
    def peak_device_bytes(self) -> int | None:
        """The largest memory that the process had on the device."""
        return None if self.facts is None else self.facts.host.peak_device_bytes


def reduce_record(record: Record) -> ProcessSummary:
    """One record without its raw samples."""
    # A first gradient that missed its error bound was fast for nothing.
    accurate = bool(record.points) and is_right(record.points[0].gradient, record.points[0].batch)
    first = record.time_to_first_gradient_ns if accurate else {}
    trials_at = _trials(record)
    trials: Counter[str] = Counter()
    for (_, kind), count in trials_at.items():
        trials[kind] += count
    return ProcessSummary(
        block=record.block,
        outcome=record.outcome,
        phase=record.phase,
        message=record.message,
        first_gradient_process_s=_seconds(first.get("process")),
        first_gradient_built_s=_seconds(first.get("built")),
        facts=ProcessInfo.lean(record),
        points=tuple(_reduce_point(point, place, record) for place, point in enumerate(record.points)),
        wall_s=record.own_s,
        phases_s={name: ns / 1e9 for name, ns in record.phases_ns.items()},
        noisy=tuple(record.noisy),
        replaced=str(record.versions.get(REPLACED, "")),
        compiled=str(record.versions.get(COMPILED, "")),
        attempt=record.attempt,
        trials=trials,
        trials_at=trials_at,
        first_call_s=_seconds(record.time_to_first_gradient_ns.get("process")),
        loop=longest_loop(record),
        no_energy=why_not_measured(record.energy),
        training=_training(record),
        curve=record.training,
        earlier_scoring=record.scoring_rules < BY_COMPONENT,
    )


def _training(record: Record) -> TrainingSummary | None:
    trained = record.training
    if trained is None:
        return None
    reached = trained.target_step
    to_target_ns = None if reached is None or reached >= len(trained.step_ns) else trained.ended_ns[reached]
    before_ns = (trained.build_ns or 0) + sum(record.phases_ns.get(phase, 0) for phase in _BEFORE_TRAINING)
    return TrainingSummary(
        outcome=trained.outcome,
        first_step_s=_seconds(trained.first_step_ns),
        step_s=_seconds(process_median(trained.later_ns)),
        to_target_s=_seconds(to_target_ns),
        to_target_from_process_s=_seconds(None if to_target_ns is None else before_ns + to_target_ns),
    )


_BEFORE_TRAINING = ("spawn", "interpreter", "import", "build")
"""The phases of a process that only trains before it makes its optimiser."""


def _trials(record: Record) -> Counter[tuple[float, str]]:
    """Return the number of perturbed trials of each kind at each tolerance, without trials of missing points."""
    known = [trial for trial in record.stability if 0 <= trial.point < len(record.points)]
    kinds = ((rtol := record.points[trial.point].rtol, trial.kind(rtol)) for trial in known)
    return Counter((rtol, kind) for rtol, kind in kinds if kind is not None)


def _reduce_point(point: PointResult, place: int, record: Record) -> PointSummary:
    # Times of a half that failed, or that is inaccurate, are kept in the record and not shown.
    solved = point.solve.outcome is Outcome.OK
    differentiated = is_right(point.gradient, point.batch)
    solve, gradient = point.solve.scores or {}, point.gradient.scores or {}
    error = _score(gradient, "error")
    unchecked = point.outcome is Outcome.OK and is_unchecked(point.gradient, point.batch)
    return PointSummary(
        rtol=point.rtol,
        outcome=Outcome.UNCHECKED if unchecked else point.outcome,
        phase=point.phase,
        message=point.message,
        solve=_reduce_half(point.solve, solved, _score(solve, "trajectory_error"), record, (place, SOLVE)),
        gradient=_reduce_half(point.gradient, differentiated, error, record, (place, GRADIENT)),
        scd=_score(solve, "scd") if solved else None,
        gradient_error=error if differentiated else None,
        memory_growth_bytes=point.memory_growth_bytes,
        trajectories=point.solve.trajectories,
        invariants=point.solve.invariants if solved else None,
        batch=point.batch,
        worst_component=gradient.get("worst_component") if differentiated else None,
        worst_component_error=_score(gradient, "worst_component_error") if differentiated else None,
        unresolved=tuple(gradient.get("unresolved", ())),
        uncertified=tuple(gradient.get("uncertified", ())),
        parity={}
        if point.batch is None
        else {name: value for name, value in {**solve, **gradient}.items() if _is_number(value)},
    )


def is_right(gradient: GradientResult, batch: int | None) -> bool:
    """Return whether a gradient was checked and found right; ``batch`` is the point's, ``None`` for equations."""
    if gradient.outcome is not Outcome.OK or is_unchecked(gradient, batch):
        return False
    # By earlier rules they were accepted by the error of the raw gradient.
    scores = gradient.scores or {}
    error = _score(scores, "error")
    return error is None or error <= GRADIENT_ERROR_BOUND or bool(scores.get("below_reference"))


def is_unchecked(gradient: GradientResult, batch: int | None) -> bool:
    """Return whether a gradient passed because nothing judged it, as earlier rules let it."""
    if batch is not None or gradient.outcome is not Outcome.OK:
        return False
    scores = gradient.scores or {}
    return "error" not in scores and "difference_error" not in scores


def _reduce_half(
    half: CallResult, right: bool, error: float | None, record: Record, loop: tuple[int, str]
) -> CallSummary:
    calls = CallTimes.of(half.counted_ns) if right else None
    return CallSummary(
        seconds=None if calls is None else calls.median,
        first_s=_seconds(half.first_ns) if right else None,
        digits=_digits(error) if right else None,
        below_reference=bool((half.scores or {}).get("below_reference")),
        steady_class=None if half.steady is None else half.steady["class"],
        joules=joules_per_call(record.energy, *loop) if right else None,
        bridge_s=_seconds(half.bridge_ns),
        calls=calls,
        inside=CallTimes.of(half.inside["ns"][half.counted_from :]) if right and half.inside else None,
        kept=half.without_samples(),
    )


def _is_number(value: object) -> TypeGuard[float | None]:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _score(scores: Scores, name: str) -> float | None:
    value = scores.get(name)
    return None if value is None else float(value)


def _digits(error: float | None) -> float | None:
    return -math.log10(error) if error else None


def _seconds(ns: float | None) -> float | None:
    return None if ns is None else ns / 1e9

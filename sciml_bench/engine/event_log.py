"""The result of one worker: its events and the end of its process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import psutil

from sciml_bench.engine.machine_paths import without_machine_paths
from sciml_bench.host.conditions import Conditions
from sciml_bench.host.disturbances import disturbances
from sciml_bench.measure.protocol import (
    End,
    Enter,
    Event,
    PhaseDone,
    PointDone,
    ProtocolError,
    Ready,
    TrainingDone,
    TrialDone,
    Waits,
)
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.perturbed_solve import PHASE, PerturbedSolve
from sciml_bench.record.point import CHECK, REBUILD, PointResult
from sciml_bench.record.process import HostObservations, WorkerInfo
from sciml_bench.record.record import Measurement
from sciml_bench.record.task import Task
from sciml_bench.record.training import PHASES, Trained

# The name of a loop of calls in the sum of phases: the stacked bar of a cell shows kinds, not points.
_SUMS = {
    "gradient": "points",
    REBUILD: CHECK,
    "solve": "points",
    "steady_gradient": "steady",
    "transfer_gradient": "transfer",
    "transfer_solve": "transfer",
    "steady_solve": "steady",
    "warm_up_gradient": "warm_up",
    "warm_up_solve": "warm_up",
}

# Phases that begin when all points are measured.
_AFTER_POINTS = frozenset({CHECK, PHASE, *PHASES})

# The steps of frameworks inside a first call have separate phases in the sum.
_FRAMEWORK_PHASES = ("trace", "lower", "compile")


@dataclass(frozen=True)
class Ending:
    """The end of a worker's process. ``outcome`` is ``None`` if the worker had reported its end."""

    outcome: Outcome | None
    message: str
    stderr_tail: str
    peak_rss_bytes: int


class EventLog:
    def __init__(self, task: Task, spawn_start_ns: int, spawn_ns: int):
        self._task = task
        self._spawn_start_ns = spawn_start_ns
        self._built_ns: int | None = None
        self.phase = "interpreter"
        self.point: int | None = None
        self.inside = True
        self._told_ns = 0
        self.phases_ns = {"spawn": spawn_ns}
        self.framework_phases_ns: dict[str, int] = {}
        self.time_to_first_gradient_ns: dict[str, int] = {}
        self.points: dict[int, PointResult] = {}
        self.complete: set[int] = set()
        self.trials: list[PerturbedSolve] = []
        self.training: Trained | None = None
        self.trained = False
        self.end: End | None = None

    def receive(self, event: Event) -> None:
        """Take one event; :class:`ProtocolError` when it is impossible."""
        match event:
            case Ready(at_ns):
                self._check_time(at_ns - self._spawn_start_ns)
                self.phases_ns["interpreter"] = max(0, at_ns - self._spawn_start_ns - self.phases_ns["spawn"])
            case Enter(name, point):
                self._check_index(point)
                self.phase, self.point, self.inside = name, point, True
            case PhaseDone():
                self.inside = self.inside and event.name != self.phase
                self._complete(event)
            case PointDone(index, result, complete):
                self._check_index(index)
                samples = (*result.solve.ns, *result.gradient.ns)
                self._check_time(*samples, sum(samples))
                self.points[index] = result
                if complete:
                    self.complete.add(index)
            case TrialDone(trial):
                self._check_index(trial.point)
                self.trials.append(trial)
            case TrainingDone(result, complete):
                self._check_training(result)
                self.training, self.trained = result, complete
            case Waits():
                # Nothing of the worker's: its engine passes it over until it is its turn.
                pass
            case End():
                self.end = event

    def where(self) -> str:
        """The phase that the worker is in, in words."""
        if self.point is None:
            return f"phase {self.phase}"
        point = self._task.points[self.point]
        return f"phase {self.phase} at " + (f"rtol={point.rtol:g}" if point.batch is None else f"batch={point.batch}")

    def _complete(self, event: PhaseDone) -> None:
        self._told_ns += event.ns
        self._check_time(event.ns, self._told_ns, *event.inside.values())
        name = _SUMS.get(event.name, event.name)
        inside_ns = self._complete_inside(event)
        self.phases_ns[name] = self.phases_ns.get(name, 0) + event.ns - inside_ns
        end_ns = event.start_ns + event.ns
        if event.name == "build":
            self._built_ns = end_ns
        if event.name == "first_gradient" and self._built_ns is not None:
            self.time_to_first_gradient_ns = {
                "process": end_ns - self._spawn_start_ns,
                "built": end_ns - self._built_ns,
            }

    def _complete_inside(self, event: PhaseDone) -> int:
        """Split a call into the parts that a framework reported; returns how much of the call they were."""
        if sum(event.inside.values()) > event.ns:
            raise ProtocolError(f"the worker reported parts of {event.name} that are longer than the whole")
        inside_ns = 0
        for told, ns in event.inside.items():
            self.framework_phases_ns[told] = self.framework_phases_ns.get(told, 0) + ns
            name = told.rpartition("_")[2]
            if name in _FRAMEWORK_PHASES:
                self.phases_ns[name] = self.phases_ns.get(name, 0) + ns
                inside_ns += ns
        return inside_ns

    def _check_time(self, *durations_ns: int) -> None:
        """No duration is negative or longer than the worker has lived: all processes share its clock."""
        lived_ns = time.perf_counter_ns() - self._spawn_start_ns
        for ns in durations_ns:
            if not 0 <= ns <= lived_ns:
                raise ProtocolError(f"the worker reported {ns / 1e9:g} s but started only {lived_ns / 1e9:g} s ago")

    def _check_training(self, result: Trained) -> None:
        if result.settings != self._task.training:
            raise ProtocolError("the worker reported a training that was not requested")
        if len(result.losses) != len(result.step_ns) or len(result.losses) > result.settings.steps:
            raise ProtocolError(f"the worker reported {len(result.losses)} losses and {len(result.step_ns)} times")
        self._check_time(*result.step_ns, sum(result.step_ns))

    def _check_index(self, index: int | None) -> None:
        if index is not None and not 0 <= index < len(self._task.points):
            raise ProtocolError(f"the worker reported point {index} of {len(self._task.points)}")


def assemble(
    task: Task, log: EventLog, ending: Ending, observed: HostObservations, idle_watts: float | None = None
) -> Measurement:
    """The measurement of a task from its worker's events and end, and from observations around it."""
    outcome, phase, message = _verdict(task, log, ending)
    message = without_machine_paths(message)
    points = tuple(_point(task, log, index, outcome, phase, message) for index in range(_n_points(task, log)))
    if points:
        ok = any(point.outcome is Outcome.OK for point in points)
        first = points[0]
        if outcome is Outcome.OK and not ok:
            phase, message = first.phase, first.message
        outcome = Outcome.OK if ok else first.outcome
    end = log.end or End(Outcome.CRASH)
    during = observed.conditions["during"] | {"involuntary_switches_per_s": _rounded(end.displaced_per_s)}
    observed = replace(observed, conditions=observed.conditions | {"during": during})
    said = end.worker or WorkerInfo(peak_rss_bytes=0, threads={}, versions={})
    training = _training(task, log, ending)
    return Measurement(
        **vars(replace(said, peak_rss_bytes=said.peak_rss_bytes or ending.peak_rss_bytes)),
        **vars(observed),
        outcome=outcome,
        phase=phase,
        message=message,
        stderr_tail=without_machine_paths(ending.stderr_tail),
        phases_ns=log.phases_ns,
        time_to_first_gradient_ns=log.time_to_first_gradient_ns,
        points=points,
        stability=_trials(log, ending),
        training=training,
        framework_phases_ns=log.framework_phases_ns,
        noisy=_noisy(task, observed.conditions, [*points, *([training] if training else [])]),
        energy=_energy(end, idle_watts),
    )


def _noisy(task: Task, conditions: Conditions, parts: Sequence[PointResult | Trained]) -> tuple[str, ...]:
    found = disturbances(conditions, threads=task.threads, processors=psutil.cpu_count() or 1)
    starved = [part for part in parts if Outcome.BUSY_TIMEOUT in part.outcomes]
    # Over the life of the worker it may have been little.
    of_half = Outcome.BUSY_TIMEOUT.sentence
    why = [starved[0].message if starved[0].outcome is Outcome.BUSY_TIMEOUT else of_half] if starved else []
    return (*found, *(f"starved: {each}" for each in why))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _energy(end: End, idle_watts: float | None) -> dict[str, Any] | None:
    if end.energy is None or "not_measurable" in end.energy:
        return end.energy
    return end.energy | {"idle_watts": idle_watts}


def _trials(log: EventLog, ending: Ending) -> tuple[PerturbedSolve, ...]:
    """The reported trials, and the one that ended the worker, if any."""
    if not (log.phase == PHASE and log.inside) or ending.outcome is None or log.point is None:
        return tuple(log.trials)
    draw = log.trials[-1].draw + (log.point <= log.trials[-1].point) if log.trials else 0
    return (*log.trials, PerturbedSolve(draw, log.point, ending.outcome))


def _training(task: Task, log: EventLog, ending: Ending) -> Trained | None:
    """The reported training; if the worker did not get to its end, the outcome instead."""
    if task.training is None or log.trained:
        return log.training
    outcome, phase, message = _verdict(task, log, ending)
    if outcome is Outcome.OK:
        outcome, message = Outcome.CRASH, "the worker reported success, but its training is missing"
    if phase not in PHASES:
        message = f"not reached: {message}"
    return (log.training or Trained(task.training, outcome)).ended_by(outcome, phase, message)


def _verdict(task: Task, log: EventLog, ending: Ending) -> tuple[Outcome, str | None, str]:
    """Return the outcome of the worker as a whole: ok if it reported every point and its end."""
    if ending.outcome is not None:
        return ending.outcome, log.phase, ending.message
    if log.end is None:
        return Outcome.CRASH, log.phase, "the worker exited without reporting a result"
    if log.end.outcome is not Outcome.OK:
        return log.end.outcome, log.end.phase, log.end.message
    missing = _n_points(task, log) - len(log.complete)
    if missing:
        return Outcome.CRASH, log.phase, f"the worker reported success, but {missing} of its points are missing"
    return Outcome.OK, None, ending.message


def _n_points(task: Task, log: EventLog) -> int:
    """The number of points that there are to be: all, or as many as a worker that ended well took for enough."""
    ended = log.phase in _AFTER_POINTS or (log.end is not None and log.end.outcome is Outcome.OK)
    return len(log.complete) or 1 if ended and task.enough_digits is not None else len(task.points)


def _published(point: PointResult) -> PointResult:
    return replace(point, message=without_machine_paths(point.message)) if point.message else point


def _point(task: Task, log: EventLog, index: int, outcome: Outcome, phase: str | None, message: str) -> PointResult:
    if index in log.complete:
        return _published(log.points[index])
    if index in log.points:
        return log.points[index].ended_by(outcome, phase, message, task.calls)
    if index != (log.point or 0):
        message = f"not reached: {message}"
    return PointResult.failed(task.points[index], outcome, phase, message, task.calls)

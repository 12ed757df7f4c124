"""The calls that a worker makes at each tolerance point of its cell, and their results.

At every point the gradient comes first, as a user who trains would call it, then the solve; both at the unperturbed
theta, and both scored. Then solves and gradients each have a warm-up loop and a steady loop. A failure ends its half
of its point: a gradient that fails leaves the solve, and a point that fails leaves the points after it. A half that the
task does not ask for is left out.
"""

from __future__ import annotations

import gc
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from sciml_bench.adapters.program import FloatArray, Gradient, Program, Solution, Varied
from sciml_bench.host.energy import EnergyMeter
from sciml_bench.host.processes.memory import rss_bytes
from sciml_bench.host.processes.process import PreemptionCounter
from sciml_bench.measure.enough import is_enough
from sciml_bench.measure.exceptions import explain
from sciml_bench.measure.inputs import Inputs
from sciml_bench.measure.loop_checks import Scored, check_loop, numbers_of
from sciml_bench.measure.phases import Phases
from sciml_bench.measure.point_log import CallLog, PointLog
from sciml_bench.measure.protocol import Event, PointDone
from sciml_bench.measure.sampling import (
    TRANSFERS,
    Call,
    Loop,
    check_blocking,
    gradient_call,
    preparing_ns,
    solve_call,
    steady_rule,
    timed,
)
from sciml_bench.measure.scoring import gradient_check
from sciml_bench.measure.scoring.invariants import Invariants
from sciml_bench.measure.scoring.scorer import judged_gradient, judged_slopes, judged_solve
from sciml_bench.measure.steady import steady_state
from sciml_bench.measure.turn_token import TurnToken
from sciml_bench.measure.warm_up import WarmUp
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.point import (
    CHECK,
    MAX_STORED_COMPONENTS,
    REBUILD,
    SolveResult,
    finite,
)
from sciml_bench.record.task import GRADIENT, SOLVE, Point, Task

_STREAMS = {"solve": 0, "gradient": 1}
_WARM_UP, _STEADY, _BLOCKING, _, _TRANSFER = range(5)

# The parts of a first call that frameworks report, in the order in which they happen.
_FRAMEWORK_PHASES = ("trace", "lower", "compile")


def _inside(kind: str, before: Mapping[str, int], after: Mapping[str, int], limit_ns: int) -> dict[str, int]:
    """The framework's own timings of a call, as ``CALL_PHASE``; together no longer than the call itself."""
    inside: dict[str, int] = {}
    for phase in _FRAMEWORK_PHASES:
        for name in (phase, *(f"{call}_{phase}" for call in _STREAMS)):
            ns = after.get(name, 0) - before.get(name, 0)
            if ns > 0:
                told = f"{kind}_{phase}" if name == phase else name
                left_ns = limit_ns - sum(inside.values())
                inside[told] = inside.get(told, 0) + min(ns, left_ns)
    return inside


def _stored(values: FloatArray) -> tuple[float | None, ...]:
    return tuple(finite(value) for value in values[:MAX_STORED_COMPONENTS])


class CellMeasurer:
    """Measures every point of a task with its built program.

    ``limit_s`` bounds each loop; the engine ends the worker if a single call exceeds it. ``displacements`` counts over
    the steady loops. With a shared ``baton`` these loops alternate with other workers' loops.
    """

    def __init__(
        self,
        task: Task,
        program: Program,
        phases: Phases,
        send: Callable[[Event], None],
        limit_s: float,
        meter: EnergyMeter,
        turn_token: TurnToken | None = None,
    ):
        self._task = task
        self._program = program
        self._phases = phases
        self._send = send
        self._limit_s = limit_s
        self._meter = meter
        self._turn_token = turn_token or TurnToken()
        self.displacements = PreemptionCounter(phases.clock)
        self._warm_up = WarmUp(task.sampling, loops=len(task.calls) * len(task.points))
        self._inputs = Inputs(task)
        self._invariants = Invariants(task) if task.invariants else None
        self._on_host = task.cell.device == "cpu"
        self._succeeded: set[str] = set()
        self._unchecked = bool(gradient_check.unchecked_components(task))
        self._gradients: dict[int, FloatArray] = {}
        self._logs: list[PointLog] = []

    def run(self) -> None:
        """Measure the points in order until they are enough, reporting each; then check gradients that no reference
        certifies.
        """
        for index, point in enumerate(self._task.points):
            self._measure(index, point)
            if self._is_enough():
                break
        if self._unchecked:
            self._check_gradients()

    def _is_enough(self) -> bool:
        wanted, points = self._task.enough_digits, [log.result() for log in self._logs]
        return wanted is not None and all(is_enough(points, call, wanted) for call in self._task.calls)

    def _check_gradients(self) -> None:
        """Judge the gradients by differences of the loss at the tightest tolerance that has one, and report again."""
        timed_well = {
            index: self._gradients[index]
            for index, log in enumerate(self._logs)
            if log.gradient.outcome is Outcome.UNCHECKED
        }
        if not timed_well:
            return
        tightest = max(timed_well)
        try:
            if self._task.unresolved:
                raise SolverFailure(Outcome.UNCHECKED, self._task.unresolved)
            found = gradient_check.judged(self._task, timed_well, self._slopes(tightest))
        except BaseException as error:
            reason = f"differences of the loss failed: {explain(error, Outcome.CRASH)[1]}"
            found = {index: gradient_check.Checked(Outcome.UNCHECKED, reason, {}) for index in timed_well}
        for index, checked in found.items():
            half = self._logs[index].gradient
            half.outcome, half.phase, half.message = checked.outcome, None, checked.message
            half.keep(scores={**(half.found.scores or {}), **checked.scores})
            if checked.outcome is not Outcome.OK:
                half.phase = CHECK
            self._send(PointDone(index, self._logs[index].result(), complete=True))

    def _slopes(self, index: int) -> list[gradient_check.Slope]:
        task, point = self._task, self._task.points[index]
        call = gradient_call(self._program, task, point)
        until_ns = self._phases.clock.now_ns() + int(self._limit_s * 1e9)

        def loss(theta: FloatArray) -> float:
            if self._phases.clock.now_ns() > until_ns:
                raise SolverFailure(Outcome.TIMEOUT, f"they take longer than the limit of {self._limit_s:.0f} s")
            with self._phases.phase(CHECK, index):
                return timed(call, theta, self._phases.clock)[0].loss

        value = self._logs[index].gradient.found.loss or 0.0
        return [
            gradient_check.slope(loss, task, name, direction, point.rtol, value)
            for name, direction in gradient_check.directions(task)
        ]

    def _measure(self, index: int, point: Point) -> None:
        log = PointLog(point)
        self._logs.append(log)
        solve = solve_call(self._program, self._task, point)
        gradient = gradient_call(self._program, self._task, point)
        solves, differentiates = (kind in self._task.calls for kind in (SOLVE, GRADIENT))
        if differentiates:
            self._score(log.gradient, gradient, index, lambda result: self._keep_gradient(log, result))
        if solves:
            self._score(log.solve, solve, index, lambda result: self._keep_solution(log, result))
        if index == 0:
            # Import and tracing leave much rubbish, which must not be collected inside a sample. Once: with a framework
            # loaded this takes longer than many a loop.
            gc.collect()
        self._send(PointDone(index, log.result(), complete=False))
        if solves:
            self._sample(log.solve, solve, index)
            self._send(PointDone(index, log.result(), complete=False))
        if differentiates:
            self._sample(log.gradient, gradient, index)
        self._send(PointDone(index, log.result(), complete=True))

    def _score(self, half: CallLog[Any], call: Call, index: int, keep: Callable[..., str]) -> None:
        """The first call of a point, at the unperturbed theta. Only the cell's very first ones have phases apart."""
        name = call.kind if index else f"first_{call.kind}"
        self._phases.enter(name, index)
        with self._guard(half, call):
            told = dict(self._program.phases_ns())
            varied = self._inputs.first(self._task.points[index])
            result, sample = timed(call, varied, self._phases.clock)
            half.keep(first_ns=sample.ns)
            inside = _inside(call.kind, told, self._program.phases_ns(), sample.ns)
            self._phases.complete(name, sample.start_ns, sample.ns, index, inside)
            self._succeeded.add(call.kind)
            reason = keep(result)
            scores = half.found.scores or {}
            error = scores.get("trajectory_error" if call.kind == SOLVE else "error")
            half.scored = Scored(varied, numbers_of(call, result), error)
            if reason:
                half.fail(Outcome.INACCURATE, name, reason)

    def _keep_solution(self, log: PointLog, solution: Solution) -> str:
        ys = np.asarray(solution.ys, dtype=np.float64)
        # Results are kept first: they are the evidence if a scorer fails.
        log.solve.keep(
            statistics={name: finite(value) for name, value in solution.statistics.items()},
            end_state=_stored(ys[-1]),
            state_size=len(ys[-1]),
            trajectories=solution.trajectories,
        )
        scores, reason = judged_solve(self._task, ys)
        drifts = None if self._invariants is None else self._invariants.drifts(ys)
        log.solve.keep(scores=scores, invariants=drifts)
        return reason

    def _keep_gradient(self, log: PointLog, gradient: Gradient) -> str:
        values = np.asarray(gradient.gradient, dtype=np.float64)
        log.gradient.keep(
            statistics={name: finite(value) for name, value in gradient.statistics.items()},
            loss=finite(gradient.loss),
            values=_stored(values),
            size=len(values),
        )
        scores, reason = judged_gradient(self._task, gradient, log.point)
        slopes = judged_slopes(self._task, gradient)
        log.gradient.keep(scores=scores, slopes=None if slopes is None else tuple(map(finite, slopes)))
        log.gradient.unchecked = self._unchecked and not reason
        self._gradients[self._logs.index(log)] = values
        return reason

    def _sample(self, half: CallLog[Any], call: Call, index: int) -> None:
        """Warm-up and steady loops. An inaccurate half is timed too, a half that raised is not."""
        scored, half.scored = half.scored, None
        if half.outcome not in (None, Outcome.INACCURATE):
            self._warm_up.spend(0.0)
            return
        with self._guard(half, call):
            self._warm(half.warm_up, call, index)
            self._end_if_slow(half.warm_up, call)
            traces, rss = self._program.trace_count(), rss_bytes()
            try:
                self._measure_steady(half, call, index)
            finally:
                half.memory_growth_bytes = rss_bytes() - rss - half.steady.answer_bytes
            half.keep(steady=steady_state(half.steady.ns))
            self._check_traces(traces, len(half.steady.samples), call)
            check_blocking(call, self._thetas(call, index, _BLOCKING), half.steady.samples, self._phases.clock)
            point, clock = self._task.points[index], self._phases.clock
            # Checks may take longer than the loop: its samples are known should the worker be ended in them.
            self._send(PointDone(index, self._logs[index].result(), complete=False))
            half.keep(
                working_bytes=check_loop(
                    self._program, self._task, point, call, half.steady, scored, clock, lambda: self._rebuilding(index)
                )
            )
            if not half.steady.truncated:
                self._measure_transfers(half, call, index)
        if half.outcome is None and half.unchecked:
            half.fail(Outcome.UNCHECKED, CHECK, "the reference has no gradient")
        elif half.outcome is None:
            half.outcome = Outcome.OK

    @contextmanager
    def _rebuilding(self, index: int) -> Iterator[None]:
        """A separate phase, which compiles, inside another one."""
        name = self._phases.current or ""
        try:
            with self._phases.phase(REBUILD, index):
                yield
        finally:
            self._phases.enter(name, index)

    def _end_if_slow(self, loop: Loop, call: Call) -> None:
        most_s = self._task.most_call_s
        least_s = min(loop.ns, default=0) / 1e9
        if most_s is not None and least_s > most_s:
            raise SolverFailure(Outcome.SLOW, f"a {call.kind} takes {least_s:.2g} s, more than {most_s:.2g} s")

    def _warm(self, loop: Loop, call: Call, index: int) -> None:
        start_ns = self._phases.clock.now_ns()
        try:
            with self._phases.phase(f"warm_up_{call.kind}", index):
                rule = self._warm_up.rule(loop)
                loop.fill(call, self._thetas(call, index, _WARM_UP), self._phases.clock, self._limit_s, rule)
        finally:
            self._warm_up.spend((self._phases.clock.now_ns() - start_ns) / 1e9)

    def _measure_steady(self, half: CallLog[Any], call: Call, index: int) -> None:
        thetas = self._thetas(call, index, _STEADY)
        position = 2 * (len(_STREAMS) * index + _STREAMS[call.kind])
        self._turn_token.wait(position)
        with (
            self._phases.phase(f"steady_{call.kind}", index),
            self._meter.loop(index, call.kind, lambda: len(half.steady.samples)),
            self.displacements.watched(),
        ):
            between, sampling = self._turn_token.between_calls, self._task.sampling
            rule = steady_rule(sampling)
            half.steady.fill(call, thetas, self._phases.clock, self._limit_s, rule, between, batched=sampling)
        # Workers that are still in this loop end it first.
        self._turn_token.wait(position + 1)

    def _measure_transfers(self, half: CallLog[Any], call: Call, index: int) -> None:
        if self._on_host:
            return
        with self._phases.phase(f"transfer_{call.kind}", index):
            thetas, waits = self._thetas(call, index, _TRANSFER), self._program.await_inputs
            half.keep(to_device_ns=preparing_ns(call, waits, thetas, self._phases.clock))
        half.keep(from_device_ns=tuple(sample.read_ns for sample in half.steady.samples[:TRANSFERS]))

    def _thetas(self, call: Call, index: int, stream: int) -> Iterator[Varied]:
        return self._inputs.stream(self._task.points[index], index, _STREAMS[call.kind], stream)

    def _check_traces(self, before: int, calls: int, call: Call) -> None:
        traced = self._program.trace_count() - before
        if traced:
            raise SolverFailure(
                Outcome.RECOMPILED, f"traced or compiled {traced} more times within {calls} timed {call.kind} calls"
            )

    @contextmanager
    def _guard(self, half: CallLog[Any], call: Call) -> Iterator[None]:
        # Whatever a framework raises is a result here, also if it does not derive from Exception (Rust panics do not).
        try:
            yield
        except BaseException as error:
            # Until a call of this kind has succeeded, its failure is one of tracing and compiling.
            otherwise = Outcome.CRASH if call.kind in self._succeeded else Outcome.BUILD_ERROR
            outcome, message = explain(error, otherwise)
            if not isinstance(error, SolverFailure):
                traceback.print_exception(error, file=sys.stderr)
            else:
                self._keep_trajectories(half, error)
            half.fail(outcome, self._phases.current, message)

    def _keep_trajectories(self, half: CallLog[Any], error: SolverFailure) -> None:
        """The failed trajectories of a batch, if the scored solve did not list them."""
        if isinstance(half.found, SolveResult) and half.found.trajectories is None:
            half.keep(trajectories=error.trajectories)

"""Trains theta with the framework's own optimiser: every step timed, every loss kept, however it ends.

A training that diverges is a result: its outcome is the failed solve's, or ``nonfinite``, and the curve up to there
stays. Nothing is interpolated, smoothed or left out.
"""

from __future__ import annotations

import gc
import sys
import traceback
from collections.abc import Callable

import numpy as np

from sciml_bench.adapters.program import FloatArray, Program, Trainer
from sciml_bench.host.processes.process import Clock
from sciml_bench.measure.deadline import MOST_WALL, Deadline, patience_of_this_process
from sciml_bench.measure.exceptions import explain
from sciml_bench.measure.phases import Phases
from sciml_bench.record.model_task import Evaluation
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.point import finite
from sciml_bench.record.task import Training
from sciml_bench.record.training import BUILD, FIRST, MAX_STORED_THETA, STEPS, Trained

TOLD_EVERY_S = 2.0
"""Interval of progress reports, between steps: often enough to follow, and to lose little with a worker."""

# Each report has all steps, so a long training reports less often.
_TOLD_EVERY_SHARE = 0.02

DIVERGED = 100.0
"""A training whose theta has grown by this factor, from a norm of 1 at least, has diverged."""
EXPLODED = 1e6
"""So has one whose loss is this many times the first."""

Tell = Callable[[Trained, bool], object]
"""Takes the training up to now, and whether it is over."""


def train(settings: Training, size: int, program: Program, phases: Phases, tell: Tell, limit_s: float) -> None:
    """Take at most ``settings.steps`` steps in at most ``limit_s`` seconds, telling of them as they go.

    ``size`` is the number of components of theta.
    """
    clock = phases.clock
    curve = _Curve(settings, clock, tell, limit_s, patience_of_this_process(lambda: clock.now_ns() / 1e9))
    outcome, phase, message = Outcome.OK, None, ""
    trainer: Trainer | None = None
    traces = 0
    try:
        with phases.phase(BUILD):
            start_ns = phases.clock.now_ns()
            trainer = program.trainer(settings)
            curve.build_ns = phases.clock.now_ns() - start_ns
        curve.start(trainer)
        # Garbage of the import and of tracing must not be collected inside a step.
        gc.collect()
        with phases.phase(FIRST):
            curve.step(trainer)
            # Compile the evaluation now.
            curve.evaluate(trainer)
        curve.tell()
        traces = program.trace_count()
        gc.collect()
        with phases.phase(STEPS):
            while len(curve.losses) < settings.steps:
                curve.refuse_to_pass_the_limit()
                curve.step(trainer)
                curve.evaluate(trainer)
                curve.tell_now_and_then()
        _refuse_retraced(program.trace_count() - traces, len(curve.losses) - 1)
    except BaseException as error:
        # Until a step has succeeded, its failure is one of tracing and compiling.
        outcome, message = explain(error, Outcome.CRASH if curve.losses else Outcome.BUILD_ERROR)
        phase = phases.current
        if not isinstance(error, SolverFailure):
            traceback.print_exception(error, file=sys.stderr)
    curve.end(outcome, phase, message, trainer, size)


class _Curve:
    def __init__(self, settings: Training, clock: Clock, tell: Tell, limit_s: float, patience: Deadline):
        self._settings = settings
        self._clock = clock
        self._tell = tell
        self._limit_s = limit_s
        self._patience = patience
        self._patience.restart(limit_s)
        self._patience.look()
        self._longest_s = 0.0
        self._start_ns = self._told_ns = clock.now_ns()
        self.build_ns: int | None = None
        self.losses: list[float | None] = []
        self.step_ns: list[int] = []
        self.evaluations: list[Evaluation] = []
        self._whole = False
        self._size: float | None = None

    def step(self, trainer: Trainer) -> None:
        """One step, timed until its loss and the new theta are computed; a failed one is not part of the curve."""
        self._whole = False
        trainer.feed()
        start_ns = self._clock.now_ns()
        output = trainer.step()
        trainer.synchronise(output)
        ns = self._clock.now_ns() - start_ns
        loss = trainer.read_loss(output)
        if ns < 0:
            raise SolverFailure(Outcome.CRASH, f"the clock went back by {-ns} ns during a step: no time is known")
        self._longest_s = max(self._longest_s, ns / 1e9) if self.losses else 0.0
        self.losses.append(finite(loss))
        self.step_ns.append(ns)
        if not np.isfinite(loss):
            raise SolverFailure(Outcome.NONFINITE, f"the loss of step {len(self.losses)} is not finite")
        self._whole = True
        self._refuse_diverged(trainer)

    def start(self, trainer: Trainer) -> None:
        """Keep the size of theta before the first step; of models, whose weights are many, nothing is kept."""
        if self._settings.every is None:
            self._size = _norm(trainer.theta())

    def _refuse_diverged(self, trainer: Trainer) -> None:
        """Raise when a step has thrown theta so far that the next solve says nothing of the solver."""
        if self._size is None:
            return
        first, last = self.losses[0], self.losses[-1]
        if first and last is not None and last > EXPLODED * abs(first):
            raise SolverFailure(
                Outcome.DIVERGED,
                f"the loss of step {len(self.losses)} is {last:.1e}, the loss of the first was {first:.1e}",
            )
        size = _norm(trainer.theta())
        if not size <= DIVERGED * max(self._size, 1.0):
            raise SolverFailure(
                Outcome.DIVERGED,
                f"after step {len(self.losses)} the norm of theta is {size:.1e}, at the start it was {self._size:.1e}",
            )

    def evaluate(self, trainer: Trainer) -> None:
        """Evaluate held-out samples after the first step, at regular intervals, and after the last; never timed."""
        taken, every = len(self.losses), self._settings.every
        if every is not None and (taken in (1, self._settings.steps) or taken % every == 0):
            found = trainer.evaluate(taken)
            if found is not None:
                self.evaluations.append(found)

    def refuse_to_pass_the_limit(self) -> None:
        """Raise if one more step as long as the longest, except for the first, would pass the time limit."""
        wall_s = self._patience.wall_s
        if wall_s + self._longest_s <= self._limit_s:
            return
        done = f"{len(self.losses)} of {self._settings.steps} steps were taken"
        own_s = self._patience.own_s()
        if own_s + self._longest_s > self._limit_s:
            raise SolverFailure(Outcome.TIMEOUT, f"{done} within the time limit of {self._limit_s:.3g} s")
        if wall_s > MOST_WALL * self._limit_s:
            message = f"{done} in {wall_s:.3g} s, during which others had the processors for {wall_s - own_s:.3g} s"
            raise SolverFailure(Outcome.BUSY_TIMEOUT, message)

    def tell_now_and_then(self) -> None:
        """Report the steps if the last report was long ago."""
        now_ns = self._clock.now_ns()
        wait_ns = max(TOLD_EVERY_S * 1e9, _TOLD_EVERY_SHARE * (now_ns - self._start_ns))
        if now_ns - self._told_ns >= wait_ns:
            self.tell()

    def tell(self) -> None:
        """Report the steps."""
        self._tell(self._trained(Outcome.OK), False)
        self._told_ns = self._clock.now_ns()

    def end(self, outcome: Outcome, phase: str | None, message: str, trainer: Trainer | None, size: int) -> None:
        """Tell of the whole."""
        theta = np.zeros(0)
        # After a failed step it is anything: some frameworks have moved it by then, others have not.
        if trainer is not None and self._whole:
            try:
                theta = np.asarray(trainer.theta(), dtype=np.float64)
                if theta.shape != (size,):
                    message = f"theta has shape {theta.shape}, expected {(size,)}"
                    outcome, phase, theta = Outcome.BUILD_ERROR, STEPS, np.zeros(0)
            except BaseException as error:
                outcome, message = explain(error, Outcome.CRASH)
                phase = STEPS
        values = tuple(finite(value) for value in theta[:MAX_STORED_THETA])
        self._tell(self._trained(outcome, phase, message, values, len(theta)), True)

    def _trained(
        self,
        outcome: Outcome,
        phase: str | None = None,
        message: str = "",
        theta: tuple[float | None, ...] = (),
        theta_size: int = 0,
    ) -> Trained:
        return Trained(
            self._settings, outcome, phase, message, self.build_ns, tuple(self.losses), tuple(self.step_ns), theta,
            theta_size, tuple(self.evaluations),
        )  # fmt: skip


def _norm(theta: FloatArray) -> float:
    with np.errstate(over="ignore"):
        return float(np.linalg.norm(np.asarray(theta, dtype=np.float64)))


def _refuse_retraced(count: int, steps: int) -> None:
    if count:
        raise SolverFailure(Outcome.RECOMPILED, f"traced or compiled {count} more times within {steps} steps")

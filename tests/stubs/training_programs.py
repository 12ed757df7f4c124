"""Programs that train, well or in one way badly. Each trains the decay problem by the gradient that it has."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import numpy as np
from stubs.programs import Decay

from sciml_bench.adapters.program import FloatArray, Trainer
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Task, Training

BAD_STEP = 3
"""Trainers that fail do so in this step, counted from 0."""


class Descent(Trainer):
    """Plain descent on the loss of :class:`~stubs.programs.Decay`."""

    def __init__(self, program: Decay, theta: FloatArray, training: Training):
        self.program, self.training = program, training
        self.values = theta
        self.steps = 0

    def step(self) -> Any:
        loss, gradient = self.program.gradient((self.values, self.training.rtol))
        self.values = self.values - self.training.learning_rate * gradient
        self.steps += 1
        return loss

    def synchronise(self, output: Any) -> None:
        """Nothing runs on."""

    def read_loss(self, output: Any) -> float:
        return float(output)

    def theta(self) -> FloatArray:
        return self.values


class Trains(Decay):
    """The program that trains as it should."""

    made = Descent

    def __init__(self, task: Task):
        super().__init__(task)
        self.first_theta = np.asarray(task.numbers.theta)

    def trainer(self, training: Training) -> Trainer:
        return self.made(self, self.first_theta, training)


class _ThrowsThetaAway(Descent):
    """Its loss is finite, but the next solve would take for ever."""

    def step(self) -> Any:
        loss = super().step()
        if self.steps == BAD_STEP:
            self.values = self.values * 1e6
        return loss


class ThrowsThetaAway(Trains):
    made = _ThrowsThetaAway


class _Explodes(Descent):
    def read_loss(self, output: Any) -> float:
        return float(output) * (1e9 if self.steps == BAD_STEP else 1.0)


class Explodes(Trains):
    made = _Explodes


class _Diverges(Descent):
    def read_loss(self, output: Any) -> float:
        if self.steps > BAD_STEP:
            raise SolverFailure(Outcome.MAX_STEPS, "the solver gave up")
        return super().read_loss(output)


class Diverges(Trains):
    """Its solver fails in the bad step."""

    made = _Diverges


class _Nonfinite(Descent):
    def read_loss(self, output: Any) -> float:
        return float("inf") if self.steps > BAD_STEP else super().read_loss(output)


class Nonfinite(Trains):
    """Its loss is not finite in the bad step, and nobody says so."""

    made = _Nonfinite


class _Hangs(Descent):
    def step(self) -> Any:
        if self.steps == BAD_STEP:
            time.sleep(600)
        return super().step()


class HangsInTraining(Trains):
    """Its bad step never ends."""

    made = _Hangs


class _Dies(Descent):
    def step(self) -> Any:
        if self.steps == BAD_STEP:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().step()


class DiesInTraining(Trains):
    """Its process dies in the bad step."""

    made = _Dies


class _Hoards(Descent):
    def step(self) -> Any:
        self.held = np.ones(2**24)
        return super().step()


class Hoards(Trains):
    """Needs a lot of memory to train, and finds compiled code then."""

    made = _Hoards

    def cache_hits(self) -> int | None:
        return int(self.trained)

    trained = False

    def trainer(self, training: Training) -> Trainer:
        self.trained = True
        return super().trainer(training)


class _DiesSlowly(_Dies):
    def step(self) -> Any:
        time.sleep(1.1)
        return super().step()


class DiesSlowly(Trains):
    """Its process dies in the bad step, after steps that take long enough to be told of."""

    made = _DiesSlowly


class Retraces(Trains):
    """Compiles again in every step."""

    def __init__(self, task: Task):
        super().__init__(task)
        self.traces = 0

    def gradient(self, inputs: Any) -> Any:
        self.traces += self.training
        return super().gradient(inputs)

    training = False

    def trainer(self, training: Training) -> Trainer:
        self.training = True
        return super().trainer(training)

    def trace_count(self) -> int:
        return self.traces


class WrongShape(Trains):
    """Gives back half of theta."""

    def trainer(self, training: Training) -> Trainer:
        trainer = super().trainer(training)
        trainer.theta = lambda: np.zeros(1)
        return trainer

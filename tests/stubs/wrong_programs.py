"""Programs that return what is wrong, in one way each; see :mod:`stubs.programs`."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from stubs.programs import TIGHT, Decay

from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Task


class ReturnsNaN(Decay):
    def solve(self, inputs: Any) -> Any:
        return super().solve(inputs) * np.nan


class ReturnsWrongShape(Decay):
    def solve(self, inputs: Any) -> Any:
        return super().solve(inputs)[:-1]


class ReturnsComplex(Decay):
    def solve(self, inputs: Any) -> Any:
        return super().solve(inputs) * (1 + 1e-3j)


class FailsWithSuccess(Decay):
    def solve(self, inputs: Any) -> Any:
        raise SolverFailure(Outcome.OK, "all went well")


class WrongSolution(Decay):
    def solve(self, inputs: Any) -> Any:
        return super().solve(inputs) * 1.5


class MissesTheSecondRate(Decay):
    """Returns zero for one component, as automatic differentiation does of a switch that it does not see."""

    def gradient(self, inputs: Any) -> Any:
        loss, gradient = super().gradient(inputs)
        gradient[1] = 0.0
        return loss, gradient


class OffWhereLoose(Decay):
    def gradient(self, inputs: Any) -> Any:
        loss, gradient = super().gradient(inputs)
        return loss, gradient * (1.6 if inputs[1] > 1e-5 else 1.0)


class NoisyLoss(Decay):
    """A loss that a chaotic solution has: as large as ever, and another one with every theta."""

    def gradient(self, inputs: Any) -> Any:
        loss, gradient = super().gradient(inputs)
        return loss * (1 + np.sin(1e9 * np.sum(inputs[0]))), gradient


class NaNBesideTheta(Decay):
    """Finite at theta and in a tiny neighbourhood, in which the loops stay."""

    def gradient(self, inputs: Any) -> Any:
        loss, gradient = super().gradient(inputs)
        return (loss if np.allclose(inputs[0], self.theta, rtol=1e-5, atol=0) else np.nan), gradient

    def __init__(self, task: Task):
        super().__init__(task)
        self.theta = np.asarray(task.numbers.theta)


class ConstantLoss(Decay):
    def gradient(self, inputs: Any) -> Any:
        return 1.0, np.zeros(len(inputs[0]))


class NoGradientWhereTight(Decay):
    def gradient(self, inputs: Any) -> Any:
        loss, gradient = super().gradient(inputs)
        return loss, gradient * (np.nan if inputs[1] < TIGHT else 1.0)


class WrongGradient(Decay):
    def gradient(self, inputs: Any) -> Any:
        loss, gradient = super().gradient(inputs)
        return loss, -gradient


class SpeaksAndHolds(Decay):
    """Writes to standard error, and for a while holds a quarter of a gigabyte."""

    def __init__(self, task: Task):
        super().__init__(task)
        print("held", file=sys.stderr, flush=True)
        np.ones(2**25)


class TakesAFifthOfASecond(Decay):
    """Solves slowly."""

    def solve(self, inputs: Any) -> Any:
        time.sleep(0.2)
        return super().solve(inputs)


class LeavesFarOff(Decay):
    """Raises no Exception for a small first rate, nor when it is asked for versions."""

    def solve(self, inputs: Any) -> Any:
        if inputs[0][0] < 0.3:
            raise SystemExit(3)
        return super().solve(inputs)

    def versions(self) -> dict[str, str]:
        raise SystemExit(3)

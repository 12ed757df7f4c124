"""A program for sweeps over batches, and one that cannot hold a large one."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from stubs.programs import Decay

from sciml_bench.adapters.program import FloatArray, Gradient, Program, Solution
from sciml_bench.record.task import Point, Task

TOO_MANY = 16
"""From so many trajectories on, the hungry program needs more memory than there is."""


class Batched(Decay):
    """Solves every trajectory; a call takes a tenth of a millisecond for each."""

    def __init__(self, task: Task):
        super().__init__(task)
        self.batch = task.numbers.batch

    def prepare(self, theta: FloatArray, point: Point) -> Any:
        return np.tile(theta, self.batch), point.rtol

    def solve(self, inputs: Any) -> Any:
        time.sleep(1e-4 * self.batch)
        return super().solve(inputs)

    def gradient(self, inputs: Any) -> Any:
        time.sleep(1e-4 * self.batch)
        loss, gradient = super().gradient(inputs)
        return loss, gradient.reshape(self.batch, -1).sum(axis=0)

    def read_solution(self, output: Any) -> Solution:
        return Solution(output, {"n_steps": 9.0 + self.batch, "n_steps_least": 9.0, "n_steps_mean": 9.5})

    def read_gradient(self, output: Any) -> Gradient:
        return Gradient(output[0], output[1], {"n_steps": 9.0 + self.batch})


class Hungry(Batched):
    """Allocates without bound where the batch is large, and touches what it allocates."""

    def solve(self, inputs: Any) -> Any:
        held: list[FloatArray] = []
        while self.batch >= TOO_MANY:
            held.append(np.ones(2**21))
            time.sleep(0.01)
        return super().solve(inputs)


def build(task: Task) -> Program:
    """The program that the method names."""
    return (Hungry if task.cell.method == "hungry" else Batched)(task)

"""The program of the self-test, which is slowed down by a known share.

``slowed`` builds the program that ``task.options["program"]`` names and adds ``task.options["slow_down"]`` times the
duration of a call to every call, as work that is really done inside it. With a share of 0 it is the same program run
through the same code, so that both sides of a comparison differ in nothing but the wait.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from sciml_bench.adapters.base import FloatArray, Gradient, Program, Solution
from sciml_bench.task import Point, Task

# The first call warms up; the median of the others is what a share is taken of. The speed of a shared processor changes
# within tenths of a second, so the calls go on for longer.
_CALIBRATING_CALLS = 8
_CALIBRATING_NS = 500_000_000


class Slowed(Program):
    """A program whose calls take longer by a share of their own duration, as measured in this process.

    The wait is fixed before the first sample: it is more work, as a slower program would do, and no arithmetic on
    samples. It spins, because a sleeping process gives its processor away and gets it back late.
    """

    def __init__(self, inner: Program, task: Task, share: float):
        self._inner = inner
        theta = np.asarray(task.numbers.theta, dtype=np.float64)
        point = task.points[-1]
        self._solve_ns = round(share * self._typical_ns(inner.solve, theta, point))
        self._gradient_ns = round(share * self._typical_ns(inner.gradient, theta, point))

    def prepare(self, theta: FloatArray, point: Point) -> Any:
        return self._inner.prepare(theta, point)

    def solve(self, inputs: Any) -> Any:
        output = self._inner.solve(inputs)
        _spin(self._solve_ns)
        return output

    def gradient(self, inputs: Any) -> Any:
        output = self._inner.gradient(inputs)
        _spin(self._gradient_ns)
        return output

    def synchronise(self, output: Any) -> None:
        self._inner.synchronise(output)

    def read_solution(self, output: Any) -> Solution:
        return self._inner.read_solution(output)

    def read_gradient(self, output: Any) -> Gradient:
        return self._inner.read_gradient(output)

    def trace_count(self) -> int:
        return self._inner.trace_count()

    def phases_ns(self) -> dict[str, int]:
        return self._inner.phases_ns()

    def versions(self) -> dict[str, str]:
        return self._inner.versions()

    def _typical_ns(self, call: Callable[[Any], Any], theta: FloatArray, point: Point) -> float:
        durations: list[int] = []
        while len(durations) < _CALIBRATING_CALLS or sum(durations) < _CALIBRATING_NS:
            inputs = self._inner.prepare(theta, point)
            start_ns = time.perf_counter_ns()
            self._inner.synchronise(call(inputs))
            durations.append(time.perf_counter_ns() - start_ns)
        return statistics.median(durations[1:])


def _spin(ns: int) -> None:
    if ns:
        end_ns = time.perf_counter_ns() + ns
        while time.perf_counter_ns() < end_ns:
            pass


def slowed(task: Task) -> Program:
    """The program that the options name, slowed down by the share that they name."""
    module, _, function = str(task.options["program"]).partition(":")
    build: Callable[[Task], Program] = getattr(importlib.import_module(module), function)
    return Slowed(build(task), task, float(task.options["slow_down"]))

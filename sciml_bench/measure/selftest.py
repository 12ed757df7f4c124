"""Programs of the self-test: one that is slowed down by a known share, and one that needs nothing but NumPy.

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

# The first call warms up; the median of the others is what a share is taken of.
_CALIBRATING_CALLS = 8

# Short calls, many of them: their median does not see that the process was displaced in a few.
_STEPS_OF_A_SPAN = 20


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
        for _ in range(_CALIBRATING_CALLS):
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


class RungeKutta(Program):
    """The classical Runge-Kutta method with fixed steps for ``y' = -p y`` and its sensitivities, in NumPy alone.

    The loss is the sum of squares over the saved times. Both systems are linear, so a step is a few short vector
    operations: a call takes milliseconds, a process starts in a tenth of a second, and every instruction is known.
    """

    def __init__(self, task: Task):
        self._y0 = np.asarray(task.numbers.y0, dtype=np.float64)
        self._times = np.asarray(task.numbers.save_times, dtype=np.float64)
        self._t0 = task.numbers.t0

    def prepare(self, theta: FloatArray, point: Point) -> FloatArray:
        return np.array(theta, dtype=np.float64)

    def solve(self, inputs: FloatArray) -> FloatArray:
        return self._integrate(self._y0, lambda y: -inputs * y)

    def gradient(self, inputs: FloatArray) -> tuple[float, FloatArray]:
        def rhs(state: FloatArray) -> FloatArray:
            y, s = state
            return np.stack((-inputs * y, -y - inputs * s))

        saved = self._integrate(np.stack((self._y0, np.zeros_like(self._y0))), rhs)
        ys, ss = saved[:, 0], saved[:, 1]
        return float(np.sum(ys**2)), 2.0 * np.sum(ys * ss, axis=0)

    def synchronise(self, output: Any) -> None:
        """NumPy computes before it returns."""

    def read_solution(self, output: Any) -> Solution:
        return Solution(output, {"steps": float(_STEPS_OF_A_SPAN * len(self._times))})

    def read_gradient(self, output: Any) -> Gradient:
        return Gradient(output[0], output[1], {})

    def versions(self) -> dict[str, str]:
        return {"numpy": np.__version__}

    def _integrate(self, start: FloatArray, rhs: Callable[[FloatArray], FloatArray]) -> FloatArray:
        state, t, saved = start, self._t0, []
        for end in self._times:
            h = (end - t) / _STEPS_OF_A_SPAN
            for _ in range(_STEPS_OF_A_SPAN):
                k1 = rhs(state)
                k2 = rhs(state + 0.5 * h * k1)
                k3 = rhs(state + 0.5 * h * k2)
                k4 = rhs(state + h * k3)
                state = state + (h / 6.0) * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            saved.append(state)
            t = end
        return np.stack(saved)


def runge_kutta(task: Task) -> Program:
    """The program that needs nothing but NumPy."""
    return RungeKutta(task)


def slowed(task: Task) -> Program:
    """The program that the options name, slowed down by the share that they name."""
    module, _, function = str(task.options["program"]).partition(":")
    build: Callable[[Task], Program] = getattr(importlib.import_module(module), function)
    return Slowed(build(task), task, float(task.options["slow_down"]))

"""The program of the self-test, which is slowed down by a known share.

``slowed`` builds the program that ``task.options["program"]`` names and makes every call longer by
``task.options["slow_down"]`` times its own duration, as time that is really spent inside it. With a share of 0 it is
the same program run through the same code, so that both sides of a comparison only differ in the wait.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any

from sciml_bench.adapters.program import FloatArray, Gradient, IntArray, Program, Solution
from sciml_bench.record.task import Point, Task


class Slowed(Program):
    """A program whose calls take longer by a fraction of their duration.

    The wait is more work, as a slower program would do, and no arithmetic on samples. It grows with the call, as other
    work would where the machine is slow just then, and spins, because a sleeping process gives its processor away.
    """

    def __init__(self, inner: Program, share: float):
        self._inner = inner
        self._share = share

    def prepare(self, theta: FloatArray, point: Point) -> Any:
        return self._inner.prepare(theta, point)

    def prepare_gradient(self, theta: FloatArray, point: Point) -> Any:
        return self._inner.prepare_gradient(theta, point)

    def prepare_samples(self, places: IntArray, point: Point) -> Any:
        return self._inner.prepare_samples(places, point)

    def solve(self, inputs: Any) -> Any:
        return self._longer(self._inner.solve, inputs)

    def gradient(self, inputs: Any) -> Any:
        return self._longer(self._inner.gradient, inputs)

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

    def _longer(self, call: Callable[[Any], Any], inputs: Any) -> Any:
        start_ns = time.perf_counter_ns()
        output = call(inputs)
        self._inner.synchronise(output)
        ns = time.perf_counter_ns() - start_ns
        end_ns = start_ns + ns + round(self._share * ns)
        while time.perf_counter_ns() < end_ns:
            pass
        return output


def slowed(task: Task) -> Program:
    """The program that the options name, slowed down by the share that they name."""
    module, _, function = str(task.options["program"]).partition(":")
    build: Callable[[Task], Program] = getattr(importlib.import_module(module), function)
    return Slowed(build(task), float(task.options["slow_down"]))

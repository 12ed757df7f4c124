"""Programs that compute less in their timed calls than they say, each in one way; see :mod:`stubs.programs`.

A closed form takes no time, so that each computation sleeps, for longer at a tighter tolerance.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from stubs.programs import Decay

from sciml_bench.adapters.base import FloatArray
from sciml_bench.host import process
from sciml_bench.host.process import Clock
from sciml_bench.record.task import Point, Task


class Works(Decay):
    """Takes its time, and is honest."""

    def __init__(self, task: Task):
        super().__init__(task)
        self.clock = Clock()

    def work(self, rtol: float) -> None:
        self.clock.sleep(-1e-3 * math.log10(min(rtol, 0.5)))

    def solve(self, inputs: Any) -> Any:
        self.work(inputs[1])
        return super().solve(inputs)

    def gradient(self, inputs: Any) -> Any:
        self.work(inputs[1])
        return super().gradient(inputs)


class RemembersThePoint(Works):
    """Returns the first result at a tolerance for any input."""

    def __init__(self, task: Task):
        super().__init__(task)
        self.memory: dict[Any, tuple[FloatArray, Any]] = {}

    def found(self, kind: str, inputs: Any) -> Any:
        """What it remembers for these inputs, or ``None``."""
        return self.memory.get((kind, inputs[1]), (None, None))[1]

    def _answer(self, kind: str, inputs: Any, compute: Any) -> Any:
        known = self.found(kind, inputs)
        if known is None:
            known = compute(inputs)
            self.memory[kind, inputs[1]] = (np.array(inputs[0]), known)
        return known

    def solve(self, inputs: Any) -> Any:
        return self._answer("solve", inputs, super().solve)

    def gradient(self, inputs: Any) -> Any:
        return self._answer("gradient", inputs, super().gradient)


class RemembersWhatIsClose(RemembersThePoint):
    """Returns the last result for any input that is close to the last one."""

    def found(self, kind: str, inputs: Any) -> Any:
        theta, known = self.memory.get((kind, inputs[1]), (None, None))
        return known if theta is not None and np.allclose(theta, inputs[0]) else None


class RemembersAndShakes(RemembersWhatIsClose):
    """Adds a little noise to what it remembers."""

    def solve(self, inputs: Any) -> Any:
        return super().solve(inputs) * (1 + 1e-6 * np.random.default_rng().uniform(-1, 1))

    def gradient(self, inputs: Any) -> Any:
        loss, gradient = super().gradient(inputs)
        return loss * (1 + 1e-6 * np.random.default_rng().uniform(-1, 1)), gradient


class UsesTwoProcessors(Works):
    """Computes in two threads, on a processor more than planned."""

    threads = 2

    def work(self, rtol: float) -> None:
        start_ns = self.clock.now_ns()
        super().work(rtol)
        fake: Any = process.time
        fake.busy_ns += self.threads * (self.clock.now_ns() - start_ns)


class UsesOneProcessor(UsesTwoProcessors):
    """Computes all the time, on the planned processor."""

    threads = 1


class SolvesWhilePreparing(Works):
    """Does its work while inputs are prepared."""

    def prepare(self, theta: FloatArray, point: Point) -> Any:
        self.work(point.rtol)
        inputs = super().prepare(theta, point)
        return Decay.solve(self, inputs), Decay.gradient(self, inputs)

    def solve(self, inputs: Any) -> Any:
        return inputs[0]

    def gradient(self, inputs: Any) -> Any:
        return inputs[1]


class PreparesSlowly(Decay):
    """Takes long to prepare inputs, whatever the tolerance, and computes in its calls."""

    def prepare(self, theta: FloatArray, point: Point) -> Any:
        Clock().sleep(0.002)
        return super().prepare(theta, point)


class DependsOnNothing(Decay):
    """Has a solution without its parameters, to the last digit."""

    def solve(self, inputs: Any) -> Any:
        return np.ones((len(self.times), len(self.y0)))

    def gradient(self, inputs: Any) -> Any:
        return 1.0, np.zeros(2)


class SumsInAnyOrder(Decay):
    """Differs by more from call to call than inputs differ."""

    def solve(self, inputs: Any) -> Any:
        return super().solve(inputs) * (1 + 1e-5 * np.random.default_rng().uniform(-1, 1))

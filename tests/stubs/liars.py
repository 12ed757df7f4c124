"""Programs that compute less in their timed calls than they say, each in one way; see :mod:`stubs.programs`.

A closed form takes no time, so that each computation sleeps, for longer at a tighter tolerance.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import sys
import time
from typing import Any

import numpy as np
from stubs.programs import Decay

from sciml_bench.adapters.program import FloatArray
from sciml_bench.host.processes import process
from sciml_bench.host.processes.process import Clock
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


class PreparesTheTightest(SolvesWhilePreparing):
    """Does its work while inputs are prepared, and as much of it at any tolerance."""

    def work(self, rtol: float) -> None:
        super().work(1e-8)


class WorksInNextPrepare(Works):
    """Puts off the work of a call until the next inputs are prepared."""

    owed = 0

    def prepare(self, theta: FloatArray, point: Point) -> Any:
        for _ in range(self.owed):
            super().work(point.rtol)
        self.owed = 0
        return super().prepare(theta, point)

    def work(self, rtol: float) -> None:
        self.owed += 1


class WorksInReading(Works):
    """Does its work when the output is read."""

    def solve(self, inputs: Any) -> Any:
        return inputs

    def gradient(self, inputs: Any) -> Any:
        return inputs

    def read_solution(self, output: Any) -> Any:
        return super().read_solution(super().solve(output))

    def read_gradient(self, output: Any) -> Any:
        return super().read_gradient(super().gradient(output))


class WorksBetweenCalls(Works):
    """Does its work when a profiler tells that the clock was read after a call."""

    def __init__(self, task: Task):
        super().__init__(task)
        self.owed: list[tuple[float, Any, Any]] = []
        sys.setprofile(self.look)

    def look(self, frame: Any, event: str, _value: Any) -> None:
        if event == "return" and frame.f_code.co_name == "now_ns" and self.owed:
            rtol, output, result = self.owed.pop()
            self.work(rtol)
            output[:] = result

    def solve(self, inputs: Any) -> Any:
        result = np.asarray(Decay.solve(self, inputs))
        output = np.zeros_like(result)
        self.owed.append((inputs[1], output, result))
        return output


processors = {0}
"""The processors of a worker that :class:`TakesAnotherProcessor` widens."""


class TakesAnotherProcessor(UsesTwoProcessors):
    """Gives itself another processor in its calls."""

    def work(self, rtol: float) -> None:
        processors.add(1)
        super().work(rtol)


class PreparesSlowly(Works):
    """Prepares inputs for nearly as long as it computes."""

    def prepare(self, theta: FloatArray, point: Point) -> Any:
        self.clock.sleep(0.005)
        return super().prepare(theta, point)


class IsHeldUpOnce(Works):
    """Honest, on a machine that does something else during the steady solve's preparation and reading."""

    prepared = solved = 0

    def prepare(self, theta: FloatArray, point: Point) -> Any:
        # A gradient and a solve that are scored and a solve to warm up come before.
        self.prepared += 1
        self.clock.sleep(0.1 if self.prepared == 4 else 0.0)
        return super().prepare(theta, point)

    def read_solution(self, output: Any) -> Any:
        self.solved += 1
        self.clock.sleep(0.1 if self.solved == 3 else 0.0)
        return super().read_solution(output)


class ShakesByInput(RemembersWhatIsClose):
    """Adds to what it remembers a little noise that is the same again for the same input."""

    def shaken(self, inputs: Any) -> float:
        seed = int.from_bytes(hashlib.sha256(inputs[0].tobytes()).digest()[:8], "little")
        return 1 + 1e-6 * np.random.default_rng(seed).uniform(-1, 1)

    def solve(self, inputs: Any) -> Any:
        return super().solve(inputs) * self.shaken(inputs)

    def gradient(self, inputs: Any) -> Any:
        loss, gradient = super().gradient(inputs)
        return loss * self.shaken(inputs), gradient * self.shaken(inputs)


class Extrapolates(RemembersWhatIsClose):
    """Corrects what it remembers by derivatives that it computed once."""

    def solve(self, inputs: Any) -> Any:
        return self._corrected("solve", inputs, super().solve(inputs), lambda at: Decay.solve(self, at))

    def gradient(self, inputs: Any) -> Any:
        loss, slopes = super().gradient(inputs)
        moved = self._corrected("gradient", inputs, slopes, lambda at: Decay.gradient(self, at)[1])
        return loss + slopes @ (inputs[0] - self.memory["gradient", inputs[1]][0]), moved

    def _corrected(self, kind: str, inputs: Any, known: FloatArray, compute: Any) -> FloatArray:
        theta, at = self.memory[kind, inputs[1]][0], inputs[1]
        for place, move in enumerate(inputs[0] - theta):
            step = np.where(np.arange(len(theta)) == place, 1e-6, 0.0)
            known = known + move / 1e-6 * (compute((theta + step, at)) - compute((theta, at)))
        return known


class LooseAfterFirst(Works):
    """Computes the first output of a tolerance as it should, and all others with an error of a hundredth."""

    def __init__(self, task: Task):
        super().__init__(task)
        self.seen = set[Any]()

    def is_first(self, kind: str, inputs: Any) -> bool:
        """Whether this is the first call of its kind at a tolerance."""
        return (kind, inputs[1]) not in self.seen and not self.seen.add((kind, inputs[1]))

    def solve(self, inputs: Any) -> Any:
        return (
            super().solve(inputs)
            if self.is_first("solve", inputs)
            else Decay.solve(self, inputs) * self.error(inputs[1])
        )

    def gradient(self, inputs: Any) -> Any:
        if self.is_first("gradient", inputs):
            return super().gradient(inputs)
        loss, gradient = Decay.gradient(self, inputs)
        return loss * self.error(inputs[1]), gradient * self.error(inputs[1])

    def error(self, rtol: float) -> float:
        """The factor of all outputs but the first."""
        return 1.01


class TightForTheScored(LooseAfterFirst):
    """Computes as it should for the input of the scored call, whenever it comes."""

    def is_first(self, kind: str, inputs: Any) -> bool:
        return bool(np.array_equal(inputs[0], self.theta))

    def __init__(self, task: Task):
        super().__init__(task)
        self.theta = np.array(task.numbers.theta)


class TwentyTolerancesLoose(TightForTheScored):
    """Computes all others with an error of twenty tolerances, which is more than they differ by."""

    def error(self, rtol: float) -> float:
        return 1 + 20 * rtol


class ALittleLoose(LooseAfterFirst):
    """Computes all but the first output with an error of some tens of tolerances."""

    def error(self, rtol: float) -> float:
        return 1 + 30 * rtol


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


class ReplacesTheClock(Decay):
    """Puts another clock in the place of the one that Python has, and takes 2 ms."""

    def __init__(self, task: Task):
        super().__init__(task)
        time.perf_counter_ns = time.time_ns = time.monotonic_ns = lambda: 0

    def solve(self, inputs: Any) -> Any:
        time.sleep(0.002)
        return super().solve(inputs)


class RestsAtItsTheta(Works):
    """Is fast where it starts at rest, and takes twenty times as long a little away from there."""

    def solve(self, inputs: Any) -> Any:
        for _ in range(1 if np.allclose(inputs[0], self.theta, rtol=1e-4) else 20):
            self.work(inputs[1])
        return Decay.solve(self, inputs)

    def __init__(self, task: Task):
        super().__init__(task)
        self.theta = np.array(task.numbers.theta)


class OneArray(Decay):
    """Reads each solution into the same array."""

    def read_solution(self, output: Any) -> Any:
        solution = super().read_solution(output)
        self.array = getattr(self, "array", np.empty_like(solution.ys))
        self.array[:] = solution.ys
        return dataclasses.replace(solution, ys=self.array)


class ReadsIntoOneArray(OneArray, SumsInAnyOrder):
    """Also differs in the last digits from call to call."""


class LooseIntoOneArray(OneArray, LooseAfterFirst):
    """Is loose after the first call."""


class FailsFarAway(Works):
    """Knows no solution but for its own theta and what is next to it."""

    error: type[BaseException] = RuntimeError

    def __init__(self, task: Task):
        super().__init__(task)
        self.theta = np.array(task.numbers.theta)

    def solve(self, inputs: Any) -> Any:
        if not np.allclose(inputs[0], self.theta, rtol=1e-4):
            raise self.error("no solution")
        return super().solve(inputs)


class Panic(BaseException):
    """An error that is no Exception, as those of libraries in Rust."""


class PanicsFarAway(FailsFarAway):
    """Raises no Exception there."""

    error = Panic


class DependsOnNothingAndPanics(DependsOnNothing):
    """Raises no Exception far away."""

    def __init__(self, task: Task):
        super().__init__(task)
        self.theta = np.array(task.numbers.theta)

    def solve(self, inputs: Any) -> Any:
        if not np.allclose(inputs[0], self.theta, rtol=1e-4):
            raise Panic("far")
        return super().solve(inputs)


class RoundsInAnyWay(DependsOnNothing):
    """Depends on nothing, and is another in its last digit now and then."""

    def solve(self, inputs: Any) -> Any:
        rounded = np.random.default_rng().choice([0.0, 1.0], p=[0.8, 0.2])
        return super().solve(inputs) * (1 + rounded * np.finfo(np.float64).eps)

    def gradient(self, inputs: Any) -> Any:
        return 1.0, np.full(2, 1e-3)

"""Programs for groups of workers that take turns: calls of a known length, and programs that spoil their turn."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from stubs.programs import Decay

from sciml_bench.record.task import Task


class TakesAMillisecond(Decay):
    """Computes for a millisecond in every call."""

    def solve(self, inputs: Any) -> Any:
        self.compute()
        return super().solve(inputs)

    def gradient(self, inputs: Any) -> Any:
        self.compute()
        return super().gradient(inputs)

    def compute(self) -> None:
        end_ns = time.perf_counter_ns() + 1_000_000
        while time.perf_counter_ns() < end_ns:
            pass


class SignsCalls(TakesAMillisecond):
    """Writes its name into a file at every solve, so that one sees who had a turn when."""

    def __init__(self, task: Task):
        super().__init__(task)
        self.name, self.path = task.options["name"], Path(task.options["path"])

    def solve(self, inputs: Any) -> Any:
        with self.path.open("a") as file:
            file.write(self.name)
        return super().solve(inputs)


class HangsInSteadyLoop(TakesAMillisecond):
    """Its first solve and its warm-up are good."""

    calls = 0

    def solve(self, inputs: Any) -> Any:
        self.calls += 1
        if self.calls > 20:
            time.sleep(600)
        return super().solve(inputs)


class TakesStandardInput(TakesAMillisecond):
    """Makes its standard input non-blocking, as Julia does, and reads all of it."""

    def __init__(self, task: Task):
        super().__init__(task)
        os.set_blocking(0, False)
        sys.stdin.read()

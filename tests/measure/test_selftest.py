"""The program of the self-test: right answers, and a slowdown that is really spent inside the call."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from stubs.programs import Decay
from stubs.tasks import stub_task

from sciml_bench.measure import selftest
from sciml_bench.record.task import Point

POINT = Point(1e-6, 1e-6)


class FakeTime:
    """A clock that only the program advances, and a little every look at it."""

    def __init__(self):
        self.ns = 0

    def perf_counter_ns(self) -> int:
        self.ns += 10
        return self.ns


class Works(Decay):
    """A program whose solves take a millisecond of that clock, its gradients three."""

    time: FakeTime

    def solve(self, inputs: Any) -> Any:
        self.time.ns += 1_000_000
        return super().solve(inputs)

    def gradient(self, inputs: Any) -> Any:
        self.time.ns += 3_000_000
        return super().gradient(inputs)


@pytest.mark.parametrize("share", [0.0, 0.03, 0.1])
def test_calls_take_longer_by_the_share_of_their_own_duration(monkeypatch, share):
    clock = FakeTime()
    monkeypatch.setattr(selftest, "time", clock)
    task = stub_task(reference=None)
    inner = Works(task)
    inner.time = clock
    program = selftest.Slowed(inner, share)
    inputs = program.prepare(np.asarray(task.numbers.p), POINT)
    for call, ns in ((program.solve, 1_000_000), (program.gradient, 3_000_000)):
        before = clock.ns
        call(inputs)
        assert clock.ns - before == pytest.approx(ns * (1 + share), rel=1e-3)


def test_results_are_those_of_the_inner_program():
    task = stub_task(reference=None)
    options = {"program": "stubs.programs:good", "slow_down": 0.1}
    program = selftest.slowed(dataclasses.replace(task, options=options))
    inner = Decay(task)
    inputs = program.prepare(np.asarray(task.numbers.p), POINT)
    assert np.array_equal(program.read_solution(program.solve(inputs)).ys, inner.read_solution(inner.solve(inputs)).ys)
    assert program.read_gradient(program.gradient(inputs)).loss == inner.read_gradient(inner.gradient(inputs)).loss
    assert program.versions() == inner.versions()
    assert program.trace_count() == 0

"""Timed calls and loops, with a clock that advances by a known amount per call."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
from stubs import programs
from stubs.clock import FakeClock
from stubs.tasks import stub_task

from sciml_bench.host.processes.process import Clock
from sciml_bench.measure.sampling import (
    Call,
    Loop,
    check_blocking,
    gradient_call,
    preparing_ns,
    solve_call,
    steady_rule,
    timed,
    varied,
)
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Sampling

THETA = np.array([0.5, 2.0])


def call_of(clock: FakeClock, *, prepare_s: float = 0.0, run_s: float = 0.0, wait_s: float = 0.0, read_s: float = 0.0):
    """A call each of whose steps takes a known time."""

    def takes(seconds: float) -> Any:
        def step(value: Any) -> Any:
            clock.sleep(seconds)
            return value

        return step

    return Call("solve", takes(prepare_s), takes(run_s), takes(wait_s), takes(read_s))


def test_only_the_run_and_the_wait_are_timed():
    clock = FakeClock()
    result, sample = timed(call_of(clock, prepare_s=5, run_s=1, wait_s=2, read_s=7), THETA, clock)
    assert result is THETA
    assert (sample.ns, sample.read_ns) == (3_000_000_000, 7_000_000_000)


def test_inputs_vary_a_little_and_alike_for_everyone():
    first = list(islice(varied(THETA, 1e-6, 42, 0, 1), 5))
    again = list(islice(varied(THETA, 1e-6, 42, 0, 1), 3))
    other = next(varied(THETA, 1e-6, 43, 0, 1))
    for one, same in zip(first, again, strict=False):
        np.testing.assert_array_equal(one, same)
    assert len({tuple(theta) for theta in first}) == 5
    assert not np.array_equal(first[0], other)
    np.testing.assert_allclose(first, np.tile(THETA, (5, 1)), rtol=1e-6)


def test_inputs_are_those_of_the_documented_generator():
    generator = np.random.Generator(np.random.PCG64((42, 0, 1)))
    expected = THETA * (1.0 + 1e-3 * generator.uniform(-1.0, 1.0, 2))
    np.testing.assert_array_equal(next(varied(THETA, 1e-3, 42, 0, 1)), expected)


@pytest.mark.parametrize(
    ("sampling", "calls"),
    [
        pytest.param(Sampling(0, 5, 0.0, 100, 0.0), 5, id="minimum count"),
        pytest.param(Sampling(0, 5, 20.0, 100, 0.0), 20, id="time after the count"),
        pytest.param(Sampling(0, 5, 20.0, 8, 0.0), 8, id="maximum count before the time"),
        pytest.param(Sampling(0, 5, 2.0, 3, 0.0), 3, id="maximum count before the minimum"),
    ],
)
def test_steady_loop_ends_when_count_and_time_are_reached(sampling: Sampling, calls: int):
    clock = FakeClock()
    loop = Loop()
    loop.fill(call_of(clock, run_s=1), varied(THETA, 0.0, 1), clock, float("inf"), steady_rule(sampling))
    assert loop.ns == (1_000_000_000,) * calls
    assert not loop.truncated


def test_loop_ends_itself_before_the_time_limit():
    clock = FakeClock()
    loop = Loop()
    rule = steady_rule(Sampling(0, 30, 0.0, 100, 0.0))
    loop.fill(call_of(clock, run_s=2, read_s=1), varied(THETA, 0.0, 1), clock, 10.0, rule)
    assert len(loop.ns) == 3
    assert loop.truncated


def test_loop_makes_one_call_whatever_the_limit():
    clock = FakeClock()
    loop = Loop()
    rule = steady_rule(Sampling(0, 30, 0.0, 100, 0.0))
    loop.fill(call_of(clock, run_s=20), varied(THETA, 0.0, 1), clock, 10.0, rule)
    assert len(loop.ns) == 1
    assert loop.truncated


def test_samples_before_a_failure_are_kept():
    clock = FakeClock()
    calls = iter(range(10))

    def run(value: Any) -> Any:
        if next(calls) == 3:
            raise SolverFailure(Outcome.MAX_STEPS, "too many")
        clock.sleep(1)
        return value

    loop = Loop()
    call = Call("solve", lambda theta: theta, run, lambda output: None, lambda output: output)
    with pytest.raises(SolverFailure):
        loop.fill(call, varied(THETA, 0.0, 1), clock, 99.0, steady_rule(Sampling(0, 9, 0.0, 9, 0.0)))
    assert len(loop.samples) == 3


def test_clock_that_goes_back_is_caught():
    clock = FakeClock()
    call = Call("solve", lambda theta: theta, lambda theta: clock.sleep(-1.0), lambda output: None, lambda output: None)
    with pytest.raises(SolverFailure, match="the clock went back by 1000000000 ns during a solve") as caught:
        timed(call, THETA, clock)
    assert caught.value.outcome is Outcome.CRASH


def check_on_a_fake_clock(*, call_ms: float, runs_on_ms: float, read_ms: float) -> None:
    """A call that returns after ``call_ms``, whose computation then runs on, and whose result takes long to bring."""
    clock = FakeClock()
    ends_at = 0

    def run(theta: Any) -> Any:
        nonlocal ends_at
        clock.sleep(call_ms / 1e3)
        ends_at = clock.ns + round(runs_on_ms * 1e6)
        return theta

    def read(output: Any) -> Any:
        clock.sleep(max(0, ends_at - clock.ns) / 1e9 + read_ms / 1e3)
        return output

    call = Call("solve", lambda theta: theta, run, lambda output: None, read)
    loop = Loop()
    loop.fill(call, varied(THETA, 0.0, 1), clock, 99.0, steady_rule(Sampling(0, 5, 0.0, 5, 0.0)))
    check_blocking(call, varied(THETA, 0.0, 2), loop.samples, clock)


@pytest.mark.parametrize(
    ("call_ms", "runs_on_ms", "read_ms"),
    [
        pytest.param(0.01, 30.0, 0.0, id="dispatches and returns"),
        pytest.param(20.0, 2.0, 0.0, id="waits for the most of it"),
        pytest.param(0.02, 0.2, 0.0, id="short and dispatched"),
        pytest.param(0.01, 30.0, 5.0, id="and reads slowly too"),
    ],
)
def test_computation_that_runs_on_is_caught(call_ms: float, runs_on_ms: float, read_ms: float):
    with pytest.raises(SolverFailure, match=r"synchronise\(\) returned before"):
        check_on_a_fake_clock(call_ms=call_ms, runs_on_ms=runs_on_ms, read_ms=read_ms)


@pytest.mark.parametrize(
    ("call_ms", "runs_on_ms", "read_ms"),
    [
        pytest.param(30.0, 0.0, 0.0, id="waits"),
        pytest.param(30.0, 0.0, 10.0, id="waits and reads slowly"),
        pytest.param(0.02, 0.0, 0.2, id="short and read slowly"),
        pytest.param(0.02, 0.04, 0.0, id="too short to tell"),
        pytest.param(30.0, 0.9, 0.0, id="a rest below a millisecond"),
        pytest.param(300.0, 10.0, 0.0, id="a rest below a twentieth of the call"),
    ],
)
def test_computation_that_was_waited_for_passes(call_ms: float, runs_on_ms: float, read_ms: float):
    check_on_a_fake_clock(call_ms=call_ms, runs_on_ms=runs_on_ms, read_ms=read_ms)


def test_reading_that_was_long_by_chance_is_not_taken_for_a_missing_block():
    clock = FakeClock()
    # The five samples, then pairs of a reading at once and a late one: two pairs accuse, the third does not.
    long = iter([True] * 5 + [True, False, True, False, False, False])

    def read(output: Any) -> Any:
        clock.sleep(0.2e-3 if next(long) else 0.01e-3)
        return output

    call = Call("solve", lambda theta: theta, lambda theta: theta, lambda output: None, read)
    loop = Loop()
    loop.fill(call, varied(THETA, 0.0, 1), clock, 99.0, steady_rule(Sampling(0, 5, 0.0, 5, 0.0)))
    check_blocking(call, varied(THETA, 0.0, 2), loop.samples, clock)
    assert next(long, None) is None


def blocking_check(program: type[programs.Decay]) -> None:
    """Sample a program and check that it blocks."""
    task = stub_task()
    call = solve_call(program(task), task, task.points[0])
    clock = Clock()
    loop = Loop()
    loop.fill(call, varied(THETA, 1e-6, 1), clock, 60.0, steady_rule(Sampling(0, 5, 0.0, 5, 0.0)))
    check_blocking(call, varied(THETA, 1e-6, 2), loop.samples, clock)


@pytest.mark.usefixtures("fake_time")
def test_missing_block_is_caught():
    with pytest.raises(SolverFailure, match=r"synchronise\(\) returned before the solve had ended") as caught:
        blocking_check(programs.RunsOn)
    assert caught.value.outcome is Outcome.BUILD_ERROR


@pytest.mark.usefixtures("fake_time")
@pytest.mark.parametrize("program", [programs.Decay, programs.RunsOnAndWaits, programs.ReadsSlowly])
def test_program_that_blocks_passes(program: type[programs.Decay]):
    blocking_check(program)


class Counted:
    """Calls of a fixed length on a fake clock, and what happened in which order."""

    def __init__(self, call_ns: int, fails_at: int = -1):
        self.clock, self.order, self.made = FakeClock(), "", 0
        self.call_ns, self.fails_at = call_ns, fails_at

    def run(self, _inputs: Any) -> int:
        if self.made == self.fails_at:
            raise RuntimeError("broken")
        self.made += 1
        self.order += "c"
        self.clock.ns += self.call_ns
        return self.made

    def note(self, letter: str) -> None:
        self.order += letter
        self.clock.ns += 1000

    def fill(self, steady: int, most: int, steady_s: float = 0.0) -> Loop:
        call = Call("solve", lambda _: self.note("p"), self.run, lambda _: None, lambda _: self.note("r"))
        loop = Loop()
        chosen = Sampling(1, steady, steady_s, most, 0.0)
        rule = steady_rule(chosen)
        try:
            loop.fill(call, iter(lambda: np.zeros(1), None), self.clock, 60.0, rule, batched=chosen)
        except RuntimeError:
            self.order += "!"
        return loop


def test_short_calls_run_in_batches_without_preparing_and_reading_between_them():
    calls = Counted(call_ns=1_000_000)
    loop = calls.fill(steady=9, most=100)
    assert calls.order == "pcr" + "pppp" + "cccc" + "rrrr" + "pppp" + "cccc" + "rrrr"
    assert loop.ns == (1_000_000,) * 9


def test_long_calls_run_one_by_one():
    calls = Counted(call_ns=6_000_000)
    calls.fill(steady=3, most=100)
    assert calls.order == "pcr" * 3


def test_no_batch_goes_past_the_numbers_asked_for():
    assert len(Counted(call_ns=10_000).fill(steady=5, most=100).samples) == 5
    assert len(Counted(call_ns=10_000).fill(steady=5, most=90, steady_s=60.0).samples) == 90


def test_a_call_that_breaks_in_a_batch_leaves_those_before_it():
    calls = Counted(call_ns=1_000_000, fails_at=3)
    loop = calls.fill(steady=9, most=100)
    assert calls.order == "pcr" + "pppp" + "cc" + "rr" + "!"
    assert len(loop.samples) == 3


def test_inputs_are_on_their_way_until_they_are_awaited():
    clock = FakeClock()
    found = preparing_ns(
        call_of(clock, prepare_s=1, run_s=50), lambda _inputs: clock.sleep(2), varied(THETA, 0.0, 1), clock
    )
    assert found == (3_000_000_000,) * 5


def test_a_gradient_has_a_preparation_of_its_own_where_a_program_has_one():
    class Prepares(programs.Decay):
        def prepare_gradient(self, theta: Any, point: Any) -> Any:
            return "for a gradient"

    task = stub_task()
    point = task.points[0]
    for program, expected in ((Prepares(task), "for a gradient"), (programs.Decay(task), (THETA, point.rtol))):
        assert solve_call(program, task, point).prepare(THETA) == (THETA, point.rtol)
        assert gradient_call(program, task, point).prepare(THETA) == expected

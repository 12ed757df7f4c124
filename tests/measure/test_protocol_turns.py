"""Turns in the worker: when the baton is asked for, and that waiting is not measured."""

from __future__ import annotations

import pytest
from stubs.tasks import stub_task

from sciml_bench.host.processes.process import Clock
from sciml_bench.measure import protocol, sampling
from sciml_bench.measure.protocol import Event, PhaseDone, PointDone, Waits, decode, encode
from sciml_bench.measure.turn_token import SharedTurnToken, TurnToken
from sciml_bench.measure.worker import measure
from sciml_bench.record.task import Point, Sampling, Task

pytestmark = pytest.mark.usefixtures("light", "fake_time")


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol.os, "_exit", lambda status: (_ for _ in ()).throw(SystemExit(status)))


class SlowTurns:
    """An engine that takes its time: every turn of others lasts 30 ms."""

    def __init__(self) -> None:
        self.asked = 0

    def readline(self) -> str:
        self.asked += 1
        Clock().sleep(0.03)
        return "go\n"


def sampled_task(calls: int = 40) -> Task:
    loops = Sampling(warm_up_calls=1, steady_calls=calls, steady_s=0.0, max_steady_calls=calls, perturbation=1e-6)
    return stub_task("stubs.turn_programs:TakesAMillisecond", points=(Point(1e-4, 1e-4),), sampling=loops)


def run(task: Task, slice_s: float) -> tuple[list[Event], SlowTurns]:
    events: list[Event] = []
    clock, turns = Clock(), SlowTurns()
    measure(task, events.append, clock, 60.0, SharedTurnToken(clock, events.append, turns.readline, slice_s))
    return events, turns


def test_waiting_is_in_no_sample_and_in_no_phase():
    events, turns = run(sampled_task(), slice_s=0.005)
    assert turns.asked > 10
    waited_ns = turns.asked * 30_000_000
    (point,) = [event.result for event in events if isinstance(event, PointDone) and event.complete]
    assert max(*point.solve.ns, *point.gradient.ns) < 30_000_000
    steady_ns = sum(event.ns for event in events if isinstance(event, PhaseDone) and event.name.startswith("steady"))
    assert sum((*point.solve.ns, *point.gradient.ns)) <= steady_ns < 0.7 * waited_ns


def test_positions_grow_and_a_loop_is_left_by_all_before_the_next_begins():
    events, _ = run(sampled_task(), slice_s=0.005)
    positions = [event.position for event in events if isinstance(event, Waits)]
    assert positions == sorted(positions)
    assert set(positions) == {0, 1, 2, 3}
    assert positions.count(1) == positions.count(3) == 1
    assert positions.count(0) > 3, "a loop of 40 ms in slices of 5 ms"


def test_a_call_longer_than_a_slice_is_a_turn_of_its_own(monkeypatch):
    monkeypatch.setattr(sampling, "_BATCH_S", 0.0)
    events, turns = run(sampled_task(calls=5), slice_s=1e-6)
    assert turns.asked == 2 * (5 + 1)
    assert len([event for event in events if isinstance(event, Waits)]) == turns.asked


def test_alone_nobody_is_asked():
    events: list[Event] = []
    measure(sampled_task(), events.append, Clock(), 60.0)
    assert not [event for event in events if isinstance(event, Waits)]
    TurnToken().wait(0)
    TurnToken().between_calls()


def test_a_worker_ends_when_its_engine_is_gone():
    clock = Clock()
    turn_token = SharedTurnToken(clock, lambda _: None, lambda: "", 0.02)
    with pytest.raises(SystemExit):
        turn_token.wait(0)


def test_the_clock_stands_still_while_it_is_stopped():
    clock = Clock()
    before_ns = clock.now_ns()
    with clock.stopped():
        clock.sleep(0.05)
    assert clock.now_ns() - before_ns < 50_000_000


def test_the_event_travels():
    assert decode(encode(Waits(7))) == Waits(7)

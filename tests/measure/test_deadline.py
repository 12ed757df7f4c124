"""Time limits count the seconds in which a worker's processors were its own."""

from __future__ import annotations

import pytest

from sciml_bench.measure.deadline import MOST_WALL, Deadline, Used, patience_of_this_process, used_now
from sciml_bench.record.outcome import Outcome


class Machine:
    """A processor that the worker has a share of, and others another."""

    def __init__(self, own: float = 1.0, others: float = 0.0, processors: int = 1):
        self.now_s = 100.0
        self.own, self.others = own, others
        self.used = Used(50.0, 10.0)
        self.patience = Deadline(lambda: self.used, processors, lambda: self.now_s)
        self.patience.restart(10.0)
        self.patience.look()

    def pass_s(self, seconds: float) -> None:
        self.now_s += seconds
        own, others = self.own * seconds, self.others * seconds
        self.used = Used(self.used.taken_s + own + others, self.used.own_s + own)

    def wait(self) -> tuple[Outcome, str, float]:
        """Pass the time until the worker is ended: the outcome, how, and after how long."""
        start_s = self.now_s
        for _ in range(1000):
            self.pass_s(self.patience.deadline_s - self.now_s)
            if (found := self.patience.ended()) is not None:
                return *found, self.now_s - start_s
        raise AssertionError("never ended")


def test_a_worker_that_has_its_processor_ends_at_the_limit():
    assert Machine().wait() == (Outcome.TIMEOUT, "ran past 10 s", 10.0)


def test_a_worker_that_sleeps_on_an_idle_machine_ends_at_the_limit():
    assert Machine(own=0.0).wait() == (Outcome.TIMEOUT, "ran past 10 s", 10.0)


def test_what_others_take_does_not_count():
    outcome, how, wall_s = Machine(own=0.5, others=0.5).wait()
    assert (outcome, how) == (Outcome.TIMEOUT, "ran past 10 s")
    assert wall_s == pytest.approx(20.0, abs=0.5)


def test_a_worker_that_is_kept_from_its_processor_is_no_failure_of_its_solver():
    outcome, how, wall_s = Machine(own=0.1, others=0.9).wait()
    assert outcome is Outcome.BUSY_TIMEOUT
    assert wall_s == MOST_WALL * 10
    assert how == "had its processors for 4 s of 40 s, others had them for the rest; the limit is 10 s"


@pytest.mark.parametrize("own", [0.0, 0.02])
def test_a_worker_that_sleeps_beside_a_neighbour_is_owed_nothing(own: float):
    """It has no share of its processor, since it asks for none."""
    assert Machine(own=own, others=1.0 - own).wait() == (Outcome.TIMEOUT, "ran past 10 s", 10.0)


def test_a_worker_of_two_processors_loses_half_when_one_is_taken():
    _, _, wall_s = Machine(own=1.0, others=1.0, processors=2).wait()
    assert wall_s == pytest.approx(20.0, abs=0.5)


def test_threads_of_its_own_are_no_others():
    assert Machine(own=2.0, processors=2).wait()[2] == 10.0


def test_without_processors_of_its_own_the_wall_counts():
    assert Machine(own=0.2, others=5.0, processors=0).wait() == (Outcome.TIMEOUT, "ran past 10 s", 10.0)


def test_a_little_that_others_take_is_not_looked_at():
    assert Machine(own=0.99, others=0.01).wait()[2] == 10.0


def test_a_restart_forgets_what_was_taken_before():
    machine = Machine(own=0.5, others=0.5)
    machine.pass_s(9.0)
    machine.patience.restart(10.0)
    machine.own, machine.others = 1.0, 0.0
    machine.patience.look()
    assert machine.wait() == (Outcome.TIMEOUT, "ran past 10 s", 10.0)


def test_a_stopped_worker_is_no_failure_of_its_solver():
    machine = Machine()
    machine.patience.look(stopped=True)
    for _ in range(8):
        machine.own = 0.0
        machine.pass_s(5.0)
        machine.patience.look(stopped=True)
    outcome, how = machine.patience.ended() or (None, "")
    assert outcome is Outcome.BUSY_TIMEOUT
    assert how == "was stopped for 40 s of 40 s; the limit is 10 s"


def test_a_worker_that_goes_on_has_the_rest_of_its_limit():
    machine = Machine()
    machine.pass_s(4.0)
    machine.patience.look(stopped=True)
    machine.own = 0.0
    machine.pass_s(20.0)
    machine.patience.look()
    machine.own = 1.0
    assert machine.patience.own_s() == pytest.approx(4.0)
    assert machine.patience.ended() is None
    assert machine.wait() == (Outcome.TIMEOUT, "ran past 10 s", pytest.approx(6.0))


def test_the_counters_of_this_machine():
    import os

    first = used_now({0}, (os.getpid(),))
    sum(k * k for k in range(200_000))
    last = used_now({0}, (os.getpid(),))
    assert last.own_s >= first.own_s > 0
    assert last.taken_s >= first.taken_s
    assert used_now(set(), (2**30,)) == Used(0.0, 0.0)
    own = patience_of_this_process(lambda: 0.0)
    own.restart(1.0)
    own.look()
    assert own.wall_s == 0.0

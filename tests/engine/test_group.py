"""Cells measured together in real worker processes: whose turn it is, and what happens when one of them fails."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from stubs.tasks import stub_task

from sciml_bench.engine.group import measure_cell, measure_group
from sciml_bench.engine.limits import Limits
from sciml_bench.host.conditions import Counters
from sciml_bench.measure.protocol import Enter, Event, Waits
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Measurement
from sciml_bench.record.task import Point, Sampling, Task

pytestmark = pytest.mark.usefixtures("stub_path")

PATIENT = Limits(timeout_s=60.0)
ONE_POINT = (Point(1e-4, 1e-4),)
LOOPS = Sampling(warm_up_calls=1, steady_calls=150, steady_s=0.0, max_steady_calls=150, perturbation=1e-6)


def task(program: str = "stubs.turn_programs:TakesAMillisecond", **changes: object) -> Task:
    return stub_task(program, **{"points": ONE_POINT, "sampling": LOOPS, **changes})


def signing(name: str, path: Path) -> Task:
    return task("stubs.turn_programs:SignsCalls", options={"name": name, "path": str(path)})


def outcomes(measurements: list[Measurement]) -> list[Outcome]:
    return [measurement.outcome for measurement in measurements]


def workers() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE]


def test_steady_loops_alternate_in_slices(tmp_path: Path):
    path = tmp_path / "calls"
    measurements = list(measure_group([signing(name, path) for name in "abc"], PATIENT))
    assert outcomes(measurements) == [Outcome.OK] * 3
    turns = [match[0] for match in re.finditer(r"(.)\1*", path.read_text())]
    # The first calls and the warm-up of each go alone; then slices of 20 ms, with a last batch of 5 ms.
    assert [turn[0] for turn in turns[:3]] == ["a", "b", "c"]
    rounds = "".join(turn[0] for turn in turns[3:])
    assert rounds.startswith("abc" * 5)
    assert max(map(len, turns[3:-3])) <= 27


def test_a_group_is_measured_as_its_cells_are_alone():
    alone = measure_cell(task(), PATIENT)
    first, second = measure_group([task(), task()], PATIENT)
    for together in (first, second):
        assert set(together.phases_ns) == set(alone.phases_ns)
        assert 0 < sum(together.phases_ns.values()) < (together.wall_s - together.waited_s) * 1e9
        assert len(together.points[0].solve.ns) == len(alone.points[0].solve.ns) == 150
    # It waited at least for the calls of the other, of a millisecond each, but for those of the last slice.
    assert first.waited_s > 0.1
    assert alone.waited_s == 0


def test_measurements_come_in_order_also_when_a_later_one_ends_first():
    group = [task(), task("CrashesAtOnce"), task("good")]
    assert outcomes(list(measure_group(group, PATIENT))) == [Outcome.OK, Outcome.CRASH, Outcome.OK]


def test_partners_are_not_others():
    """What a worker's living partners compute is no disturbance of it."""
    script = (
        "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass\nprint(); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-S", "-c", script], stdout=subprocess.PIPE) as partner:
        assert partner.stdout is not None
        partner.stdout.readline()
        alone, together = Counters.now(set()), Counters.now(set(), [partner.pid])
        partner.kill()
    assert together.worker_s - alone.worker_s > 0.25
    assert together.own_s - alone.own_s > 0.25
    gone = Counters.now(set(), [partner.pid])
    assert gone.worker_s - alone.worker_s > 0.25, "it is among the children that have ended"


def test_one_that_hangs_in_its_turn_is_ended_and_the_others_go_on():
    done = list(measure_group([task(), task("stubs.turn_programs:HangsInSteadyLoop"), task()], Limits(timeout_s=5.0)))
    assert outcomes(done) == [Outcome.OK, Outcome.TIMEOUT, Outcome.OK]
    assert "steady_solve" in done[1].message


def test_one_that_dies_while_it_waits_is_a_crash_of_its_own():
    seen: list[psutil.Process] = []

    def kill_the_waiting_one(index: int, _event: Event) -> None:
        if index == 1 and not seen:
            seen.append(workers()[0])
            seen[0].kill()

    done = list(measure_group([task(), task()], PATIENT, on_event=kill_the_waiting_one))
    assert outcomes(done) == [Outcome.CRASH, Outcome.OK]
    assert "died with SIGKILL" in done[0].message


def test_a_framework_that_takes_standard_input_does_not_take_the_turns():
    assert (
        outcomes(list(measure_group([task("stubs.turn_programs:TakesStandardInput"), task()], PATIENT)))
        == [Outcome.OK] * 2
    )


def test_closing_ends_every_worker():
    group = measure_group([task("CrashesAtOnce"), task(), task()], PATIENT)
    assert next(group).outcome is Outcome.CRASH
    group.close()
    assert workers() == []


def test_an_interrupt_ends_every_worker():
    def interrupt(index: int, _event: Event) -> None:
        if index == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(measure_group([task(), task(), task()], PATIENT, on_event=interrupt))
    assert workers() == []


def test_events_name_the_member_and_waiting_is_not_told():
    events: list[tuple[int, Event]] = []
    list(measure_group([task(), task()], PATIENT, on_event=lambda index, event: events.append((index, event))))
    assert {index for index, event in events if event == Enter("first_gradient", 0)} == {0, 1}
    assert not [event for _, event in events if isinstance(event, Waits)]


def test_energy_needs_whole_loops(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sciml_bench.engine.group.measures_energy", lambda _task: True)
    assert [measurement.waited_s for measurement in measure_group([task(), task()], PATIENT)] == [0.0, 0.0]


def test_a_worker_that_waits_out_of_order_is_a_crash():
    script = (
        "import sys; sys.stdin.readline()\n"
        'for position in (4, 2): print(\'{"event":"waits","position":%d}\' % position, flush=True);'
        " sys.stdin.readline()\n"
    )
    done = list(measure_group([task(), task()], PATIENT, command=[sys.executable, "-S", "-c", script]))
    assert outcomes(done) == [Outcome.CRASH] * 2
    assert "is waiting out of turn" in done[0].message

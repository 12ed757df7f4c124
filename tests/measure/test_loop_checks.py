"""Adapters that lie about their timed calls, and honest ones that look like them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from stubs import liars
from stubs.tasks import stub_task

from sciml_bench.host.processes.process import Clock
from sciml_bench.measure import loop_checks
from sciml_bench.measure.protocol import Event, PointDone, decode, encode
from sciml_bench.measure.worker import measure
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import PointResult
from sciml_bench.record.task import Point, Sampling

pytestmark = pytest.mark.usefixtures("fake_time")


@pytest.fixture(autouse=True)
def without_profile() -> Iterator[None]:
    """Remove the profiler that a program may have set."""
    before = sys.getprofile()
    yield
    sys.setprofile(before)


def point_of(program: str, **changes: Any) -> PointResult:
    """The one point of a program of :mod:`stubs.liars`."""
    events: list[Event] = []
    sampling = Sampling(warm_up_calls=1, steady_calls=12, steady_s=0.0, max_steady_calls=50, perturbation=1e-6)
    task = stub_task(f"stubs.liars:{program}", **{"points": (Point(1e-6, 1e-6),), "sampling": sampling} | changes)
    measure(task, lambda event: events.append(decode(encode(event))), Clock(), 60.0)
    return [event.result for event in events if isinstance(event, PointDone) and event.complete][-1]


FAR = "times as long for an input that the program has never seen as the timed ones"


@pytest.mark.parametrize(
    ("program", "evidence"),
    [
        ("RemembersWhatIsClose", "returned the same output to the last digit, and one 3% away returns another"),
        ("RemembersThePoint", "and so does one 3% away, where the loss is another by"),
        ("RemembersAndShakes", FAR),
        ("ShakesByInput", FAR),
        ("Extrapolates", FAR),
        ("LooseAfterFirst", "timed solves returned outputs that differ from the scored one by 0.0(1|099)"),
        ("TightForTheScored", "timed solves returned outputs that differ from the scored one by 0.0(1|099)"),
        ("TwentyTolerancesLoose", "timed solves returned outputs that differ from the scored one by 2e-05"),
        # Near the limit of the first of these checks, which is a multiple of changes that are drawn.
        ("ALittleLoose", "returned (another output than the same solve after|outputs that differ from the scored one)"),
        ("UsesTwoProcessors", "timed solves used 2 processors, and 1 is planned: threads left the planned ones"),
        ("SolvesWhilePreparing", "a solve takes 0.001 ms, and preparing its inputs"),
        ("PreparesTheTightest", "a solve takes 0.001 ms, and preparing its inputs"),
        ("WorksInNextPrepare", "a solve takes 0.001 ms, and preparing the next inputs"),
        ("WorksInReading", "a solve takes 0.001 ms, and reading its output"),
        ("WorksBetweenCalls", "a solve takes 0.001 ms, and work between two calls 6 ms"),
        ("TakesAnotherProcessor", "timed solves used 2 processors, and 1 is planned: threads left the planned ones"),
    ],
)
def test_a_lie_is_invalid_and_has_its_evidence(program: str, evidence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # As a worker, which is pinned, and as after a loop of many calls.
    monkeypatch.setattr(liars, "processors", {0})
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: liars.processors, raising=False)
    monkeypatch.setattr(loop_checks, "_CHEAP_SHARE", 1.0)
    point = point_of(program)
    assert point.solve.outcome is Outcome.INVALID
    assert re.search(evidence, point.message)


def test_without_a_reference_the_scored_input_may_be_a_special_one() -> None:
    # An honest solver may rest exactly there, and step everywhere else.
    assert point_of("TwentyTolerancesLoose", reference=None).solve.outcome is Outcome.OK


@pytest.mark.parametrize("program", ["ALittleLoose"])
def test_of_long_calls_one_check_is_drawn(program: str) -> None:
    # So that checks take no time from long calls, and no adapter knows which one comes.
    outcomes = [point_of(program).solve.outcome for _ in range(60)]
    assert 5 < outcomes.count(Outcome.INVALID) <= 60


HONEST = [
    "Works", "UsesOneProcessor", "PreparesSlowly", "SumsInAnyOrder", "RestsAtItsTheta", "ReadsIntoOneArray",
    "FailsFarAway", "PanicsFarAway",
]  # fmt: skip


@pytest.mark.parametrize("program", HONEST)
def test_honest_programs_pass(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0}, raising=False)
    monkeypatch.setattr(loop_checks, "_CHEAP_SHARE", 1.0)
    assert {half.outcome for half in point_of(program).halves.values()} == {Outcome.OK}


def test_a_lie_about_a_gradient_stays_one_where_only_differences_judge_it() -> None:
    assert point_of("Works", reference=None).gradient.outcome is Outcome.OK
    assert point_of("WorksInReading", reference=None).gradient.outcome is Outcome.INVALID


def test_one_preparation_and_one_reading_that_are_held_up_are_no_lie() -> None:
    once = Sampling(warm_up_calls=1, steady_calls=1, steady_s=0.0, max_steady_calls=1, perturbation=1e-6)
    point = point_of("IsHeldUpOnce", sampling=once)
    assert (point.solve.outcome, point.message) == (Outcome.OK, "")
    assert point.solve.prepare_ns == pytest.approx(1e8, rel=0.01)


def test_a_last_digit_that_differs_now_and_then_is_no_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_checks, "_CHEAP_SHARE", 1.0)
    outcomes = {point_of("RoundsInAnyWay", reference=None).solve.outcome for _ in range(30)}
    assert Outcome.INVALID not in outcomes


def test_a_looser_solver_that_reads_into_one_array_is_invalid(monkeypatch: pytest.MonkeyPatch) -> None:
    assert point_of("LooseIntoOneArray").solve.outcome is Outcome.INVALID


def test_the_memory_of_a_call_is_that_of_a_timed_one(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[int] = []

    def first(call: Any) -> int:
        call()
        measured.append(len(measured))
        return 7

    monkeypatch.setattr(loop_checks, "working_bytes", first)
    monkeypatch.setattr(loop_checks, "_CHEAP_SHARE", 1.0)
    assert point_of("FailsFarAway").solve.working_bytes == 7


def test_calls_that_differ_every_time_are_not_invalid_by_chance() -> None:
    assert Outcome.INVALID not in {point_of("SumsInAnyOrder").solve.outcome for _ in range(60)}


def test_processors_are_not_counted_where_nothing_is_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1}, raising=False)
    assert point_of("UsesTwoProcessors").solve.outcome is Outcome.OK


@pytest.mark.parametrize("program", ["DependsOnNothing", "DependsOnNothingAndPanics"])
def test_a_solution_without_its_parameters_passes_where_nothing_says_that_it_has_them(program: str) -> None:
    point = point_of(program, reference=None)
    assert {half.outcome for half in point.halves.values()} <= {Outcome.OK, Outcome.UNCHECKED}


def test_the_time_of_preparing_is_told() -> None:
    assert point_of("PreparesSlowly").solve.prepare_ns == pytest.approx(5e6, rel=0.01)

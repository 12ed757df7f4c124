"""A ladder of tolerances ends at the first point that is accurate enough, and not before."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from stubs.clock import FakeClock
from stubs.tasks import reference, stub_task

from sciml_bench.measure.enough import is_enough
from sciml_bench.measure.protocol import End, Event, PointDone, decode, encode
from sciml_bench.measure.worker import measure
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import GradientResult, PointResult, SolveResult
from sciml_bench.record.task import GRADIENT, SOLVE


def points(*errors: float | None, rtol: float = 1e-5, factor: float = 10.0) -> list[PointResult]:
    """Points of tolerances that fall by a factor; an error of ``None`` is a failure."""
    return [
        PointResult(
            rtol=rtol / factor**place,
            atol=rtol / factor**place,
            outcome=Outcome.OK if error is not None else Outcome.INACCURATE,
            solve=SolveResult(outcome=Outcome.OK, scores={"trajectory_error": error}),
            gradient=GradientResult(
                outcome=Outcome.OK if error is not None else Outcome.INACCURATE, scores={"error": error or 1.0}
            ),
        )
        for place, error in enumerate(errors)
    ]


@pytest.mark.parametrize(
    ("errors", "enough"),
    [
        ((1e-3,), False),
        ((1e-3, 1e-6), True),
        ((None,), False),
        # 1e-9 is a thousandth of the requested 1e-6: what has not got there still gets better by a digit.
        ((1e-1, 1e-2, 1e-3, 1e-4, 1e-5), False),
        ((1e-1, 1e-2, 1e-3, 1e-4, 0.9e-4), True),
        ((1e-1, 1e-2, 1e-3, 1e-4, None), True),
        # Before that, an error that does not fall may be chance.
        ((1e-2, 1e-2), False),
    ],
)
def test_tightening_ends_when_it_is_enough_or_hopeless(errors: tuple[float | None, ...], enough: bool):
    assert is_enough(points(*errors), GRADIENT, 6.0) is enough


def test_calls_that_take_too_long_are_enough():
    (point,) = points(1e-1)
    assert is_enough([dataclasses.replace(point, outcome=Outcome.SLOW)], GRADIENT, 6.0)


def test_each_call_has_its_own_error():
    (point,) = points(1e-3)
    exact = dataclasses.replace(point, solve=dataclasses.replace(point.solve, scores={"trajectory_error": 0.0}))
    assert is_enough([exact], SOLVE, 6.0)
    assert not is_enough([exact], GRADIENT, 6.0)


def events_of(**changes: Any) -> list[Event]:
    events: list[Event] = []
    measure(stub_task(**changes), lambda event: events.append(decode(encode(event))), FakeClock(1000), 60.0)
    return events


def measured(events: list[Event]) -> list[int]:
    return [event.index for event in events if isinstance(event, PointDone) and event.complete]


def test_a_worker_leaves_out_the_points_after_an_accurate_one():
    events = events_of(enough_digits=6.0)
    assert measured(events) == [0, 1]
    assert isinstance(events[-1], End)
    # With three digits in the reference no error can be seen to be small enough: the ladder goes to its end.
    assert measured(events_of(enough_digits=6.0, reference=reference(digits=3.0))) == [0, 1, 2]
    assert measured(events_of()) == [0, 1, 2]


def test_a_worker_ends_where_a_call_takes_far_too_long():
    """The clock moves on by 1 µs at each look: a call takes that long."""
    events = events_of(enough_digits=6.0, most_call_s=0.5e-6)
    last = [event for event in events if isinstance(event, PointDone)][-1]
    assert (last.index, last.result.outcome) == (0, Outcome.SLOW)
    assert last.result.message == "a solve takes 1e-06 s, more than 5e-07 s"
    assert last.result.gradient.scores is not None
    assert measured(events_of(enough_digits=6.0, most_call_s=2e-6)) == [0, 1]

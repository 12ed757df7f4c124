"""Lines between worker and engine, and how a point ends that its worker did not finish."""

from __future__ import annotations

import dataclasses
import json

import pytest
from stubs.tasks import stub_task

from sciml_bench.measure.protocol import End, Enter, Event, PhaseDone, PointDone, ProtocolError, Ready, decode, encode
from sciml_bench.record import codec
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import GradientResult, PointResult, SolveResult
from sciml_bench.record.process import WorkerInfo
from sciml_bench.record.task import Point

FACTS = WorkerInfo(peak_rss_bytes=12, threads={"affinity": "0"}, versions={"python": "3.11"})

POINT = PointResult(
    1e-4,
    1e-6,
    Outcome.INACCURATE,
    "first_solve",
    "far off",
    solve=SolveResult(
        Outcome.INACCURATE,
        ns=(1, 2, 3),
        scores={"scd": 0.5, "mescd": None, "trajectory_error": 0.2, "below_reference": False},
    ),
    gradient=GradientResult(Outcome.OK, values=(1.0, None)),
)


@pytest.mark.parametrize(
    "event",
    [
        Ready(17),
        Enter("import"),
        Enter("steady_solve", 2),
        PhaseDone("build", 5, 6),
        PhaseDone("solve", 5, 6, 1),
        PhaseDone("first_gradient", 5, 60, 0, {"gradient_trace": 20}),
        PointDone(0, POINT, complete=True),
        End(Outcome.BUILD_ERROR, "build", "no", FACTS),
        End(
            Outcome.OK,
            worker=dataclasses.replace(FACTS, compile_cache_hits=3),
            energy={"joules": 3.5, "loops": [{"point": 0}]},
        ),
    ],
)
def test_events_survive_their_line(event: Event):
    line = encode(event)
    assert "\n" not in line
    assert decode(line) == event


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Hello from a framework",
        "[]",
        "{}",
        "3",
        '{"event":"nonsense"}',
        '{"event":"enter"}',
        '{"event":"phase","name":"build","start_ns":"soon","ns":1}',
        '{"event":"phase","name":"build","start_ns":1,"ns":1,"inside":["trace"]}',
        '{"event":"point","index":0,"result":{},"complete":true}',
        '{"event":"point","index":0,"result":[],"complete":true}',
        '{"event":"end","outcome":"wonderful"}',
        '{"event":"end","outcome":"ok","energy":{"joules":NaN}}',
        '{"event":"phase","name":"build","start_ns":1.5,"ns":1}',
        '{"event":"end","outcome":"ok"',
        "[" * 100_000,
    ],
)
def test_garbage_is_refused(line: str):
    with pytest.raises(ProtocolError, match="not a line of the worker protocol"):
        decode(line)


def test_unfinished_point_keeps_what_was_finished():
    partial = PointResult(1e-4, 1e-4, Outcome.OK, solve=SolveResult(Outcome.OK, ns=(1, 2)))
    ended = partial.ended_by(Outcome.TIMEOUT, "steady_gradient", "too long")
    assert (ended.outcome, ended.phase, ended.message) == (Outcome.TIMEOUT, "steady_gradient", "too long")
    assert (ended.solve.outcome, ended.gradient.outcome) == (Outcome.OK, Outcome.TIMEOUT)
    assert ended.solve.ns == (1, 2)


def test_unfinished_point_with_a_failed_solve_keeps_that_failure():
    partial = PointResult(1e-4, 1e-4, Outcome.MAX_STEPS, "first_solve", "many", solve=SolveResult(Outcome.MAX_STEPS))
    ended = partial.ended_by(Outcome.CRASH, "steady_gradient", "died")
    assert (ended.outcome, ended.phase, ended.message) == (Outcome.MAX_STEPS, "first_solve", "many")
    assert ended.gradient.outcome is Outcome.CRASH


def test_unfinished_point_with_a_failed_gradient_is_ended_by_its_solve():
    gradient = GradientResult(Outcome.NONFINITE)
    partial = PointResult(1e-4, 1e-4, Outcome.NONFINITE, "first_gradient", "nan", gradient=gradient)
    ended = partial.ended_by(Outcome.TIMEOUT, "steady_solve", "too long")
    assert (ended.outcome, ended.phase, ended.message) == (Outcome.TIMEOUT, "steady_solve", "too long")
    assert ended.gradient.outcome is Outcome.NONFINITE


def test_a_call_that_was_not_asked_for_has_no_say_in_how_a_point_ended():
    gradient = GradientResult(Outcome.INACCURATE)
    partial = PointResult(1e-3, 1e-3, Outcome.INACCURATE, "first_gradient", "off", gradient=gradient)
    ended = partial.ended_by(Outcome.TIMEOUT, "steady_gradient", "too long", calls=("gradient",))
    assert (ended.outcome, ended.phase, ended.message) == (Outcome.INACCURATE, "first_gradient", "off")
    ended = PointResult(1e-3, 1e-3, Outcome.OK).ended_by(Outcome.TIMEOUT, "first_gradient", "long", calls=("gradient",))
    assert (ended.outcome, ended.message) == (Outcome.TIMEOUT, "long")


def test_point_of_which_nothing_was_measured():
    point = PointResult.failed(Point(1e-4, 1e-6), Outcome.TIMEOUT, "build", "too long")
    assert (point.rtol, point.atol) == (1e-4, 1e-6)
    assert (point.outcome, point.solve.outcome, point.gradient.outcome) == (Outcome.TIMEOUT,) * 3


def test_point_from_a_newer_version_loses_only_what_is_unknown():
    assert codec.decode(PointResult, codec.encode(POINT) | {"energy_joules": 3}) == POINT


@pytest.mark.parametrize(
    "steady",
    [
        {"class": "wonderful", "start": 0, "changepoints": []},
        {"class": "flat", "start": -1, "changepoints": []},
        {"class": "flat", "start": "0", "changepoints": []},
        {"class": "flat"},
        "flat",
    ],
)
def test_steady_state_that_is_none_is_refused(steady: object):
    line = encode(PointDone(0, POINT, complete=True))
    assert '"steady":null' in line
    with pytest.raises(ProtocolError):
        decode(line.replace('"steady":null', f'"steady":{json.dumps(steady)}'))


def test_task_survives_its_line():
    task = stub_task()
    assert type(task).from_json(task.to_json()) == task


def test_a_point_behind_a_bridge_survives_the_pipe_and_tells_what_the_bridge_costs():
    inside = {"ns": (8, 9, 19), "gc_ns": (0, 0, 0), "compile_ns": (0, 0, 0), "allocated_bytes": (64, 64, 64)}
    solve, gradient = SolveResult(ns=(10, 12, 20), inside=inside), GradientResult(ns=(5,))
    point = PointResult(1e-4, 1e-4, Outcome.OK, solve=solve, gradient=gradient)
    again = codec.decode(PointResult, json.loads(json.dumps(codec.encode(point))))
    assert again == point
    assert again.solve.bridge_ns == 2
    assert again.gradient.bridge_ns is None

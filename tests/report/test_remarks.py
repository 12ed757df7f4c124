"""Sentences about a run as a whole."""

from __future__ import annotations

import dataclasses

from stubs.reported import cell, plan, point, record

from sciml_bench.report import remarks
from sciml_bench.report.summary import summarise


def test_disturbed_processes_and_loops_that_never_settled_are_told():
    never = {"class": "none", "start": 0, "changepoints": []}
    points = [dataclasses.replace(point(1e-4), gradient_steady=never), point(1e-8)]
    which = cell()
    records = [
        record(which, points, block=0, noisy=("other_load: something else ran", "stolen: time was stolen")),
        record(which, points, block=0, noisy=("other_load: something else ran",), attempt=1),
        record(which, [point(1e-4), point(1e-8)], block=1),
    ]
    assert list(remarks.doubts(summarise(plan([which]), records))) == [
        "",
        "disturbed: 1 of 2 processes (other_load 1); see `sciml-bench doctor`",
        "measured again after a disturbance: 1 of 2 processes; the second attempt counts",
        "never settled: 1 of 4 points; all their calls count",
    ]


def test_nothing_is_said_of_a_quiet_run():
    which = cell()
    assert list(remarks.doubts(summarise(plan([which]), [record(which, [point(1e-4)])]))) == []

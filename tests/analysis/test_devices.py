"""The same way on two devices: whether a GPU does the processor's work."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from stubs.reported import cell, plan, point, record, summarise

from sciml_bench.analysis.devices import moved, sentences
from sciml_bench.analysis.summary import RunSummary
from sciml_bench.analysis.tables.footnotes import doubts
from sciml_bench.record.task import Cell

CPU = cell("tsit5")
GPU = dataclasses.replace(CPU, device="gpu")


def ran(which: Cell, *counts: dict[str, float], block: int = 0) -> Any:
    """A process whose solver counted this at 1e-4, 1e-5, …"""
    points = [point(10.0 ** -(4 + i), solve={"statistics": found}) for i, found in enumerate(counts)]
    return record(which, points, block=block)


def run(*records: Any) -> RunSummary:
    return summarise(plan(list(dict.fromkeys(item.cell for item in records))), list(records))


def test_steps_of_the_slowest_that_all_trajectories_take_are_seen():
    summary = run(ran(CPU, {"n_steps": 14, "n_accepted": 12}), ran(GPU, {"n_steps": 162, "n_accepted": 150}))
    (way,) = moved(summary)
    assert way.other == ((1e-4, "accepted steps", 150.0, 12.0),)
    said = list(doubts(summary))
    assert any("does other work than on the processor: 150 accepted steps for 12 at rtol 1e-4" in line for line in said)


@pytest.mark.parametrize(("count", "expected"), [(300, 300), (301, 300), (305, 300), (15, 14)])
def test_a_step_that_rounding_decides_is_no_other_work(count: int, expected: int):
    summary = run(ran(CPU, {"n_steps": expected}), ran(GPU, {"n_steps": count}))
    assert list(sentences(summary)) == ["on the gpu 1 of 1 ways take as many steps as on the processor"]


def test_every_tolerance_is_looked_at():
    summary = run(ran(CPU, {"n_steps": 100}, {"n_steps": 200}), ran(GPU, {"n_steps": 100}, {"n_steps": 260}))
    (way,) = moved(summary)
    assert (way.points, [rtol for rtol, *_ in way.other]) == (2, [pytest.approx(1e-5)])


def test_ways_without_counts_or_without_a_partner_say_nothing():
    assert list(moved(run(ran(CPU, {}), ran(GPU, {})))) == []
    assert list(moved(run(ran(GPU, {"n_steps": 5})))) == []
    assert list(moved(run(ran(CPU, {"n_steps": 5})))) == []
    # Another precision is another way.
    other = dataclasses.replace(GPU, precision="float32")
    assert list(moved(run(ran(CPU, {"n_steps": 5}), ran(other, {"n_steps": 9})))) == []


def test_a_process_without_counts_does_not_hide_those_of_another():
    failed, told = ran(GPU, {}, block=0), ran(GPU, {"n_steps": 900}, block=1)
    (way,) = moved(run(ran(CPU, {"n_steps": 100}), failed, told))
    assert way.other

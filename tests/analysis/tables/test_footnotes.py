"""Sentences about a run as a whole."""

from __future__ import annotations

from pathlib import Path

from stubs.reported import cell, plan, point, record, summarise

from sciml_bench.analysis.tables import footnotes
from sciml_bench.record.process import COMPILED, REPLACED


def test_disturbed_processes_and_loops_that_never_settled_are_told():
    never = {"class": "none", "start": 0, "changepoints": []}
    points = [point(1e-4, gradient={"steady": never}), point(1e-8)]
    which = cell()
    records = [
        record(which, points, block=0, noisy=("other_load: something else ran", "stolen: time was stolen")),
        record(which, points, block=0, noisy=("other_load: something else ran",), attempt=1),
        record(which, [point(1e-4), point(1e-8)], block=1),
    ]
    assert list(footnotes.doubts(summarise(plan([which]), records))) == [
        "",
        "disturbed: 1 of 2 processes (other_load 1); see `sciml-bench doctor`",
        "measured again after a disturbance: 1 of 2 processes; the second attempt counts",
        "never settled: 1 of 4 points; all their calls count",
    ]


def test_nothing_is_said_of_a_quiet_run():
    which = cell()
    assert list(footnotes.doubts(summarise(plan([which]), [record(which, [point(1e-4)])]))) == []


def test_that_cells_did_not_take_turns_for_the_sake_of_energy_is_said():
    which = cell()
    loop = {"point": 0, "kind": "solve", "joules": 300.0, "window_s": 6.0, "calls": 500}
    measured = record(which, [point(1e-4)], energy={"joules": 300.0, "window_s": 6.0, "loops": [loop]})
    said = list(footnotes.doubts(summarise(plan([which]), [measured])))
    assert said == ["", footnotes.ONE_BY_ONE]


def test_the_cost_of_a_bridge_is_told_in_one_line():
    ours, other = cell("tsit5", "julia"), cell()
    inside = {"ns": (999_000, 998_000, 997_000), "gc_ns": (0, 0, 0), "compile_ns": (0, 0, 0)}
    across = point(1e-4, solve={"inside": inside})
    records = [record(ours, [across]), record(other, [point(1e-4)])]
    empty, told = footnotes.bridges(summarise(plan([ours, other]), records))
    assert empty == ""
    assert told == "the bridge to julia costs 2.00 µs a solve: a call's time less the time inside, medians"


def test_without_a_bridge_nothing_is_told():
    assert list(footnotes.bridges(summarise(plan([cell()]), [record(cell(), [point(1e-4)])]))) == []


def test_packages_that_were_compiled_and_libraries_that_were_replaced_are_named():
    which = cell("rodas5p", "julia")
    compiled = {"compiled_in_worker": "Zygote, SciMLSensitivity"}
    replaced = {"replaced_libraries": "A, B, C, D, E, F, G"}
    records = [
        record(which, [point(1e-4)], block=0, versions={**compiled, **replaced}),
        record(which, [point(1e-4)], block=1, versions=replaced),
    ]
    assert list(footnotes.doubts(summarise(plan([which]), records))) == [
        "",
        "julia: 1 of 2 processes compiled packages before their first call (SciMLSensitivity, Zygote), which counts in "
        "its time",
        "julia: on this machine the libraries of A, B, C, D, E and 2 more are not the registry's, so their versions do "
        "not say which ran",
    ]


def test_the_names_under_which_julia_reports_packages():
    source = (Path(__file__).parents[3] / "julia_env" / "src" / "versions.jl").read_text(encoding="utf-8")
    assert f'"{REPLACED}" =>' in source
    assert f'"{COMPILED}" =>' in source

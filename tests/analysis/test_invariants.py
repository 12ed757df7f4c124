"""How drift is told."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path

from stubs.points import changed
from stubs.reported import cell, plan, point, record, summarise

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.drifts import document, drift_lines
from sciml_bench.record.codec import decode, encode
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import PointResult
from sciml_bench.render.document import run_document
from sciml_bench.render.terminal import console_for, print_run


def kept(rtol: float, drift: float | None, **changes) -> PointResult:
    return point(rtol, solve={"invariants": {"energy": {"initial": 0.125, "drift": drift}}}, **changes)


def cells(*of_cells):
    return summarise(plan([which for which, _ in of_cells]), [record(*one) for one in of_cells]).of_problem("robertson")


def test_each_method_has_a_line_with_all_tolerances():
    told = list(drift_lines(cells((cell(), [kept(1e-4, 2e-3), kept(1e-8, 3e-7)]), (cell("tsit5"), [kept(1e-4, 0.5)]))))
    assert told == [
        "",
        "the exact solution keeps energy, 0.125 at t0; largest change in a solve over the saved times",
        "  diffrax kvaerno5 jit: 2.0e-03 at rtol 1e-4, 3.0e-07 at rtol 1e-8",
        "  diffrax tsit5 jit: 5.0e-01 at rtol 1e-4",
    ]


def test_kinds_of_gradients_that_share_a_solve_share_a_line():
    other = dataclasses.replace(cell(), sensitivity="backsolve")
    found = document(cells((cell(), [kept(1e-4, 2e-3)]), (other, [kept(1e-4, 2e-3)])))
    assert [(one["method"], one["drifts"]) for one in found] == [("kvaerno5", [{"rtol": 1e-4, "drift": 2e-3}])]


def test_solves_that_failed_are_not_told():
    wrong = changed(kept(1e-8, 1.0), solve={"outcome": Outcome.INACCURATE})
    assert list(drift_lines(cells((cell(), [wrong])))) == []
    assert list(drift_lines(cells((cell(), [kept(1e-8, None)])))) == []
    assert list(drift_lines(cells((cell(), [point(1e-8)])))) == []


def test_a_record_keeps_them():
    result = kept(1e-4, 2e-3)
    assert decode(PointResult, encode(result)).solve.invariants == {"energy": {"initial": 0.125, "drift": 2e-3}}
    assert encode(point(1e-4))["solve"]["invariants"] is None


def test_the_terminal_and_the_document_have_them():
    made = summarise(plan([cell()]), [record(cell(), [kept(1e-4, 2e-3)])])
    stream = io.StringIO()
    print_run(Analysis(made, Path("results/x")), console_for(stream))
    assert "  diffrax kvaerno5 jit: 2.0e-03 at rtol 1e-4" in stream.getvalue().splitlines()
    (problem,) = run_document(Analysis(made, Path("results/x")))["problems"]
    assert problem["invariants"][0]["drifts"] == [{"rtol": 1e-4, "drift": 2e-3}]

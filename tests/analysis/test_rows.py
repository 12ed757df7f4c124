"""Rows at equal achieved accuracy."""

from __future__ import annotations

import dataclasses

import pytest
from stubs.points import changed
from stubs.reported import cell, plan, point, record, summarise

from sciml_bench.analysis.rows import Time, compare
from sciml_bench.record.outcome import Outcome
from sciml_bench.stats.spread import Spread


def compared(*records, cells=None):
    which = list(cells or dict.fromkeys(item.cell for item in records))
    summary = summarise(plan(which), records)
    return compare("robertson", summary.of_problem("robertson"))


def spread_of(time: Time) -> Spread:
    assert time.seconds is not None, time.reason
    return time.seconds


def ladder(**changes):
    return [
        point(1e-4, solve_ms=1, gradient_ms=2, mescd=4.0, gradient_error=1e-3, **changes),
        point(1e-8, solve_ms=100, gradient_ms=200, mescd=8.0, gradient_error=1e-7, **changes),
    ]


def test_times_are_interpolated_at_a_common_accuracy():
    slow = [
        point(1e-4, solve_ms=10, gradient_ms=20, mescd=2.0, gradient_error=1e-2),
        point(1e-8, solve_ms=1000, gradient_ms=2000, mescd=6.0, gradient_error=1e-5),
    ]
    comparison = compared(record(cell(), ladder()), record(cell("tsit5"), slow))
    assert comparison.solve_target.digits == 6.0
    fast, other = comparison.rows
    assert spread_of(fast.solve).median == pytest.approx(10e-3)
    assert spread_of(other.solve).median == pytest.approx(1.0)
    assert comparison.gradient_target.digits == 5.0


def test_the_process_is_the_unit():
    records = [
        record(cell(), ladder(), block=block)
        if block
        else record(cell(), [changed(p, solve={"ns": (10**9,) * 500}) for p in ladder()], block=block)
        for block in range(3)
    ]
    row = compared(*records).rows[0]
    assert spread_of(row.solve).processes == 3
    assert spread_of(row.solve).median < 0.2


def test_a_cell_that_never_reaches_the_target_has_a_reason_and_no_number():
    poor = [point(1e-4, mescd=2.0), point(1e-8, mescd=3.0)]
    others = [record(cell(str(k)), ladder()) for k in range(2)]
    row = compared(*others, record(cell("poor"), poor)).rows[-1]
    assert row.solve.seconds is None
    assert "only 3.0 digits" in row.solve.reason


def test_the_times_of_an_inaccurate_point_are_not_shown():
    """Correctness before speed: no time for what misses its error bound."""
    wrong = point(1e-4, solve_ms=0.001, mescd=9.0, solve={"outcome": Outcome.INACCURATE})
    row = compared(record(cell(), [dataclasses.replace(wrong, outcome=Outcome.INACCURATE), *ladder()])).rows[0]
    assert spread_of(row.solve).median > 1e-3
    assert row.scd == 7.0


def test_errors_below_the_references_own_are_no_errors():
    points = [*ladder(), point(1e-12, solve_ms=5000, mescd=12.0, gradient_error=1e-12, below_reference=True)]
    row = compared(record(cell(), points)).rows[0]
    assert row.scd == 11.0
    assert row.solve_capped
    assert row.gradient_capped
    assert spread_of(row.solve).median == pytest.approx(0.1)


def test_without_a_reference_tolerances_are_equal_instead():
    points = [point(1e-4, mescd=None, gradient_error=None), point(1e-8, solve_ms=7, mescd=None, gradient_error=None)]
    comparison = compared(record(cell(), points))
    assert comparison.solve_target.digits is None
    assert comparison.solve_target.rtol == 1e-8
    assert spread_of(comparison.rows[0].solve).median == pytest.approx(7e-3)


def test_a_gradient_that_failed_leaves_its_solve():
    failed = {"outcome": Outcome.MAX_STEPS, "ns": ()}
    half = changed(point(1e-4), outcome=Outcome.MAX_STEPS, gradient=failed)
    row = compared(record(cell(), [half, point(1e-6, mescd=7.0)])).rows[0]
    assert row.solve.seconds is not None


def test_solves_are_shown_where_every_gradient_failed():
    failed = {"outcome": Outcome.NONFINITE, "ns": (), "scores": None}
    halves = [changed(p, outcome=Outcome.NONFINITE, gradient=failed) for p in ladder()]
    row = compared(record(cell(), halves)).rows[0]
    assert spread_of(row.solve).median > 0
    assert row.gradient.seconds is None
    assert not row.summary.measured
    assert row.mescd == 8.0


def test_cells_that_failed_have_no_row():
    failed = record(cell("stuck"), [point(1e-4, outcome=Outcome.TIMEOUT)])
    assert [row.summary.cell.method for row in compared(record(cell(), ladder()), failed).rows] == ["kvaerno5"]


def test_records_of_unknown_cells_are_left_out():
    stranger = record(cell("stranger"), ladder())
    assert len(compared(record(cell(), ladder()), stranger, cells=[cell()]).rows) == 1


def test_raw_samples_are_not_kept():
    many = [changed(p, solve={"ns": (10**6,) * 100_000}) for p in ladder()]
    summary = summarise(plan([cell()]), [record(cell(), many)])
    kept = summary.of_problem("robertson")[0].processes[0]
    halves = [half for p in kept.points for half in (p.solve, p.gradient)]
    values = [value for part in (*kept.points, *halves) for value in vars(part).values()]
    assert len(values) > 40
    assert not any(value and isinstance(value, tuple) for value in values)


def test_a_process_that_was_measured_again_counts_once_and_the_later_record_counts():
    again = [changed(p, solve={"ns": (5_000_000,) * 3}) for p in ladder()]
    row = compared(record(cell(), ladder()), record(cell(), again)).rows[0]
    assert len(row.summary.processes) == 1
    assert spread_of(row.solve).median == pytest.approx(5e-3)


def test_the_time_to_a_wrong_first_gradient_is_not_shown():
    half = {"outcome": Outcome.INACCURATE, "ns": (1,)}
    wrong = changed(ladder()[0], outcome=Outcome.INACCURATE, gradient=half)
    row = compared(record(cell(), [wrong, ladder()[1]])).rows[0]
    assert row.summary.first_gradient_process is None


def test_a_gradient_that_nothing_checked_has_no_time_and_no_rank():
    """Records of earlier versions call it ok."""
    unscored = [changed(item, gradient={"scores": None}) for item in ladder()]
    fast, checked = record(cell("tsit5"), unscored), record(cell(), ladder())
    comparison = compared(fast, checked)
    rows = {row.summary.cell.method: row for row in comparison.rows}
    assert rows["tsit5"].gradient.seconds is None
    assert rows["tsit5"].solve.seconds is not None
    assert rows["tsit5"].summary.first_gradient_process is None
    assert rows["tsit5"].summary.point_outcomes == {Outcome.UNCHECKED: 2}
    assert rows[cell().method].gradient.seconds is not None


def test_a_gradient_checked_by_differences_is_compared_at_equal_tolerance():
    checked = [point(1e-4, gradient_error=None), point(1e-8, gradient_ms=7.0, gradient_error=None)]
    comparison = compared(record(cell(), checked))
    assert comparison.gradient_target.rtol == 1e-8
    assert spread_of(comparison.rows[0].gradient).median == pytest.approx(7e-3)

"""What the interpolant costs, as a sentence under a table."""

from __future__ import annotations

import dataclasses

import pytest
from stubs.reported import cell, plan, point, record, summarise

from sciml_bench.analysis.explanation.interpolation import interpolation_lines
from sciml_bench.analysis.rows import compare
from sciml_bench.record.task import LANDING

TWIN = cell("kvaerno5")
LANDS = dataclasses.replace(TWIN, saving=LANDING)


def lines(*records):
    summary = summarise(plan(list(dict.fromkeys(item.cell for item in records))), records)
    return list(interpolation_lines(compare("robertson", summary.of_problem("robertson")).rows))


def ladder(factor: float = 1.0, tightest: float = 1e-7):
    loose = point(1e-4, solve_ms=1, gradient_ms=2 * factor, mescd=4.0, gradient_error=1e-3)
    tight = point(1e-8, solve_ms=10, gradient_ms=20 * factor, mescd=8.0, gradient_error=tightest)
    return [loose, tight]


def runs(which, points, blocks=3):
    return [record(which, points, block=block) for block in range(blocks)]


def test_times_with_interpolated_values_stand_over_those_with_landing_steps():
    (line,) = lines(*runs(LANDS, ladder()), *runs(TWIN, ladder(3.0)))
    assert line == (
        f"{TWIN.solver}: interpolating at the saved times, instead of ending steps there, makes a solve take 1.00 "
        "[1.00, 1.00] times as long at equal accuracy and a gradient take 3.00 [3.00, 3.00] times as long at equal "
        "accuracy"
    )


def test_landing_that_loses_is_told_alike():
    (line,) = lines(*runs(LANDS, ladder(3.0)), *runs(TWIN, ladder()))
    assert "a gradient take 0.33 [0.33, 0.33] times as long" in line


def test_one_process_has_no_interval():
    (line,) = lines(*runs(LANDS, ladder(), 1), *runs(TWIN, ladder(3.0), 1))
    assert "a gradient take 3.00 times as long" in line


def test_a_twin_without_a_time_at_that_accuracy_falls_short():
    other = cell("tsit5")
    short = [point(1e-4, gradient_ms=2, gradient_error=1e-1), point(1e-8, gradient_ms=20, gradient_error=1e-2)]
    (line,) = lines(*runs(LANDS, ladder()), *runs(other, ladder()), *runs(TWIN, short))
    assert "a gradient miss the accuracy of the table (" in line


@pytest.mark.parametrize(
    "records", [runs(LANDS, ladder()), runs(TWIN, ladder()), [*runs(LANDS, ladder()), *runs(cell("tsit5"), ladder())]]
)
def test_nothing_is_said_of_a_cell_that_was_measured_one_way(records):
    assert lines(*records) == []

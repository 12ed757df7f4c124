"""The summary: the numbers of the tables, and what follows from them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from stubs import drawn
from stubs.points import changed

from sciml_bench.analysis.advice.break_even import cost
from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.explanation.energy import joules_per_call
from sciml_bench.analysis.rows import compare
from sciml_bench.analysis.training import training_rows
from sciml_bench.export.cells import COLUMNS, cell_rows
from sciml_bench.record.record import Record

NAMES = [column.name for column in COLUMNS]


def table(summary, price=None):
    return [dict(zip(NAMES, row, strict=True)) for row in cell_rows(Analysis(summary, Path("a run")), price)]


@pytest.fixture(scope="module")
def summary():
    return drawn.summary(["robertson"], blocks=6)


@pytest.fixture(scope="module")
def rows(summary):
    return table(summary, 3.6)


def of(rows, adapter, comparison="idiomatic"):
    (found,) = [row for row in rows if (row["adapter"], row["comparison"]) == (adapter, comparison)]
    return found


def test_latency_throughput_error_memory_energy_and_cost_are_in_the_same_row(summary, rows):
    row = of(rows, "diffrax")
    of_problem = compare("robertson", summary.of_problem("robertson")).rows
    expected = next(r for r in of_problem if r.summary.division == "idiomatic" and r.summary.cell.adapter == "diffrax")
    assert expected.gradient.seconds is not None
    assert row["first_gradient_s"] == pytest.approx(4.0)
    assert row["gradient_s"] == expected.gradient.seconds.median
    assert row["gradients_per_s"] == pytest.approx(1 / row["gradient_s"])
    assert row["scd"] == 4.0
    assert row["gradient_error"] == pytest.approx(1e-6)
    assert row["peak_rss_bytes"] == pytest.approx(2.1e8, rel=0.01)
    # 110 J in a window of 5 s at 2 W idle, 100 calls.
    assert row["gradient_joules"] == pytest.approx(1.0)
    assert row["solve_joules"] == pytest.approx(0.5)
    assert row["gradient_joules_at_rtol"] == 1e-6
    of_row = cost(expected)
    assert of_row is not None
    assert row["million_gradients_cost"] == pytest.approx(of_row.total_s(10**6) * 3.6 / 3600)
    assert row["records"].split()[0].endswith("/0/0")


def test_the_time_to_the_target_of_a_training_and_its_cost_are_in_the_row_too(summary, rows):
    (trained,) = (r for r in training_rows(summary.of_problem("robertson")) if r.cell.cell.adapter == "diffrax")
    assert trained.to_target_from_process is not None
    assert of(rows, "diffrax")["to_target_s"] == trained.to_target_from_process.median
    assert of(rows, "diffrax")["to_target_cost"] == pytest.approx(trained.to_target_from_process.median * 3.6 / 3600)
    assert (of(rows, "tensorflow")["to_target_s"], of(rows, "tensorflow")["to_target_cost"]) == (None, None)


def test_verdicts_are_those_of_the_tables(rows):
    assert of(rows, "diffrax")["gradient_verdict"] == "fastest"
    assert of(rows, "scipy")["gradient_verdict"] == "slower"
    assert of(rows, "scipy")["gradient_ratio"] == pytest.approx(4, rel=0.1)
    assert of(rows, "scipy")["gradient_ratio_low_95"] < 4.2 < of(rows, "tensorflow")["gradient_ratio_low_95"]


def test_a_cell_that_failed_everywhere_stands_in_its_table_without_times(rows):
    row = of(rows, "torchdiffeq")
    assert row["outcomes"] == "max_steps 18"
    assert (row["gradient_s"], row["gradient_verdict"], row["million_gradients_cost"]) == (None, None, None)
    places = [i for i, row in enumerate(rows) if row["comparison"] == "idiomatic"]
    assert places == list(range(places[0], places[-1] + 1)), "a table stands together"


def test_a_cell_of_the_idiomatic_division_with_a_group_stands_in_both_tables(rows):
    of(rows, "scipy")
    of(rows, "scipy", "matched: implicit_rk of order 5, forward")


def test_without_a_price_there_is_no_cost(summary):
    assert {row["million_gradients_cost"] for row in table(summary)} == {None}


def test_a_smoke_run_has_times_and_no_verdicts():
    rows = table(drawn.summary(["robertson"], profile="smoke", blocks=1))
    assert {row["gradient_verdict"] for row in rows} == {None}
    assert {row["comparable"] for row in rows} == {False}
    assert any(row["gradient_s"] for row in rows)


def test_why_there_is_no_energy():
    reason = "this machine shows no energy counter of its processor"

    def without(record: Record) -> Record:
        return dataclasses.replace(record, energy={"not_measurable": reason})

    rows = table(drawn.summary(["robertson"], change=without))
    assert {(row["gradient_joules"], row["no_energy"]) for row in rows if row["adapter"] == "scipy"} == {(None, reason)}


def test_what_a_bridge_costs_is_the_median_over_the_points_of_all_processes():
    """Each call's time less what the framework timed of it; where Python calls directly there is nothing to tell."""

    def inside(samples_ns: tuple[int, ...], cost_ns: int) -> dict[str, tuple[int, ...]]:
        return {"ns": tuple(ns - cost_ns for ns in samples_ns)}

    def behind_a_bridge(record: Record) -> Record:
        if record.cell.adapter != "scipy":
            return record
        dearer = 4_000 if record.block == 5 else 1_000
        points = tuple(
            changed(
                point,
                solve={"inside": inside(point.solve.ns, dearer * (1 + record.block))},
                gradient={"inside": inside(point.gradient.ns, 7_000)},
            )
            for point in record.points
        )
        return dataclasses.replace(record, points=points)

    rows = table(drawn.summary(["robertson"], blocks=6, change=behind_a_bridge))
    row = of(rows, "scipy")
    # 1, 2, 3, 4, 5 and 24 microseconds, each at as many tolerances.
    assert row["solve_bridge_s"] == pytest.approx(3.5e-6)
    assert row["gradient_bridge_s"] == pytest.approx(7e-6)
    others = {(row["solve_bridge_s"], row["gradient_bridge_s"]) for row in rows if row["adapter"] != "scipy"}
    assert others == {(None, None)}


@pytest.mark.parametrize(
    "energy",
    [None, {}, {"loops": 3}, {"loops": [{"point": 1}]}, {"loops": [{"point": 1, "kind": "solve", "joules": "x"}]}],
)
def test_energy_that_is_no_energy_is_none(energy):
    assert joules_per_call(energy, 1, "solve") is None


def test_no_energy_is_left_above_idle():
    loop = {"point": 0, "kind": "solve", "joules": 10.0, "window_s": 5.0, "calls": 10}
    assert joules_per_call({"idle_watts": 3.0, "loops": [loop]}, 0, "solve") is None
    assert joules_per_call({"idle_watts": None, "loops": [loop]}, 0, "solve") == pytest.approx(1.0)


def test_an_empty_run_has_no_rows():
    assert table(drawn.summary(blocks=0)) == []


def test_rows_are_plain_values(rows):
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows

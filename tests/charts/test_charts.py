"""What every chart must have, and what each kind says."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from stubs import drawn
from stubs.reported import cell, plan, point, record, summarise

from sciml_bench import api
from sciml_bench.analysis.advice.break_even import find_break_even
from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.rows import compare
from sciml_bench.charts.catalog import KINDS, across, of_problem
from sciml_bench.charts.chart import chart_name, charts_document, clean
from sciml_bench.charts.kind import ProblemKind
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.task import Cell

HOSTILE = "<script>alert('$x_1$')</script>\n&amp;\x1b[31m\u202e{$}"


def of_kind(charts, kind):
    return [chart for chart in charts if chart.kind == kind]


def of(which):
    return summarise(drawn.plan_of(which), drawn.records(which))


def table(chart):
    return [dict(zip(chart.columns, row, strict=True)) for row in chart.rows]


def one(summary, kind, problem="robertson"):
    return next(of_problem(summary, problem, (kind,)))


def test_every_kind_is_there(charts):
    # Tracks need models beside equations, see tests/report/conventional.
    assert {chart.kind for chart in charts} | {"tracks"} == set(KINDS)


def test_names_are_ids_and_differ(summary):
    names = [chart.name for problem in summary.problems for chart in of_problem(summary, problem)]
    names += [chart.name for chart in across(summary)]
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", name) for name in names)
    assert len(set(names)) == len(names)


def test_every_row_ends_with_records_that_exist(summary, charts):
    known = {cell.place(process) for cell in summary.cells.values() for process in cell.processes}
    for chart in charts:
        assert chart.columns[-1] == "records"
        assert chart.rows
        for row in chart.rows:
            assert len(row) == len(chart.columns), chart.name
            places = str(row[-1]).split()
            assert places, chart.name
            assert set(places) <= known


def test_every_chart_says_what_is_seen_and_how_it_was_measured(charts):
    for chart in charts:
        assert chart.title
        assert re.search(r"\d", chart.alt), f"{chart.name} tells no number"
        assert 1 <= chart.method.count(".") <= 12
        assert chart.method.endswith(".")


def test_no_cell_vanishes(summary, charts):
    """Also those that failed everywhere are in the data of each kind that is about single cells."""
    failed = "torchdiffeq dopri5 discrete eager"
    for kind in (name for name, kind in KINDS.items() if isinstance(kind, ProblemKind)):
        if kind != "break-even":
            assert any(failed in row for chart in of_kind(charts, kind) for row in chart.rows), kind
    (row,) = [row for row in table(of_kind(charts, "break-even")[0]) if row["cell"] == failed]
    assert "max_steps" in str(row["why_not"])


def test_divisions_are_never_mixed(charts):
    for kind in ("work-precision", "gradient-precision"):
        for chart in of_kind(charts, kind):
            assert len({str(row["division"]).partition(":")[0] for row in table(chart)}) == 1


def test_work_precision_has_the_error_and_the_time_of_each_tolerance(charts):
    chart = of_kind(charts, "work-precision")[0]
    rows = [row for row in table(chart) if row["cell"] == "diffrax kvaerno5 checkpointed compiled"]
    assert [row["rtol"] for row in rows] == list(drawn.RTOLS)
    assert [row["error"] for row in rows] == pytest.approx([1e-3, 1e-5, 1e-7])
    assert [row["error_is_a_bound"] for row in rows] == [False, False, True]
    assert rows[1]["time_s"] == pytest.approx(2e-3, rel=0.1)
    assert rows[1]["fastest_process_s"] <= rows[1]["time_s"] <= rows[1]["slowest_process_s"]
    assert rows[0]["outcomes"] == "ok 3"


def test_failed_points_are_counted(charts):
    chart = of_kind(charts, "gradient-precision")[0]
    rows = [row for row in table(chart) if row["cell"] == "torchdiffeq dopri5 discrete eager"]
    assert [(row["time_s"], row["outcomes"]) for row in rows] == [(None, "max_steps 3")] * 3
    assert "torchdiffeq dopri5 discrete eager (max_steps 9 of 9)" in chart.alt


def test_without_a_reference_time_is_drawn_against_tolerance():
    which = cell()
    made = summarise(plan([which]), [record(which, [point(1e-4, mescd=None), point(1e-6, mescd=None, solve_ms=2)])])
    chart = one(made, "work-precision")
    assert "tolerance" in chart.title
    assert [row["error"] for row in table(chart)] == [None, None]


def test_the_process_that_ended_before_its_first_point_is_a_failed_point():
    good, bad = cell(), cell("bdf", "scipy")
    broken = dataclasses.replace(record(bad, []), outcome=Outcome.IMPORT_ERROR, phase="import")
    chart = one(summarise(plan([good, bad]), [record(good, [point(1e-4)]), broken]), "work-precision")
    assert [row["outcomes"] for row in table(chart) if str(row["cell"]).startswith("scipy")] == ["import_error 1 of 1"]


def test_latency_tells_parts_and_the_first_gradient(charts):
    (chart,) = of_kind(charts, "latency")
    row = next(row for row in table(chart) if row["cell"] == "diffrax kvaerno5 checkpointed compiled")
    assert row["compile_s"] == pytest.approx(2.0)
    assert row["to_first_gradient_s"] == pytest.approx(4.0)
    assert row["ended"] == "ok"
    failed = next(row for row in table(chart) if row["cell"].startswith("torchdiffeq"))
    assert failed["to_first_gradient_s"] is None
    assert failed["ended"] == "max_steps in gradient"


def test_steady_has_the_segments_between_the_change_points(charts):
    (chart,) = of_kind(charts, "steady")
    rows = [row for row in table(chart) if row["cell"] == "diffrax kvaerno5 checkpointed compiled"]
    assert [(row["segment"], row["first_call"], row["last_call"]) for row in rows] == [
        ("warm-up calls", 1, 2),
        ("before the steady state", 3, 5),
        ("counted", 6, 14),
    ]
    assert rows[1]["median_s"] > 1.2 * rows[2]["median_s"]
    assert rows[0]["class"] == "warm-up"
    assert rows[0]["classes_of_all_loops"] == "warm-up 9"
    assert all(row["records"].endswith("/0/0") for row in rows), "one process, the first"


def test_long_loops_are_thinned_and_lose_no_spike():
    from sciml_bench.charts.kinds.run_sequence import _thinned

    ratios = [1.0] * 2000
    ratios[777], ratios[1234] = 9.0, 0.1
    xs, drawn_ratios = _thinned(ratios)
    assert len(xs) < 500
    assert {9.0, 0.1} <= set(drawn_ratios)
    assert xs == sorted(xs)
    assert xs[drawn_ratios.index(9.0)] == pytest.approx(777.5 / 2000)


def test_stability_counts_at_each_tolerance(charts):
    (chart,) = of_kind(charts, "stability")
    rows = [row for row in table(chart) if row["cell"] == "tensorflow bdf backsolve xla"]
    assert [(row["rtol"], row["trials"], row["right"], row["silently_wrong"]) for row in rows] == [
        (rtol, 12, 9, 3) for rtol in drawn.RTOLS
    ]
    assert "Silently wrong: tensorflow bdf backsolve xla (25 %)" in chart.alt
    assert "Failed honestly: torchdiffeq dopri5 discrete eager (100 %)" in chart.alt


def test_break_even_says_what_the_tables_say(summary, charts):
    chart = of_kind(charts, "break-even")[0]
    expected = find_break_even(compare("robertson", summary.of_problem("robertson")).rows)
    assert expected is not None
    told = sorted(row["cheapest_from"] for row in table(chart) if row["cheapest_from"])
    assert told == [1, *(item.gradients for item in expected.overtakings)]
    assert len(told) > 1
    row = next(row for row in table(chart) if row["cheapest_from"] == told[1])
    assert row["total_100_s"] == pytest.approx(row["first_gradient_s"] + 99 * row["each_further_s"])


def test_memory_tells_peak_and_growth(charts):
    (chart,) = of_kind(charts, "memory")
    row = next(row for row in table(chart) if row["cell"] == "diffrax kvaerno5 checkpointed compiled")
    assert row["peak_rss_bytes"] == pytest.approx(2.1e8, rel=1e-3)
    assert row["growth_bytes"] == 3 * 4096


def test_profile_counts_failures_as_failures(charts):
    chart = of_kind(charts, "profile")[0]
    assert {row["library"]: row["ratio_to_least"] for row in table(chart) if row["problem"] == "robertson"} == {
        "scipy": pytest.approx(4, rel=0.1),
        "diffrax": 1.0,
        "tensorflow": pytest.approx(9, rel=0.1),
        "torchdiffeq": None,
        "third-party": pytest.approx(2, rel=0.1),
    }
    assert "The least time of all measured ways: diffrax on 100 %" in chart.alt


def test_a_profile_compares_only_what_was_measured_on_the_same_problems():
    """A library that was planned for half of the problems only is named, and has not failed on the others."""
    which = {c: way for c, way in drawn.cells().items() if c.adapter != "tensorflow" or c.problem == "robertson"}
    chart = next(across(of(which), ("profile",)))
    assert "tensorflow" not in {row["library"] for row in table(chart)}
    assert "Not shown, since not measured on all of these problems: tensorflow" in chart.alt


def test_a_profile_takes_the_best_way_of_a_library_on_each_problem():
    """A library that wins by another method on each problem is the fastest on all of them."""
    which = {
        Cell(problem, adapter, method, "forward", "compiled"): ("idiomatic", "", slow)
        for problem, fast in (("robertson", "kvaerno5"), ("oregonator", "tsit5"))
        for adapter, method, slow in (("diffrax", fast, 1.0), ("scipy", "odeint", 2.0))
    }
    chart = next(across(of(which), ("profile",)))
    ratios = {(row["library"], row["problem"]): row["ratio_to_least"] for row in table(chart)}
    assert {ratio for (library, _), ratio in ratios.items() if library == "diffrax"} == {1.0}
    assert ratios["scipy", "robertson"] == pytest.approx(2, rel=0.1)


def test_a_library_that_is_not_shown_still_has_the_least_time():
    """Nobody is the fastest for want of the winner, which was measured on one problem only."""
    which = drawn.cells(("robertson", "oregonator"))
    which[Cell("robertson", "numbalsoda", "lsoda", "forward", "compiled")] = ("other", "", 0.1)
    chart = next(across(of(which), ("profile",)))
    ratios = {(row["library"], row["problem"]): row["ratio_to_least"] for row in table(chart)}
    assert ratios["diffrax", "robertson"] == pytest.approx(10, rel=0.1)
    assert ratios["diffrax", "oregonator"] == 1.0
    assert "diffrax on 50 %" in chart.alt


STORED = sorted(path.parent for path in (Path(__file__).parents[2] / "results").rglob("plan.json"))


@pytest.mark.parametrize("folder", STORED, ids=lambda path: path.name)
def test_shares_of_a_stored_profile_are_shares_of_problems_with_the_least_time(folder):
    run = api.load(folder)
    for chart in run.charts("profile"):
        quantity = chart.columns[4].removesuffix("_s")
        best = [row for row in table(chart) if row["panel"] == "best way"]
        problems = {row["problem"] for row in best}
        winners = {}
        for problem in problems:
            rows = compare(str(problem), run.analysis.summary.of_problem(str(problem))).rows
            times = {row.summary.cell.adapter: row for row in sorted(rows, key=lambda row: -time_of(row, quantity))}
            winners[problem] = min(times, key=lambda adapter: time_of(times[adapter], quantity))
        for library in {row["library"] for row in best}:
            share = sum(winner == library for winner in winners.values()) / len(problems)
            won = [row["ratio_to_least"] for row in best if row["library"] == library]
            assert sum(ratio == 1.0 for ratio in won) / len(problems) == share


def time_of(row, quantity):
    time = row.gradient if quantity == "gradient" else row.solve
    return time.seconds.median if time.seconds else float("inf")


def test_forest_ratios_lie_where_the_times_were_put(charts):
    chart = of_kind(charts, "forest")[0]
    rows = [row for row in table(chart) if row["solver"].startswith("diffrax")]
    assert [row["problem"] for row in rows] == list(drawn.PROBLEMS)
    for row in rows:
        assert row["ratio"] == pytest.approx(0.25, rel=0.1)
        assert row["low_95"] < row["ratio"] < row["high_95"]
        assert row["verdict"] == "faster"
        assert row["base"] == "scipy radau forward eager"


def test_forest_says_what_the_tables_say(summary, charts):
    analysis = Analysis(summary)
    assert analysis.judged is not None
    for row in table(of_kind(charts, "forest")[0]):
        if row["solver"].startswith("diffrax"):
            rows = {item.name: item for item in analysis.comparisons[row["problem"]].rows}
            found = analysis.judged.between("gradient", rows[row["base"]], rows[row["solver"]])
            assert found is not None
            assert row["adjusted_p"] == found.adjusted_p


def test_forest_names_no_winner_where_every_process_was_disturbed():
    made = drawn.summary(change=lambda record: dataclasses.replace(record, noisy=("other work",)))
    found = [row for chart in across(made, ("forest",)) for row in table(chart)]
    assert {row["verdict"] for row in found} <= {"undecided", "same"}
    assert found


def test_scaling_takes_problems_that_differ_in_size_only(charts):
    for chart in of_kind(charts, "scaling"):
        assert {row["problem"] for row in table(chart)} == {"brusselator-2d-16", "brusselator-2d-32"}
        assert {row["states"] for row in table(chart)} == {512, 2048}


def test_one_problem_has_nothing_across():
    assert list(across(drawn.summary(["robertson"]))) == []


def test_times_of_a_smoke_run_are_not_compared():
    made = drawn.summary(profile="smoke", blocks=1)
    assert list(across(made, ("profile", "forest"))) == []
    assert "not compared: profile smoke runs one process per cell" in KINDS["forest"].reason(made)
    assert list(of_problem(made, "robertson", ("work-precision",)))


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_run_says_so(kind):
    made = drawn.summary(blocks=0)
    assert list(across(made, (kind,))) == []
    assert list(of_problem(made, "robertson", (kind,))) == []
    assert "no record yet" in KINDS[kind].reason(made)


def test_a_run_of_failures_only():
    which = cell()
    made = summarise(plan([which]), [record(which, [point(1e-4, outcome=Outcome.TIMEOUT)])])
    found = [chart.kind for chart in of_problem(made, "robertson")]
    assert "work-precision" not in found
    assert "memory" in found
    assert KINDS["work-precision"].reason(made).endswith("; all cells failed (timeout)")


def test_text_of_strangers_becomes_one_harmless_line():
    assert clean(HOSTILE) == "<script>alert('$x_1$')</script> &amp; [31m {$}"
    assert clean("x" * 1000).endswith("…")
    assert len(clean("x" * 1000, 30)) == 30


def test_names_of_charts_never_collide():
    names = [chart_name("memory", word) for word in ("a b", "a-b", "A-b", "a\nb", "ä", "ö", "", "<>", "$")]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in names)


def test_the_document_is_plain_json(charts):
    text = json.dumps(charts_document(charts), allow_nan=False)
    assert json.loads(text)["charts"][0]["rows"][0]["records"]


def test_data_needs_no_matplotlib():
    code = (
        "import sys; sys.path.insert(0, 'tests'); from stubs import drawn;"
        "from sciml_bench.charts.catalog import across, of_problem; s = drawn.summary();"
        "charts = [*of_problem(s, 'robertson'), *across(s)]; assert len(charts) > 10;"
        "assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

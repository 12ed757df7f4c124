"""Failures, the sum of all cells, and the outcome of a run."""

from __future__ import annotations

import pytest
from stubs.reported import cell, plan, point, record, summarise, written

from sciml_bench.analysis.cell_tally import cell_tally
from sciml_bench.analysis.failures import broken, failures, one_line, rerun_command
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.retry_policy import RESULTS
from sciml_bench.record.task import Training
from sciml_bench.record.training import Trained

OK = [point(1e-4), point(1e-8)]


def failed(outcome=Outcome.TIMEOUT):
    return [point(1e-4, outcome=outcome), point(1e-8, outcome=outcome)]


def test_whole_cells_come_first_and_points_are_counted():
    partly = [point(1e-4), point(1e-8, outcome=Outcome.MAX_STEPS)]
    cells = [cell("partly"), cell("none")]
    summary = summarise(plan(cells), [record(cells[0], partly), record(cells[1], failed())])
    whole, part = failures(summary)
    assert (whole.label, whole.whole_cell, whole.outcome) == (cells[1].label, True, Outcome.TIMEOUT)
    assert (part.whole_cell, part.points, part.of_points, part.phase) == (False, 1, 2, "gradient")
    assert part.reason == "max_steps at 1e-08"


def test_failing_in_the_first_call_and_later_is_one_failure():
    which = cell()
    first = point(1e-4, outcome=Outcome.TIMEOUT, phase="first_gradient")
    (failure,) = failures(summarise(plan([which]), [record(which, [first, point(1e-8, outcome=Outcome.TIMEOUT)])]))
    assert (failure.points, failure.phase) == (2, "gradient")


def test_a_failure_without_a_message_is_told_in_words():
    which = cell()
    empty = record(which, [], outcome=Outcome.CRASH, message="", phase="build")
    (failure,) = failures(summarise(plan([which]), [empty]))
    assert failure.reason == Outcome.CRASH.sentence


def test_reasons_are_one_line():
    assert one_line("\n  first\nsecond") == "first"
    assert one_line("") == ""
    assert len(one_line("x" * 1000)) == 160


def test_the_rerun_command_is_exact():
    label = cell().label
    assert rerun_command(label, written(plan([cell()]))) == f"sciml-bench run --cell {label} --profile quick"
    other = plan([cell()], file="my problem.toml", timeout_s=3.0, threads=2, memory_limit_bytes=2**30)
    assert rerun_command(label, written(other)) == (
        f"sciml-bench run 'my problem.toml' --cell {label} --profile quick --timeout 3 --threads 2 --memory-limit 1024M"
    )


def test_a_side_of_a_claim_is_measured_again_at_the_tolerances_of_the_claim():
    claimed = {"claims": {"C1": {"published.fast": cell().label}, "C2": {"fair.fast": "other"}}}
    made = plan([cell()], file="results/run/problems/a.toml") | {"claimed": claimed}
    assert (
        rerun_command(cell().label, written(made))
        == "sciml-bench claims run results/run/claims/C1.toml --profile quick"
    )


def test_a_plan_with_odd_paths_has_a_rerun_command():
    """Plans come from strangers."""
    made = plan([cell()], file="a.toml") | {"claimed": {"claims": {"C1": {"published.fast": cell().label}}}}
    assert rerun_command(cell().label, written(made)) == "sciml-bench claims run claims/C1.toml --profile quick"


def test_no_cell_vanishes():
    cells = [cell("a"), cell("b"), cell("c"), cell("d")]
    made = plan(cells, skipped=["tier standard", "tier standard", "not installed"])
    counts = cell_tally(summarise(made, [record(cells[0], OK), record(cells[1], failed()), record(cells[2], failed())]))
    assert counts.planned == 7
    assert counts.measured + sum(counts.failed.values()) + sum(counts.skipped.values()) + counts.not_run == 7
    assert counts.sentence == "planned 7 = measured 1 + failed 2 (timeout 2) + skipped 3 + not run yet 1"
    assert counts.skipped == {"tier standard": 2, "not installed": 1}


def test_a_cell_that_failed_in_one_process_only_is_measured_and_its_failure_is_told():
    which = cell()
    records = [record(which, OK, block=0), record(which, failed(Outcome.CRASH), block=1)]
    summary = summarise(plan([which]), records)
    assert cell_tally(summary).measured == 1
    assert [(f.outcome, f.points, f.of_points) for f in failures(summary)] == [(Outcome.CRASH, 2, 4)]
    assert broken(summary)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_only_what_breaks_the_measurement_is_broken(outcome):
    if outcome is Outcome.OK:
        points = OK
    else:
        points = failed(outcome)
    summary = summarise(plan([cell()]), [record(cell(), points)])
    assert broken(summary) == (outcome not in RESULTS)
    trained = Trained(Training("sgd", 1.0, 5, 1e-6, 1e-6), outcome)
    summary = summarise(plan([cell()]), [record(cell(), OK, training=trained)])
    assert broken(summary) == (outcome not in RESULTS)
    of_solvers = {"ok", "unsupported", "timeout", "max_steps", "step_underflow", "nonfinite", "inaccurate", "unchecked"}
    of_solvers |= {"slow"}
    assert (outcome in RESULTS) == (outcome in of_solvers | {"diverged"})

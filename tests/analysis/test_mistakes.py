"""Mistakes of famous harnesses in what they print, each as a regression test; the numbers are those of the list of
ten that the methods page keeps."""

from __future__ import annotations

import datetime
import html
import random
from pathlib import Path

import pytest
from stubs import compared
from stubs.reported import cell, plan, point, record, summarise
from stubs.verifiable import made_run

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.comparison.compare import compare_runs
from sciml_bench.analysis.comparison.sides import Side, read_side
from sciml_bench.analysis.failures import one_line
from sciml_bench.record.outcome import Outcome
from sciml_bench.render.comparison import comparison_head
from sciml_bench.render.document import run_document
from sciml_bench.render.html.page import report
from sciml_bench.render.verification import lines
from sciml_bench.stats.verdict import Verdict


def side(run) -> Side:
    return read_side(run, lambda line: pytest.fail(str(line)))


def test_mistake_2_what_cannot_be_compared_is_told_and_is_not_significant(tmp_path: Path):
    """pyperf calls a comparison significant when it has a single value, or raises."""

    def failing(_cell, _block):
        return compared.failed_points()

    comparison = compare_runs(
        side(compared.run(tmp_path, "a")), side(compared.run(tmp_path, "b", make=failing)), band=0.05
    )
    assert {line.judgement.verdict for line in comparison.lines} <= {Verdict.SAME}
    assert len(comparison.uncompared) == 8
    single = compare_runs(
        side(compared.run(tmp_path, "c", blocks=1)), side(compared.run(tmp_path, "d", blocks=1, factors=9.0)), band=0.05
    )
    assert {line.judgement.verdict for line in single.lines} == {Verdict.UNDECIDED}


def test_mistake_3_the_first_call_is_no_steady_time(tmp_path: Path):
    """asv reports a slow first call as the result; here the first calls and the steady ones are different columns."""
    slow_start = point(1e-4, gradient_ms=2.0, gradient={"first_ns": 9_000_000_000, "warm_up_ns": (5_000_000_000,)})
    which = cell()
    document = run_document(Analysis(summarise(plan([which]), [record(which, [slow_start])]), tmp_path))
    row = document["problems"][0]["cells"][0]
    assert row["gradient"]["seconds"]["maximum"] == pytest.approx(2e-3)
    assert row["first_gradient_from_process_s"]["median"] == 8.0


def test_mistake_5_a_failure_is_never_a_number(tmp_path: Path):
    """torchbench keeps errors as -1.0 among its times."""
    which = cell()
    failed = [point(1e-4, outcome=Outcome.TIMEOUT), point(1e-8, outcome=Outcome.TIMEOUT)]
    document = run_document(Analysis(summarise(plan([which]), [record(which, failed)]), tmp_path))
    assert document["problems"][0]["cells"] == []
    assert document["failures"][0]["outcome"] == "timeout"
    run = made_run()
    run.records[0]["points"][0]["solve"]["ns"] = [-1] * 12
    verified = run.verified(tmp_path)
    assert "sample_values" in {breach.rule.id for breach in verified.breaches}


def test_mistake_5_a_stack_trace_is_one_line():
    """SciMLBenchmarks publishes pages of stack traces."""
    assert one_line("\n\n  ValueError: x\n" + "    at line\n" * 300) == "ValueError: x"


def test_mistake_8_nothing_looks_good_after_an_error(tmp_path: Path):
    """MLPerf's checker printed "Looks OK" after an ERROR."""
    run = made_run()
    run.records[0]["seed"] += 1
    text = list(lines(run.verified(tmp_path)))
    assert any(line.startswith("INVALID: ") for line in text)
    assert not any(line.startswith("VALID") or "ok" in line.lower().split() for line in text)


def test_mistake_9_two_runs_are_said_to_be_no_common_blocks(tmp_path: Path):
    """Tools that run all of A and then all of B do not say what that means."""
    comparison = compare_runs(side(compared.run(tmp_path, "a")), side(compared.run(tmp_path, "b", seed=2)), band=0.05)
    head = " ".join(comparison_head(comparison, 200))
    assert "a change of the machine between them looks like one of the program" in head


def test_mistake_9_within_a_run_cells_share_their_blocks_and_drift_is_no_difference(tmp_path: Path):
    """Two equal cells on a machine that slows down by half during the run."""
    from sciml_bench.analysis.comparison.compare import compare_selections

    def drifting(which, block):
        return compared.points(random.Random(f"{which.label}/{block}"), 1.0 + 0.05 * block)

    run = side(compared.run(tmp_path, "a", make=drifting))
    of, others = run.chosen(lambda label: "scipy" in label), run.chosen(lambda label: "diffrax" in label)
    loops = [line for line in compare_selections(of, others, band=0.05).lines if line.series.quantity != "1st"]
    assert {line.judgement.verdict for line in loops if line.series.quantity in ("solve", "gradient")} == {Verdict.SAME}


def test_mistake_10_the_report_is_one_file_that_needs_no_server(tmp_path: Path):
    """asv's pages fetch their data by script, which browsers refuse for files; here nothing is fetched at all.

    That it is shown from ``file://`` without a single request is tested in a real browser in ``page/test_browser.py``.
    """
    text = report([compared.run(tmp_path, "a")], datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC))
    assert "default-src 'none'" in html.unescape(text)
    assert "faster than the other one" in text or "undecided" in text or "the same within" in text
    for way in ("fetch(", "XMLHttpRequest", "import(", "<link", "src=", "@import", "url(http", "<iframe", "WebSocket"):
        assert way not in text, f"the page loads something by {way}"

"""What disturbed processes do to verdicts: marked where some were, none where all were, on every rendering."""

from __future__ import annotations

import datetime
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from stubs import compared
from stubs.records import sealed_line
from stubs.reported import summarise

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.comparable import Disturbed, disturbed, why_not_comparable
from sciml_bench.analysis.comparison.compare import compare_runs
from sciml_bench.analysis.comparison.sides import read_side
from sciml_bench.analysis.summary import RunSummary
from sciml_bench.export.cells import lines
from sciml_bench.record.run_folder import Run
from sciml_bench.render.document import run_document
from sciml_bench.render.html.page import report
from sciml_bench.render.terminal import console_for, print_run
from sciml_bench.stats.verdict import Held, Verdict

NOISY = ("other_load: other processes kept 0.4 processors busy (limit 0.25)",)
_, SLOW = compared.CELLS
FACTORS = {SLOW: 3.0}


def summary(run: Run) -> RunSummary:
    return summarise(run.plan, run.records())


def printed(run: Run) -> str:
    stream = io.StringIO()
    print_run(Analysis(summary(run), Path("results/some")), console_for(stream))
    return stream.getvalue()


def verdicts_of(document: dict) -> Iterator[dict]:
    for problem in document["problems"]:
        for quantity in ("gradient", "solve"):
            yield from (problem["answer"][quantity] or {"against": ()})["against"]


@pytest.fixture
def quiet(tmp_path) -> Run:
    return compared.run(tmp_path, "quiet", factors=FACTORS)


@pytest.fixture
def all_disturbed(tmp_path) -> Run:
    return compared.run(tmp_path, "busy", factors=FACTORS, record_changes={"noisy": NOISY})


@pytest.fixture
def one_disturbed(tmp_path) -> Run:
    run = compared.run(tmp_path, "mixed", factors=FACTORS)
    of_slow = [line for line in run.records_path.read_text().splitlines() if json.loads(line)["cell"]["adapter"] != ""]
    first = json.loads(of_slow[0]) | {"noisy": list(NOISY)}
    run.records_path.write_text("\n".join([sealed_line(first), *of_slow[1:]]) + "\n")
    return run


def test_a_quiet_run_names_winners_without_a_mark(quiet):
    text = printed(quiet)
    assert not why_not_comparable(summary(quiet))
    assert "fastest is" in text
    assert "disturbed" not in text
    assert {item["disturbed_processes"] for item in verdicts_of(run_document(Analysis(summary(quiet))))} == {0}


def test_a_run_of_disturbed_processes_alone_names_no_winner_and_says_so_once_on_top(all_disturbed):
    text = printed(all_disturbed)
    first = next(line for line in text.splitlines() if line)
    total = disturbed(summary(all_disturbed).cells.values()).total
    assert first.startswith(f"NOT COMPARABLE: other work on the machine disturbed all {total} processes")
    assert text.count("NOT COMPARABLE") == 1
    for word in ("fastest is", "slower", "faster", "cheapest from process start", "overtakes"):
        assert word not in text, word
    assert "3.00 ms" in text or "9.0" in text, "the times are shown"


def test_the_document_and_the_export_name_none_either(all_disturbed):
    document = run_document(Analysis(summary(all_disturbed), Path("x")))
    assert not document["comparable"]
    assert "disturbed all" in document["not_comparable"]
    assert not list(verdicts_of(document))
    assert not document["advice"]
    exported = list(lines(Analysis(summary(all_disturbed), Path("run"))))
    assert exported
    assert not any(line.comparable or line.verdict("gradient") == "slower" for line in exported)


def test_the_page_names_none_either(all_disturbed, quiet):
    when = datetime.datetime(2026, 1, 2, 12, 0, 0)
    page = report([all_disturbed], when)
    assert "Not comparable: other work on the machine disturbed all" in page
    assert "Clear wins" not in page
    assert "one way is faster than all others" not in page
    assert "one way is faster than all others" in report([quiet], when)
    assert "Provisional, since other work disturbed the processes" in page


def test_a_verdict_with_a_disturbed_process_is_marked(one_disturbed):
    found = disturbed(summary(one_disturbed).cells.values())
    assert found.count == 1
    assert not why_not_comparable(summary(one_disturbed))
    text = printed(one_disturbed)
    marked = [line for line in text.splitlines() if "(disturbed: 1 of 20 processes)" in line]
    assert any(line.strip().startswith("slower") for line in marked)
    assert any("gradients" in line for line in marked)
    assert {item["disturbed_processes"] for item in verdicts_of(run_document(Analysis(summary(one_disturbed))))} == {1}


def test_one_disturbed_side_takes_the_winner_from_a_comparison_of_runs(tmp_path, all_disturbed):
    base = compared.run(tmp_path, "base", seed=2)
    new = compared.run(tmp_path, "new", factors=9.0, seed=3)
    sides = [read_side(run, lambda _line: None) for run in (base, new, all_disturbed)]
    judged = compare_runs(sides[0], sides[1], band=0.05)
    assert Verdict.SLOWER in {line.judgement.verdict for line in judged.lines}
    busy = compared.run(tmp_path, "busy9", factors=9.0, seed=3, record_changes={"noisy": NOISY})
    held = compare_runs(sides[0], read_side(busy, lambda _line: None), band=0.05)
    assert {line.judgement.verdict for line in held.lines} == {Verdict.UNDECIDED}
    assert {line.judgement.held for line in held.lines} == {Held.DISTURBED}
    assert not held.worse


def test_a_run_without_processes_is_not_disturbed(tmp_path):
    empty = compared.run(tmp_path, "empty", blocks=0)
    assert disturbed(summary(empty).cells.values()) == Disturbed(0, 0)
    assert why_not_comparable(summary(empty)) == ""

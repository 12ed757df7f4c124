"""Self-tests on the disk, and the line with which they head a report."""

from __future__ import annotations

import dataclasses
import datetime
import json
from pathlib import Path

import pytest
from stubs.compared import MACHINE
from stubs.records import stub_record
from stubs.selftests import drawn

from sciml_bench.analysis.selftest import store
from sciml_bench.analysis.selftest.figures import figures
from sciml_bench.errors import StoreError
from sciml_bench.record.run_folder import Run
from sciml_bench.render.selftest import head, lines

NOW = datetime.datetime(2026, 3, 1, 12, 0, 0, tzinfo=datetime.UTC)


def made(results: Path, now=NOW, interrupted=False, machine=MACHINE, **options):
    writer = store.Writer(results, machine, now)
    writer.append(stub_record())
    return writer.finish(figures({"scipy, solve": drawn(**options)}), processes=240, noisy=3, interrupted=interrupted)


def told(test, environment=MACHINE, days=1.0, processes=10):
    return head(test, environment, NOW.astimezone() + datetime.timedelta(days=days), processes)


def test_what_is_written_is_read(tmp_path):
    done = made(tmp_path)
    assert store.read(done.folder) == done
    assert store.newest(tmp_path) == done
    assert len((done.folder / "records.jsonl").read_text().splitlines()) == 1
    data = json.loads((done.folder / "figures.json").read_text())
    assert data["passed"]
    assert data["false_positives"]["total"] == 500


def test_the_newest_counts_and_damaged_ones_are_passed_over(tmp_path):
    first = made(tmp_path)
    second = made(tmp_path, NOW + datetime.timedelta(days=1))
    assert store.newest(tmp_path) == second
    (second.folder / "figures.json").write_text("{}")
    assert store.newest(tmp_path) == first
    with pytest.raises(StoreError, match="holds no figures of a self-test"):
        store.read(second.folder)


@pytest.mark.parametrize("part", ["orders", "p"])
def test_figures_without_an_order_are_passed_over(tmp_path, part):
    done = made(tmp_path)
    path = done.folder / "figures.json"
    data = json.loads(path.read_text())
    del data["series"][0]["bias"][part]["random"]
    path.write_text(json.dumps(data))
    with pytest.raises(StoreError, match="a bias has an interval of each order"):
        store.read(done.folder)


def test_the_newest_of_the_machine_counts_first(tmp_path):
    own = made(tmp_path)
    other = made(tmp_path, NOW + datetime.timedelta(days=1), machine={"cpu": {"model": "another"}})
    assert store.newest(tmp_path) == other
    assert store.newest(tmp_path, own.machine) == own
    assert store.newest(tmp_path, "a third") == other


def test_a_run_borrows_from_the_test_of_its_machine(tmp_path):
    own = made(tmp_path)
    made(tmp_path, NOW + datetime.timedelta(days=1), machine={"cpu": {"model": "another"}})
    run = Run.create(tmp_path, "run", plan={}, environment=MACHINE, now=NOW)
    found = store.earlier(run)
    assert found is not None
    assert found.coefficient == pytest.approx(max(0.0, own.figures.series[0].bias.serial[0]))
    elsewhere = Run.create(tmp_path, "run", plan={}, environment={"cpu": {"model": "a third"}}, now=NOW)
    assert store.earlier(elsewhere) is None


def test_a_run_borrows_nothing_from_an_old_test(tmp_path):
    made(tmp_path)
    later = NOW + datetime.timedelta(days=store.STALE_DAYS + 1)
    assert store.earlier(Run.create(tmp_path, "run", plan={}, environment=MACHINE, now=later)) is None


def test_there_is_none(tmp_path):
    assert store.newest(tmp_path) is None
    assert "none here yet; `sciml-bench selftest`" in told(None)


def test_the_heading_has_the_figures(tmp_path):
    line = told(made(tmp_path))
    assert line.startswith("self-test of 2026-03-01: ")
    assert "% false positives (nominal 5 %), with 10 processes 3 % slower called so in " in line
    assert "10 % slower called so in 100 %" in line
    assert "; with 10, as here, a slowdown of 5." in line
    test = store.newest(tmp_path)
    assert "; with 3, as here, a slowdown of factor 2 or more is called so" in told(test, processes=3)
    assert "as here" not in told(test, processes=1)
    assert "repeat it" not in line


def test_another_machine_is_said(tmp_path):
    line = told(made(tmp_path), {**MACHINE, "memory_gib": 99})
    assert "made on another machine, so it says nothing of this run" in line
    assert "%" not in line.partition(":")[2].partition(";")[0]


def test_other_software_is_the_same_machine(tmp_path):
    assert "another machine" not in told(made(tmp_path), {**MACHINE, "packages": {}})


def test_doubts_are_said(tmp_path):
    assert "(40 days old: repeat it)" in told(made(tmp_path), days=40)
    other = made(tmp_path, NOW + datetime.timedelta(hours=1), interrupted=True, spread=0.3)
    assert "(interrupted, NOT PASSED: slowdown not found, bias not excluded: repeat it)" in told(other)


def test_a_busy_machine_is_said(tmp_path):
    test = made(tmp_path)
    said = "the machine was busy with other work"
    assert not any(said in line for line in lines(test))
    busy = dataclasses.replace(test, noisy_processes=100)
    assert any(said in line for line in lines(busy))


def test_the_whole_text(tmp_path):
    text = "\n".join(lines(made(tmp_path)))
    assert text.startswith("PASSED\n")
    for part in (
        "same cell on both sides: ",
        "slowdown of 10 %: found in 100 % of 500 trials",
        "slowdown of 3 %: found in ",
        "smallest change that a test of processes finds here, four times of five: ",
        "that a verdict names: ",
        "processes a side that find a slowdown here, nine times of ten: 3 % takes ",
        "drawn from 240 measured processes, 3 of them disturbed",
        "scipy, solve: 60 blocks, spread ",
        "in fixed order ",
        "in alternating order ",
        "later in a block / earlier ",
        "neighbouring blocks        autocorrelation ",
    ):
        assert part in text
    assert "does not hold" not in text


def test_the_text_says_first_why_a_test_is_not_passed(tmp_path):
    biased = list(lines(made(tmp_path, slow={"again": 0.09, "slower-10": 0.2})))
    assert biased[0] == "NOT PASSED"
    assert biased[1:4] == [
        "  the slowdown of 10 % that was made lies outside the interval that was read",
        "  a cell differs from itself by more than 2.5 %, by its label or its place in the block",
        "  a bias of 8 % cannot be excluded",
    ]
    assert biased[4].startswith("  do not trust verdicts of this machine today")
    assert any(line.endswith("does not hold 1.10") for line in biased)
    assert any("bias of its label" in line for line in biased)


def test_a_self_test_of_an_older_schema_is_passed_over(tmp_path):
    done = made(tmp_path)
    path = done.folder / "figures.json"
    path.write_text(path.read_text().replace('"schema": 2', '"schema": 1'))
    assert store.newest(tmp_path) is None
    with pytest.raises(StoreError, match="schema 1, known is 2"):
        store.read(done.folder)

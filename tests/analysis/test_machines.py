"""Runs on several kinds of machines: their times are never mixed, and their ratios are held next to each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from stubs.reported import summarise

from sciml_bench.analysis.loaded_run import read_run
from sciml_bench.analysis.machines import kinds_of, note, of_one_kind
from sciml_bench.cli.main import main
from sciml_bench.errors import UsageError
from sciml_bench.record.run_folder import Run, environment_hash

STORED = Path(__file__).resolve().parents[2] / "results" / "stiff-quick"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A stored run whose last block was measured on a machine that takes twice as long, and thrice for one adapter."""
    folder = tmp_path / "run"
    folder.mkdir()
    environment = json.loads((STORED / "environment.json").read_text())
    slow = {**environment, "cpu": {**environment["cpu"], "model": "Slow 1"}}
    plan = json.loads((STORED / "plan.json").read_text())
    (folder / "plan.json").write_text(json.dumps(plan))
    (folder / "environment.json").write_text(json.dumps(environment))
    Run(folder).keep_environment(slow)
    lines: list[str] = []
    last = max(json.loads(line)["block"] for line in (STORED / "records.jsonl").read_text().splitlines())
    for line in (STORED / "records.jsonl").read_text().splitlines():
        record: dict[str, Any] = json.loads(line)
        record.pop("sha256", None)
        if record["cell"]["problem"] != "robertson":
            continue
        if record["block"] == last:
            record["environment_hash"] = environment_hash(slow)
            _stretch(record, 6.0 if record["cell"]["adapter"] == "tensorflow" else 2.0)
        else:
            record["environment_hash"] = environment_hash(environment)
        lines.append(json.dumps(record))
    (folder / "records.jsonl").write_text("\n".join(lines) + "\n")
    return Run(folder)


def _stretch(record: dict[str, Any], factor: float) -> None:
    for point in record["points"]:
        for half in ("solve", "gradient"):
            point[half]["ns"] = [round(each * factor) for each in point[half]["ns"] or ()]


def test_the_kinds_are_counted_and_the_largest_comes_first(run: Run):
    first, second = kinds_of(run)
    assert first.records > second.records > 0
    assert second.processor.startswith("Slow 1")


def test_a_run_on_one_kind_is_left_as_it_is():
    run = Run(STORED)
    assert of_one_kind(run) is run
    assert note(run) == ""
    with pytest.raises(UsageError, match="has no machine 2"):
        of_one_kind(run, 2)


def test_a_damaged_environment_hides_no_records(run: Run):
    (path,) = (run.folder / "environments").iterdir()
    path.write_text("{}")
    assert of_one_kind(Run(run.folder)).only is None
    assert note(Run(run.folder)) == ""


def test_times_of_two_kinds_are_never_in_one_table(run: Run):
    fast, slow = of_one_kind(run), of_one_kind(run, 2)
    blocks = [
        {process.block for cell in summarise(each.plan, each.records()).cells.values() for process in cell.processes}
        for each in (fast, slow)
    ]
    assert blocks[0].isdisjoint(blocks[1])
    assert sum(1 for _ in run.records()) == sum(1 for each in (fast, slow) for _ in each.records())
    loaded = read_run(slow)
    assert {trace.environment_hash for trace in loaded.traces} == slow.only
    assert loaded.environment["cpu"]["model"].startswith("Slow")


def test_the_note_says_how_far_ratios_agree(run: Run):
    text = note(of_one_kind(run))
    assert text.startswith("2 kinds of machines measured this run; shown is 1: ")
    # Three times as long for one adapter, and what blocks differ by anyway.
    largest = float(text.partition("at most of ")[2].partition(":")[0])
    assert 2.4 < largest < 3.8
    assert "tensorflow" in text.partition("at most of")[2]


def test_show_names_the_machines_and_takes_one(run: Run, capsys: pytest.CaptureFixture[str]):
    assert main(["show", str(run.folder), "--machine", "2"]) == 0
    assert "shown is 2: Slow" in " ".join(capsys.readouterr().out.split())
    assert main(["show", str(run.folder), "--json"]) == 0
    assert "shown is 1: " in json.loads(capsys.readouterr().out)["machines"]
    assert main(["show", str(run.folder), "--machine", "3"]) == 2

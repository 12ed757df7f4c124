"""Trainings in reports: what the table, the JSON and the page say of them."""

from __future__ import annotations

import dataclasses
import datetime
import json
import sys
from pathlib import Path

import pytest
from stubs import drawn

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.summary import RunSummary
from sciml_bench.analysis.tables.training import training_table
from sciml_bench.analysis.training import distances, training_rows
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Record
from sciml_bench.record.training import Trained
from sciml_bench.render.document import run_document
from sciml_bench.render.terminal import console_for, print_run

NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)


@pytest.fixture(scope="module")
def summary() -> RunSummary:
    return drawn.summary(("robertson",))


@pytest.fixture(scope="module")
def rows(summary):
    return training_rows(summary.of_problem("robertson"))


def row_of(rows, adapter: str):
    (found,) = [row for row in rows if row.cell.cell.adapter == adapter]
    return found


def test_a_row_has_what_its_processes_measured(rows):
    row = row_of(rows, "diffrax")
    assert (len(row.trained.losses), row.ended) == (200, {Outcome.OK: 3})
    assert row.first_step is not None
    assert row.first_step.median == pytest.approx(3.0)
    assert row.step is not None
    assert (row.step.processes, row.step.median) == (3, pytest.approx(4e-3))


def test_the_time_to_the_target_holds_all_that_comes_before(rows):
    """20 / (1 + 0.1 k) is first no larger than 2 for k = 90: the first step and 90 more."""
    row = row_of(rows, "diffrax")
    assert row.to_target is not None
    assert row.to_target.median == pytest.approx(3.0 + 90 * 4e-3)
    assert row.to_target_from_process is not None
    before = 0.004 + 0.05 + 0.9 + 0.03 + 0.1
    assert row.to_target_from_process.median == pytest.approx(row.to_target.median + before, rel=1e-3)
    assert row_of(rows, "tensorflow").to_target is None


def test_the_distance_is_between_ends_of_the_same_steps(rows):
    first, diffrax = row_of(rows, "scipy"), row_of(rows, "diffrax")
    assert first.distance is None
    assert diffrax.distance == pytest.approx(3e-9 / 5**0.5, rel=1e-3)
    assert row_of(rows, "tensorflow").distance is None
    (only,) = distances(rows)
    assert (only.first, only.second) == (first.cell, diffrax.cell)
    other = dataclasses.replace(diffrax.trained.settings, learning_rate=1.0)
    assert (
        distances((first, dataclasses.replace(diffrax, trained=dataclasses.replace(diffrax.trained, settings=other))))
        == ()
    )


def test_the_table_says_how_each_ended_and_why(rows):
    table = training_table(rows)
    told = {row[0].text: [entry.text for entry in row] for row in table.rows}
    assert told["diffrax"][4:8] == ["ok", "200/200", "20", "0.9569"]
    assert told["tensorflow"][4:6] == ["nonfinite", "80/200"]
    assert told["torchdiffeq"][4:8] == ["max_steps", "0/200", "–", "–"]
    notes = "\n".join(table.notes)
    assert "tensorflow bdf backsolve xla: nonfinite after 80 steps: the loss is not finite" in notes
    assert table.caption == "training: 200 steps of adam (learning rate 0.05) from the same start, at rtol 1e-6"


def test_show_prints_it(summary, tmp_path, capsys):
    print_run(Analysis(summary, tmp_path), console_for(sys.stdout))
    text = capsys.readouterr().out
    assert "training: 200 steps of adam" in text
    assert "to loss ≤ 2" in text
    assert "T training" in text


def test_the_json_has_every_loss(summary, tmp_path):
    (problem,) = run_document(Analysis(summary, tmp_path))["problems"]
    told = json.loads(json.dumps(problem["training"], allow_nan=False))
    (diffrax,) = [cell for cell in told["cells"] if "/diffrax/" in cell["cell"]]
    assert len(diffrax["losses"]) == len(diffrax["steps_s"]) == 200
    assert told["settings"]["optimiser"] == "adam"
    assert len(told["settings_hash"]) == 64


def test_without_a_training_nothing_is_said(tmp_path, capsys):
    plain = drawn.summary(("robertson",), change=lambda record: dataclasses.replace(record, training=None))
    assert training_rows(plain.of_problem("robertson")) == ()
    assert run_document(Analysis(plain, tmp_path))["problems"][0]["training"] is None
    print_run(Analysis(plain, tmp_path), console_for(sys.stdout))
    assert "steps of" not in capsys.readouterr().out


def test_the_page_has_the_table_and_the_figure(tmp_path: Path):
    from sciml_bench.render.html.page import report

    page = report([drawn.run(tmp_path, problems=("robertson",))], NOW)
    assert "Training: 200 steps of adam" in page
    assert 'id="r1-p1training"' in page
    assert "r1-training-robertson" in page
    assert "nonfinite after 80 steps" in page


def test_a_record_keeps_it_and_old_records_have_none():
    which = drawn.cells(("robertson",))
    with_one = next(record for record in drawn.records(which) if record.training is not None)
    assert isinstance(with_one.training, Trained)
    assert Record.from_json(with_one.to_json()) == with_one
    data = json.loads(with_one.to_json())
    del data["training"]
    assert Record.from_dict(data) == dataclasses.replace(with_one, training=None)

"""The table of trials on perturbed parameters."""

from __future__ import annotations

import dataclasses

from stubs.records import stub_record

from sciml_bench.analysis import reliability
from sciml_bench.analysis.process_summary import reduce_record
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.perturbed_solve import PerturbedSolve
from sciml_bench.record.record import Record
from sciml_bench.record.task import Cell


def record_with(*found: PerturbedSolve) -> Record:
    return dataclasses.replace(stub_record(), stability=found)


def cell_with(*found: PerturbedSolve) -> CellSummary:
    record = record_with(*found)
    cell = CellSummary(record.cell, "idiomatic", "")
    cell.keep(reduce_record(record))
    return cell


RIGHT, HONEST = PerturbedSolve(0, 0, Outcome.OK, 1e-9), PerturbedSolve(1, 0, Outcome.MAX_STEPS)
SILENT, UNJUDGED = PerturbedSolve(2, 0, Outcome.OK, 10.0), PerturbedSolve(3, 0, Outcome.OK, None)


def test_each_kind_is_counted_and_what_cannot_be_judged_is_not():
    found = reliability.shares(cell_with(RIGHT, RIGHT, HONEST, SILENT, UNJUDGED))
    assert found is not None
    assert [(part.count, part.total) for part in (found.right, found.honest, found.silent)] == [(2, 4), (1, 4), (1, 4)]


def test_a_trial_of_a_point_that_is_not_there_does_not_count():
    assert reliability.shares(cell_with(PerturbedSolve(0, 99, Outcome.OK, 1e-9))) is None


def test_cells_that_are_silently_wrong_come_last():
    wrong, good = cell_with(RIGHT, SILENT), cell_with(RIGHT, HONEST)
    wrong.cell = Cell("p", "wrong", "m", "s", "eager")
    good.cell = Cell("p", "good", "m", "s", "eager")
    found = reliability.stability_table([wrong, good])
    assert found is not None
    assert [row[0].text for row in found.rows] == ["good", "wrong"]
    assert [entry.line for entry in found.rows[1][4:]] == ["2", "50 % (9–91)", "0 % (0–66)", "50 % (9–91)"]


def test_without_trials_there_is_no_table():
    assert reliability.stability_table([cell_with()]) is None

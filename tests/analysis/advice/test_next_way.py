"""What is proposed after a failure."""

from __future__ import annotations

from stubs.reported import plan, point, record, summarise

from sciml_bench.analysis.failures import failures
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import PointResult
from sciml_bench.record.record import Record
from sciml_bench.record.task import Cell, Point

PROBLEM = "robertson"
TSIT5 = Cell(PROBLEM, "diffrax", "tsit5", "checkpointed", "compiled")
KVAERNO5 = Cell(PROBLEM, "diffrax", "kvaerno5-chord", "forward", "compiled")
ODEINT = Cell(PROBLEM, "scipy", "odeint", "forward", "compiled")


def failing(cell: Cell, outcome: Outcome, phase: str = "gradient") -> Record:
    return record(cell, [PointResult.failed(Point(1e-4, 1e-4), outcome, phase, "why")])


def proposed(failed: Record, *others: Record, skipped: list[Cell] = [], reason: str = "not in profile quick (x)"):  # noqa: B006
    made = plan([failed.cell, *(other.cell for other in others)])
    made["skipped"] = [{"reason": reason, "cells": [cell.label for cell in skipped]}] if skipped else []
    found = failures(summarise(made, [failed, *others]))
    (failure,) = [item for item in found if item.label == failed.cell.label]
    return failure.next_reason, failure.next_command


def test_a_way_of_the_same_library_that_works_comes_first():
    slow, fast = record(KVAERNO5, [point(1e-4, gradient_ms=9)]), record(ODEINT, [point(1e-4, gradient_ms=1)])
    reason, command = proposed(failing(TSIT5, Outcome.MAX_STEPS), slow, fast)
    assert reason == "it works in this run"
    assert command == f"sciml-bench run --cell {KVAERNO5.label} --profile quick"
    assert ODEINT.label in proposed(failing(TSIT5, Outcome.MAX_STEPS), fast)[1]


def test_what_failed_as_well_is_not_proposed():
    assert proposed(failing(TSIT5, Outcome.MAX_STEPS), failing(KVAERNO5, Outcome.NONFINITE)) == ("", "")


def test_after_an_explicit_method_an_implicit_one():
    reason, command = proposed(failing(TSIT5, Outcome.TIMEOUT), skipped=[ODEINT, KVAERNO5])
    assert reason.startswith("an implicit method")
    assert KVAERNO5.label in command


def test_after_a_gradient_that_goes_backwards_forward_sensitivities():
    backwards = Cell(PROBLEM, "diffrax", "kvaerno5-chord", "backsolve", "compiled")
    another = Cell(PROBLEM, "diffrax", "kvaerno3", "backsolve", "compiled")
    reason, command = proposed(failing(backwards, Outcome.NONFINITE), skipped=[another, KVAERNO5])
    assert reason.startswith("forward sensitivities")
    assert KVAERNO5.label in command


def test_what_an_adapter_refuses_or_does_not_have_is_not_proposed():
    refused = proposed(failing(TSIT5, Outcome.TIMEOUT), skipped=[KVAERNO5], reason="Diffrax does not have it")
    single = Cell(PROBLEM, "diffrax", "kvaerno5-chord", "forward", "compiled", "float32")
    assert refused == proposed(failing(TSIT5, Outcome.TIMEOUT), skipped=[single]) == ("", "")


def test_nothing_is_proposed_where_another_method_is_no_cure():
    works = record(ODEINT, [point(1e-4)])
    for outcome in (Outcome.CRASH, Outcome.IMPORT_ERROR, Outcome.UNCHECKED, Outcome.BUSY_TIMEOUT):
        assert proposed(failing(TSIT5, outcome), works) == ("", "")
    assert proposed(failing(TSIT5, Outcome.INACCURATE, "check"), works) == ("", "")

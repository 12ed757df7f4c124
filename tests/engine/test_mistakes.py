"""Mistakes of well-known harnesses that this one must not make, as far as they are made by who starts the workers.

The number is that of the list of mistakes in the methodology.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest
from stubs.tasks import stub_task

from sciml_bench.engine.group import measure_cell
from sciml_bench.engine.limits import Limits
from sciml_bench.measure.protocol import End, Enter, PhaseDone, PointDone, TrialDone, encode
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.perturbed_solve import PHASE as STABILITY
from sciml_bench.record.perturbed_solve import PerturbedSolve
from sciml_bench.record.point import CHECK, PointResult
from sciml_bench.record.record import Measurement
from sciml_bench.record.task import Point

OK = encode(End(Outcome.OK))


def measured(script: str, **changes: Any) -> Measurement:
    command = [sys.executable, "-S", "-c", f"import os, sys; sys.stdin.read()\n{script}"]
    return measure_cell(stub_task(**changes), Limits(timeout_s=60.0), command=command)


def points(outcome: Outcome) -> str:
    told = [
        PointDone(index, PointResult.failed(Point(1e-4, 1e-4), outcome, "solve", ""), complete=True)
        for index in range(3)
    ]
    return "".join(f"print({encode(event)!r}, flush=True)\n" for event in told)


class TestMistake8SuccessReportedAfterAnError:
    """A checker that prints "Looks OK" below its own error."""

    @pytest.mark.parametrize("outcome", [Outcome.INACCURATE, Outcome.NONFINITE, Outcome.RECOMPILED, Outcome.CRASH])
    def test_cell_whose_points_failed_is_not_ok_whatever_its_worker_says_in_the_end(self, outcome: Outcome):
        assert measured(f"{points(outcome)}print({OK!r}, flush=True)").outcome is outcome

    def test_cell_whose_worker_told_nothing_is_not_ok_however_cleanly_it_exits(self):
        measurement = measured(f"print({OK!r}, flush=True); sys.exit(0)")
        assert measurement.outcome is Outcome.CRASH
        assert {point.outcome for point in measurement.points} == {Outcome.CRASH}

    def test_failure_told_in_the_end_is_not_hidden_by_a_clean_exit(self):
        end = encode(End(Outcome.BUILD_ERROR, "build", "no device"))
        assert measured(f"print({end!r}, flush=True); sys.exit(0)").outcome is Outcome.BUILD_ERROR

    def test_error_before_the_end_of_the_points_is_told_although_the_points_before_it_are_ok(self):
        measurement = measured(f"{points(Outcome.OK).splitlines()[0]}\nos.kill(os.getpid(), 11)")
        assert [point.outcome for point in measurement.points] == [Outcome.OK, Outcome.CRASH, Outcome.CRASH]
        assert "died with SIGSEGV" in measurement.message

    def test_worker_that_dies_after_the_last_trial_adds_none(self):
        told = [
            Enter(STABILITY, 2), TrialDone(PerturbedSolve(0, 2, Outcome.OK, 0.0)), PhaseDone(STABILITY, 0, 0, 2),
        ]  # fmt: skip
        script = "".join(f"print({encode(event)!r}, flush=True)\n" for event in told)
        assert len(measured(f"{points(Outcome.OK)}{script}sys.exit(3)").stability) == 1
        in_it = f"{script}print({encode(Enter(STABILITY, 2))!r}, flush=True)\nsys.exit(3)"
        assert [trial.outcome for trial in measured(points(Outcome.OK) + in_it).stability] == [
            Outcome.OK,
            Outcome.CRASH,
        ]

    def test_points_that_were_not_to_be_measured_do_not_fail_with_the_check_after_them(self):
        told = f"{points(Outcome.OK).splitlines()[0]}\nprint({encode(Enter(CHECK, 0))!r}, flush=True)\nsys.exit(3)"
        assert len(measured(told, enough_digits=3.0).points) == 1
        assert len(measured(told).points) == 3

    def test_calls_that_were_not_requested_have_no_outcome(self):
        (point,) = measured("sys.exit(3)", calls=("solve",), points=(Point(1e-4, 1e-4),)).points
        assert (point.outcome, point.solve.outcome, point.gradient.outcome) == (Outcome.CRASH, Outcome.CRASH, None)


@pytest.mark.usefixtures("stub_path")
class TestMistake10TheClockIsTheAdapter:
    """An adapter that replaces the functions of the module ``time``."""

    def test_its_calls_take_as_long_as_they_take(self):
        measurement = measure_cell(stub_task("stubs.liars:ReplacesTheClock"), Limits(timeout_s=60.0))
        assert measurement.outcome is Outcome.OK
        assert all(min(point.solve.ns) >= 2_000_000 for point in measurement.points)

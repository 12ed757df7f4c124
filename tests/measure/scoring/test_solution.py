"""Scores against numbers worked out by hand."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from sciml_bench.measure.scoring.solution import solve_scores
from sciml_bench.record.task import Reference

TRUTH = ((1.0, 0.0, 100.0), (2.0, 0.0, 1e-6))


def reference(*, rows: tuple[int, ...] = (0, 1), digits: float = 15.0) -> Reference:
    return Reference("exact", rows, tuple(TRUTH[row] for row in rows), (digits,) * 3)


def test_digits_of_the_solution():
    ys = np.array([[1.0, 0.0, 100.0], [2.0 + 2e-4, 1e-3, 1.1e-6]])
    scores, reason = solve_scores(ys, reference(), (1.0, 1.0, 1e-6), 0.1)
    assert scores["scd"] == pytest.approx(1.0)  # the last component is 10 % off; the second is zero and not counted
    assert scores["mescd"] == pytest.approx(-math.log10(0.05))  # 1e-7 / (1e-6 + 1e-6)
    assert scores["trajectory_error"] == pytest.approx(0.05)
    assert scores["below_reference"] is False
    assert reason == ""


def test_trajectory_error_sees_rows_before_the_end():
    ys = np.array([[1.5, 0.0, 100.0], [2.0, 0.0, 1e-6]])
    scores, reason = solve_scores(ys, reference(), (1.0, 1.0, 1.0), 0.1)
    assert scores["trajectory_error"] == pytest.approx(0.25)
    assert scores["mescd"] == pytest.approx(15.0 + math.log10(3 / 2))
    assert reason == ""


def test_miss_names_error_and_bound():
    ys = np.array([[1.0, 0.0, 100.0], [4.0, 0.0, 1e-6]])
    _, reason = solve_scores(ys, reference(), (1.0, 1.0, 1.0), 1e-3)
    assert reason == "the mixed error at t1 is 6.7e-01, its bound 1.0e-03"


def test_score_is_never_better_than_the_reference():
    scores, _ = solve_scores(np.array(TRUTH), reference(digits=4.0), (0.0, 0.0, 0.0), 1e-3)
    assert scores["scd"] == pytest.approx(4.0)
    assert scores["mescd"] == pytest.approx(4.0)
    assert scores["below_reference"] is True


def test_reference_that_is_exact_is_capped_at_double_precision():
    scores, _ = solve_scores(np.array(TRUTH), reference(digits=40.0), (0.0, 0.0, 0.0), 1e-3)
    assert scores["scd"] == pytest.approx(-math.log10(np.finfo(float).eps))


def test_uncertainty_of_the_reference_is_not_held_against_the_solution():
    ys = np.array(TRUTH) * (1.0 + 9e-3)
    assert solve_scores(ys, reference(digits=2.0), (0.0, 0.0, 0.0), 1e-4)[1] == ""
    assert solve_scores(ys, reference(digits=3.0), (0.0, 0.0, 0.0), 1e-4)[1] != ""


def test_reference_without_the_end_gives_no_digits_but_gates():
    ys = np.array([[2.0, 0.0, 100.0], [0.0, 0.0, 0.0]])
    scores, reason = solve_scores(ys, reference(rows=(0,)), (1.0, 1.0, 1.0), 0.1)
    assert (scores["scd"], scores["mescd"]) == (None, None)
    assert scores["trajectory_error"] == pytest.approx(0.5)
    assert "mixed error is 5.0e-01" in reason


def test_components_that_the_reference_does_not_know_do_not_count():
    known = Reference("published", (0, 1), ((None, None, 100.0), (2.0, None, None)), (12.0, 0.0, 12.0))
    ys = np.array([[9.0, 9.0, 101.0], [2.02, -7.0, 55.0]])
    scores, reason = solve_scores(ys, known, (0.0, 1.0, 0.0), 0.1)
    assert scores["scd"] == pytest.approx(2.0)
    assert scores["mescd"] == pytest.approx(2.0)
    assert scores["trajectory_error"] == pytest.approx(0.01)
    assert scores["below_reference"] is False
    assert reason == ""
    wrong = np.array([[1.0, 1.0, 100.0], [-2.0, 0.0, 0.0]])
    assert "mixed error at t1 is 2.0e+00" in solve_scores(wrong, known, (0.0, 1.0, 0.0), 0.1)[1]


def test_a_component_that_is_not_known_does_not_make_the_others_look_uncertain():
    known = Reference("published", (1,), ((2.0, None, 1e-6),), (15.0, 0.0, 15.0))
    scores, _ = solve_scores(np.array(TRUTH), known, (0.0, 0.0, 0.0), 1e-3)
    assert scores["scd"] == pytest.approx(15.0)


def test_the_truth_of_a_large_batch_is_that_of_its_first_trajectories():
    ys = np.array([[1.0, 0.0, 100.0, 7.0], [2.2, 0.0, 1e-6, -7.0]])
    partial = dataclasses.replace(reference(), kind="double")
    scores, _ = solve_scores(ys, partial, (1.0, 1.0, 1.0, 1.0), 0.1)
    assert scores["trajectory_error"] == pytest.approx(0.2 / 3)
    assert scores.pop("scored_components") == 3
    assert solve_scores(ys[:, :3], partial, (1.0, 1.0, 1.0), 0.1)[0] == scores
    # Any other truth of another size is a mistake.
    with pytest.raises(ValueError, match="broadcast"):
        solve_scores(ys, reference(), (1.0, 1.0, 1.0, 1.0), 0.1)

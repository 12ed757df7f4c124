"""Parity: what is wrong in an output, a loss or a gradient is seen, and where its bound lies."""

from __future__ import annotations

import numpy as np

from sciml_bench.measure.scoring.parity import BOUNDS, gradient_parity, output_scores
from sciml_bench.models.directions import directions
from sciml_bench.record.model_task import ModelTruth

GRADIENT = np.linspace(-1.0, 2.0, 50)
OUTPUTS = ((1.0, 2.0), (3.0, -4.0))
LOSSES = (0.5, 1.5)
SEED = 3


def truth() -> ModelTruth:
    slopes = tuple((float(GRADIENT @ d), float(GRADIENT @ d)) for d in directions(50, SEED))
    return ModelTruth("extended", OUTPUTS, LOSSES, slopes, SEED, 12.0)


def test_what_is_right_keeps_the_bound_of_doubles() -> None:
    scores, reason = output_scores(np.array(OUTPUTS), truth(), BOUNDS["float64"])
    assert (reason, scores["output_error"]) == ("", float(np.finfo(float).eps))
    scores, reason = gradient_parity(1.0, GRADIENT, 2, truth(), BOUNDS["float64"])
    assert reason == ""
    assert scores["gradient_norm"] == float(np.linalg.norm(GRADIENT))


def test_a_wrong_output_is_seen() -> None:
    wrong = np.array(OUTPUTS) * (1 + 3e-5)
    assert "output is 3.0e-05, its bound 1.0e-05" in output_scores(wrong, truth(), BOUNDS["float32"])[1]


def test_only_samples_that_the_reference_covers_are_looked_at() -> None:
    more = np.vstack([np.array(OUTPUTS), np.full((3, 2), 9.0)])
    assert output_scores(more, truth(), BOUNDS["float64"])[1] == ""


def test_a_loss_of_another_batch_is_seen() -> None:
    assert "loss" in gradient_parity(1.0, GRADIENT, 1, truth(), BOUNDS["float32"])[1]


def test_one_wrong_component_of_a_gradient_is_seen() -> None:
    for place in (0, 17, 49):
        wrong = GRADIENT.copy()
        wrong[place] += 1e-3
        assert "gradient" in gradient_parity(1.0, wrong, 2, truth(), BOUNDS["float32"])[1]


def test_permuted_weights_are_seen() -> None:
    assert "gradient" in gradient_parity(1.0, GRADIENT[::-1].copy(), 2, truth(), BOUNDS["bfloat16"])[1]

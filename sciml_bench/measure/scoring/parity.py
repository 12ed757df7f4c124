"""Parity of a model: its output, loss and gradient against the extended-precision reference, before any time counts."""

from __future__ import annotations

import numpy as np

from sciml_bench.adapters.program import FloatArray
from sciml_bench.models.directions import directions
from sciml_bench.record.model_task import ModelTruth
from sciml_bench.record.point import Scores, finite
from sciml_bench.record.task import TF32

EPSILON = float(np.finfo(np.float64).eps)


BOUNDS = {"float64": 1e-10, "float32": 1e-5, TF32: 1e-2, "bfloat16": 5e-2}
"""The largest relative error of each precision. TF32 has eleven bits, bfloat16 eight: a few roundings."""


def output_scores(outputs: FloatArray, truth: ModelTruth, bound: float) -> tuple[Scores, str]:
    """The relative error of the outputs (batch, n_outputs) of the samples that the reference covers, and the reason why
    it misses the bound (empty when it does not)."""
    covered = min(len(outputs), len(truth.outputs))
    error = _relative(np.asarray(outputs)[:covered], np.asarray(truth.outputs)[:covered])
    return {"output_error": finite(error)}, _far_off("output", error, bound)


def slopes_of(gradient: FloatArray, truth: ModelTruth) -> FloatArray:
    """The products of a gradient (n_weights,) with the truth's directions: (n_directions,)."""
    return np.array([gradient @ direction for direction in directions(len(gradient), truth.direction_seed)])


def loss_error(loss: float, batch: int, truth: ModelTruth) -> float:
    """The relative error of the loss of a batch."""
    return _relative(np.array([loss]), np.array([np.mean(truth.losses[:batch])]))


def slope_error(slopes: FloatArray, batch: int, truth: ModelTruth) -> float:
    """The relative error of a batch's slopes (n_directions,) in the Euclidean norm."""
    return _relative(slopes, np.asarray(truth.slopes)[:, :batch].mean(axis=1))


def gradient_parity(
    loss: float, gradient: FloatArray, batch: int, truth: ModelTruth, bound: float
) -> tuple[Scores, str]:
    """The relative errors of the loss of a batch and of its slopes by the gradient (n_weights,), with its norm."""
    of_loss, of_slopes = loss_error(loss, batch, truth), slope_error(slopes_of(gradient, truth), batch, truth)
    scores: Scores = {
        "loss_error": finite(of_loss),
        "slope_error": finite(of_slopes),
        "gradient_norm": finite(float(np.linalg.norm(gradient))),
    }
    # The reference's own uncertainty is granted.
    floor = 10.0**-truth.slope_digits
    return scores, _far_off("loss", of_loss, bound) or _far_off("gradient", of_slopes, bound + floor)


def _relative(found: np.ndarray, truth: np.ndarray) -> float:
    error, size = float(np.linalg.norm(found - truth)), float(np.linalg.norm(truth))
    return max(error / size, EPSILON) if size else error


def _far_off(name: str, error: float, bound: float) -> str:
    return "" if error <= bound else f"the relative error of the {name} is {error:.1e}, its bound {bound:.1e}"

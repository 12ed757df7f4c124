"""Slopes of a model's losses by complex steps: without differences no step must be chosen."""

from __future__ import annotations

import numpy as np

from sciml_bench.models.directions import directions
from sciml_bench.models.forward import losses, outputs
from sciml_bench.models.model import Model
from sciml_bench.models.samples import load_samples
from sciml_bench.record.model_task import ModelTruth

_STEP = 1e-30

#: Samples whose slopes are checked along each direction; those of the next direction are others.
SAMPLES = 8


def disagreement(model: Model, truth: ModelTruth, samples: int = SAMPLES) -> float:
    """The largest relative distance, over the directions, of stored slopes from those computed here."""
    data = load_samples(model.data)
    rows = data.train[: len(truth.losses)]
    theta = np.array(model.weights, dtype=np.clongdouble)
    worst = 0.0
    for k, (direction, stored) in enumerate(
        zip(directions(len(theta), truth.direction_seed), truth.slopes, strict=True)
    ):
        chosen = [(k * samples + i) % len(rows) for i in range(min(samples, len(rows)))]
        moved = theta + 1j * np.longdouble(_STEP) * direction
        found = losses(model.loss, outputs(model, moved, data.inputs[rows[chosen]]), data.labels[rows[chosen]])
        slopes = np.asarray(np.imag(found) / np.longdouble(_STEP), dtype=np.float64)
        expected = np.array(stored)[chosen]
        size = max(float(np.linalg.norm(slopes)), np.finfo(np.float64).tiny)
        worst = max(worst, float(np.linalg.norm(slopes - expected)) / size)
    return worst

"""Slopes of a model's losses by complex steps: without differences there is no step to choose and none to err by.

The derivative of f along d is the imaginary part of f(θ + i h d) / h for a step h far below all rounding. Where central
differences made a truth, this checks it by another way.
"""

from __future__ import annotations

import numpy as np

from sciml_bench.learning import ModelTruth
from sciml_bench.problem.architecture.directions import directions
from sciml_bench.problem.architecture.model import Architecture
from sciml_bench.problem.architecture.samples import load_samples
from sciml_bench.reference.model.forward import losses, outputs

_STEP = 1e-30
#: Samples whose slopes are checked along each direction; those of the next direction are others.
SAMPLES = 8


def disagreement(model: Architecture, truth: ModelTruth, samples: int = SAMPLES) -> float:
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

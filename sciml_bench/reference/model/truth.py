"""The stored truth about a model: ``NAME.reference.json`` beside its file, made by central differences.

Outputs and losses are computed in extended precision (64 bits of mantissa) and rounded to double. Slopes are
derivatives of each sample's loss along seeded random directions in the space of the weights, by central differences
with two steps and Richardson's extrapolation; the disagreement of the two says how far they can be trusted. A gradient
is right when its products with the directions are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from sciml_bench import __version__, learning
from sciml_bench.errors import StoreError
from sciml_bench.learning import ModelTruth
from sciml_bench.problem.architecture.directions import directions
from sciml_bench.problem.architecture.model import Architecture
from sciml_bench.problem.architecture.samples import load_samples
from sciml_bench.reference.model.forward import EXTENDED, losses, outputs

SCHEMA = 1
DIRECTION_SEED = 20_261_121
# The first is so short that hardly a rectified unit changes sign within it, and rounding is near 1e-11 of a slope.
STEPS = (2.0**-24, 2.0**-27, 2.0**-30)
_GOOD = 1e-9
_STORED_NUMBERS = 4_000
_CHUNK = 16


def compute(model: Architecture) -> ModelTruth:
    """The truth about the first samples of the training part, as many as the largest batch.

    Raises:
        StoreError: this machine's ``longdouble`` is no better than double precision.
    """
    if np.finfo(EXTENDED).nmant < 63:
        raise StoreError("references of models need NumPy's extended precision, which this processor does not have")
    samples = load_samples(model.data)
    rows = samples.train[: model.batches[-1]]
    theta = np.array(model.weights, dtype=EXTENDED)
    inputs, labels = samples.inputs[rows], samples.labels[rows]
    covered = max(1, min(len(rows), _STORED_NUMBERS // model.n_outputs))
    found = outputs(model, theta, inputs[:covered]).reshape(covered, -1)
    slopes = [_slopes(model, theta, direction, inputs, labels) for direction in directions(len(theta), DIRECTION_SEED)]
    errors = [error for _, error in slopes]
    return ModelTruth(
        kind=learning.EXTENDED,
        outputs=tuple(tuple(map(float, row)) for row in found),
        losses=tuple(map(float, _losses(model, theta, inputs, labels))),
        slopes=tuple(tuple(map(float, slope)) for slope, _ in slopes),
        direction_seed=DIRECTION_SEED,
        slope_digits=round(-math.log10(max(max(errors), 1e-16)), 1),
    )


def compute_losses(model: Architecture) -> tuple[float, ...]:
    """The losses of the samples that a reference of the model has."""
    samples = load_samples(model.data)
    rows = samples.train[: model.batches[-1]]
    theta = np.array(model.weights, dtype=EXTENDED)
    return tuple(map(float, _losses(model, theta, samples.inputs[rows], samples.labels[rows])))


def _losses(model: Architecture, theta: np.ndarray, inputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    # In parts: extended precision takes sixteen bytes a number.
    parts = range(0, len(inputs), _CHUNK)
    return np.concatenate(
        [losses(model.loss, outputs(model, theta, inputs[k : k + _CHUNK]), labels[k : k + _CHUNK]) for k in parts]
    )


def _slopes(
    model: Architecture, theta: np.ndarray, direction: np.ndarray, inputs: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, float]:
    """The derivative of each sample's loss along a direction, and the relative disagreement of two steps.

    Where a rectified unit changes sign within the steps, they disagree, and shorter ones are tried; the best counts.
    """

    def difference(step: float) -> np.ndarray:
        ahead = _losses(model, theta + EXTENDED(step) * direction, inputs, labels)
        back = _losses(model, theta - EXTENDED(step) * direction, inputs, labels)
        return (ahead - back) / (2 * EXTENDED(step))

    found: list[tuple[np.ndarray, float]] = []
    for step in STEPS:
        coarse, fine = difference(step), difference(step / 2)
        size = float(np.linalg.norm(fine.astype(np.float64)))
        apart = float(np.linalg.norm((fine - coarse).astype(np.float64)))
        found.append(((4 * fine - coarse) / 3, apart / size if size else 0.0))
        if found[-1][1] <= _GOOD:
            break
    return min(found, key=lambda pair: pair[1])


def truth_path(model: Architecture) -> Path:
    """Where the truth about a model is kept."""
    return Path(model.path).with_suffix(".reference.json")


def write(model: Architecture, truth: ModelTruth) -> Path:
    """Keep a truth beside the model's file."""
    content = {
        "schema": SCHEMA,
        "problem": model.name,
        "spec_hash": model.spec_hash,
        "command": f"sciml-bench reference compute {model.name}",
        "versions": {"sciml-bench": __version__, "numpy": np.__version__},
        **asdict(truth),
    }
    path = truth_path(model)
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return path


def stored(model: Architecture) -> ModelTruth | None:
    """The truth beside a model's file; ``None`` where there is no such file.

    Raises:
        StoreError: the file belongs to another version of the model, or is no reference.
    """
    path = truth_path(model)
    if not path.is_file():
        return None
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        stale = data["spec_hash"] != model.spec_hash
        truth = ModelTruth(
            kind=data["kind"],
            outputs=tuple(map(tuple, data["outputs"])),
            losses=tuple(data["losses"]),
            slopes=tuple(map(tuple, data["slopes"])),
            direction_seed=data["direction_seed"],
            slope_digits=data["slope_digits"],
        )
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path} is no reference of a model: {error!r}; {_again(model)}") from None
    if stale or len(truth.losses) < model.batches[-1]:
        raise StoreError(f"{path} belongs to another version of {model.name}; {_again(model)}")
    return truth


def known_or_computed(model: Architecture, announce: Callable[[str], object]) -> ModelTruth:
    """The stored truth; for a model of the user's own, which has none, it is computed and not kept.

    Raises:
        StoreError: a stored one is stale, or this machine cannot compute one.
    """
    truth = stored(model)
    if truth is None:
        announce(f"computing the reference of {model.name} in extended precision ({model.n_weights} weights)")
        truth = compute(model)
    return truth


def _again(model: Architecture) -> str:
    return f"compute it anew: sciml-bench reference compute {model.name}"

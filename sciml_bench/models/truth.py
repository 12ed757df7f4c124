"""The stored truth about a model: ``NAME.reference.json`` next to its file, made by central differences.

Outputs and losses are computed in extended precision (64 bits of mantissa) and rounded to double. Slopes are
derivatives of each sample's loss along seeded random directions in the space of the weights, by central differences
with two steps and Richardson's extrapolation; the disagreement of the two says how far they can be trusted. A gradient
is right when its products with the directions are.

A model of the user's own has no stored truth. Where extended precision, which no fast library multiplies in, would take
longer than a minute, double precision takes its place: its slopes are known to fewer digits, and the record says so.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from sciml_bench import __version__
from sciml_bench.errors import StoreError
from sciml_bench.models.directions import N_DIRECTIONS, directions
from sciml_bench.models.forward import EXTENDED, losses, outputs
from sciml_bench.models.model import Model
from sciml_bench.models.samples import load_samples
from sciml_bench.record import model_task
from sciml_bench.record.codec import parse
from sciml_bench.record.model_task import ModelTruth

SCHEMA = 1
DIRECTION_SEED = 20_261_121
# The first is so short that hardly a rectified unit changes sign within it, and rounding is near 1e-11 of a slope; with
# doubles it is near 1e-9.
STEPS = {model_task.EXTENDED: (2.0**-24, 2.0**-27, 2.0**-30), model_task.DOUBLE: (2.0**-24, 2.0**-26, 2.0**-28)}
AFFORDABLE_S = 60.0
_TYPES: dict[str, type[np.floating[Any]]] = {model_task.EXTENDED: EXTENDED, model_task.DOUBLE: np.float64}
_GOOD = 1e-9
_STORED_NUMBERS = 4_000
_CHUNK = 16


def compute(model: Model, kind: str = model_task.EXTENDED) -> ModelTruth:
    """The truth about the first samples of the training part, as many as the largest batch, in the precision ``kind``.

    Raises:
        StoreError: this machine's ``longdouble`` is no better than double precision.
    """
    if kind == model_task.EXTENDED and not _has_extended():
        raise StoreError("references of models need NumPy's extended precision, which this processor does not have")
    theta, inputs, labels = _case(model, kind)
    covered = max(1, min(len(inputs), _STORED_NUMBERS // model.n_outputs))
    found = outputs(model, theta, inputs[:covered]).reshape(covered, -1)
    slopes = [
        _slopes(model, theta, direction, inputs, labels, STEPS[kind])
        for direction in directions(len(theta), DIRECTION_SEED)
    ]
    errors = [error for _, error in slopes]
    return ModelTruth(
        kind=kind,
        outputs=tuple(tuple(map(float, row)) for row in found),
        losses=tuple(map(float, _losses(model, theta, inputs, labels))),
        slopes=tuple(tuple(map(float, slope)) for slope, _ in slopes),
        direction_seed=DIRECTION_SEED,
        slope_digits=round(-math.log10(max(max(errors), 1e-16)), 1),
    )


def compute_losses(model: Model) -> tuple[float, ...]:
    """The losses of the samples that a reference of the model has."""
    return tuple(map(float, _losses(model, *_case(model, model_task.EXTENDED))))


def expected_s(model: Model, kind: str) -> float:
    """About how many seconds :func:`compute` takes, from a few samples that are computed for it."""
    theta, inputs, labels = _case(model, kind)
    few = min(len(inputs), _CHUNK)
    start = time.perf_counter()
    _losses(model, theta, inputs[:few], labels[:few])
    # Two steps with two sides each for every direction, and the values themselves; more where a unit is rectified.
    return (time.perf_counter() - start) * len(inputs) / few * (2 + 4 * N_DIRECTIONS)


def _has_extended() -> bool:
    return np.finfo(EXTENDED).nmant >= 63


def _case(model: Model, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The weights in a precision, and the inputs and labels of the samples that the truth is about."""
    samples = load_samples(model.data)
    rows = samples.train[: model.batches[-1]]
    return np.array(model.weights, dtype=_TYPES[kind]), samples.inputs[rows], samples.labels[rows]


def _losses(model: Model, theta: np.ndarray, inputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    # In parts: extended precision takes sixteen bytes a number.
    parts = range(0, len(inputs), _CHUNK)
    return np.concatenate(
        [losses(model.loss, outputs(model, theta, inputs[k : k + _CHUNK]), labels[k : k + _CHUNK]) for k in parts]
    )


def _slopes(
    model: Model,
    theta: np.ndarray,
    direction: np.ndarray,
    inputs: np.ndarray,
    labels: np.ndarray,
    steps: Sequence[float],
) -> tuple[np.ndarray, float]:
    """The derivative of each sample's loss along a direction, and the relative disagreement of two steps.

    Where a rectified unit changes sign within the steps, they disagree, and shorter ones are tried; the best counts.
    """

    def difference(step: float) -> np.ndarray:
        exact = theta.dtype.type(step)
        ahead = _losses(model, theta + exact * direction, inputs, labels)
        back = _losses(model, theta - exact * direction, inputs, labels)
        return (ahead - back) / (2 * exact)

    found: list[tuple[np.ndarray, float]] = []
    for step in steps:
        coarse, fine = difference(step), difference(step / 2)
        size = float(np.linalg.norm(fine.astype(np.float64)))
        apart = float(np.linalg.norm((fine - coarse).astype(np.float64)))
        found.append(((4 * fine - coarse) / 3, apart / size if size else 0.0))
        if found[-1][1] <= _GOOD:
            break
    return min(found, key=lambda pair: pair[1])


def truth_path(model: Model) -> Path:
    """Path of the truth about a model."""
    return Path(model.path).with_suffix(".reference.json")


def write(model: Model, truth: ModelTruth) -> Path:
    """Write a truth next to the model's file."""
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


def stored(model: Model) -> ModelTruth | None:
    """The truth next to a model's file; ``None`` without that file.

    Raises:
        StoreError: the file belongs to another version of the model, or is not a reference.
    """
    path = truth_path(model)
    if not path.is_file():
        return None
    try:
        data: dict[str, Any] = parse(path.read_text(encoding="utf-8"))
        stale = data["spec_hash"] != model.spec_hash
        truth = ModelTruth(
            kind=data["kind"],
            outputs=tuple(map(tuple, data["outputs"])),
            losses=tuple(data["losses"]),
            slopes=tuple(map(tuple, data["slopes"])),
            direction_seed=data["direction_seed"],
            slope_digits=data["slope_digits"],
        )
    except (OSError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise StoreError(f"{path} is not a reference of a model: {error!r}; {_again(model)}") from None
    if stale or len(truth.losses) < model.batches[-1]:
        raise StoreError(f"{path} belongs to another version of {model.name}; {_again(model)}")
    return truth


def known_or_computed(model: Model, announce: Callable[[str], object]) -> ModelTruth:
    """The stored truth; for a model of the user's own, which has none, it is computed and not kept.

    Raises:
        StoreError: a stored one is stale.
    """
    truth = stored(model)
    if truth is not None:
        return truth
    kind, seconds = model_task.DOUBLE, math.inf
    if _has_extended():
        seconds = expected_s(model, model_task.EXTENDED)
        kind = model_task.EXTENDED if seconds <= AFFORDABLE_S else model_task.DOUBLE
    if kind == model_task.DOUBLE:
        seconds = expected_s(model, model_task.DOUBLE)
    announce(
        f"computing the reference of {model.name} in {kind} precision: {model.n_weights} weights, "
        f"{model.batches[-1]} samples, about {seconds:.0f} s"
        + (f" (a better one, once: sciml-bench reference compute {model.path})" if kind == model_task.DOUBLE else "")
    )
    return compute(model, kind)


def _again(model: Model) -> str:
    return f"recompute it with `sciml-bench reference compute {model.name}`"

"""Checks of what a model computed: parity within the bound of its precision, and computed again from the record."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sciml_bench.measure.scoring.parity import BOUNDS, loss_error, slope_error
from sciml_bench.record.model_task import DOUBLE, EXTENDED, ModelTruth
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import MAX_STORED_COMPONENTS, PointResult
from sciml_bench.record.record import Record

# Errors travel through JSON as doubles, but another processor may round a sum's last digits differently.
_TOLERANCE = 1e-2
_GRANTED = 1.1
# The slopes of a reference of a kind may be this wrong if the reference is not available to say so.
_UNKNOWN_SLOPES = {EXTENDED: 1e-9, DOUBLE: 1e-6}


def accuracy(record: Record) -> Iterator[str]:
    """Halves that are ok have errors within the bound of their precision."""
    bound = BOUNDS.get(record.cell.precision)
    if bound is None:
        yield f"no parity bound for {record.cell.precision}"
        return
    unknown = _UNKNOWN_SLOPES.get(record.reference_kind or "", 0.0)
    for point in record.points:
        if point.solve.outcome is Outcome.OK:
            yield from _within(point, "output_error", (point.solve.scores or {}).get("output_error"), bound * _GRANTED)
        if point.gradient.outcome is Outcome.OK:
            given = point.gradient.scores or {}
            yield from _within(point, "loss_error", given.get("loss_error"), bound * _GRANTED)
            yield from _within(point, "slope_error", given.get("slope_error"), bound * _GRANTED + unknown)


def scores(record: Record, truth: ModelTruth) -> Iterator[str]:
    """Errors computed again from the stored output, loss and slopes equal the record's."""
    for point in record.points:
        if point.solve.outcome is Outcome.OK:
            yield from _output(point, truth)
        if point.gradient.outcome is Outcome.OK:
            yield from _gradient(point, truth)


def _within(point: PointResult, name: str, error: object, bound: float) -> Iterator[str]:
    if not isinstance(error, int | float):
        yield f"a batch of {point.batch} is ok without its {name}"
    elif error > bound:
        yield f"a batch of {point.batch} is ok with a {name} of {error:.1e}, its bound is {bound:.1e}"


def _output(point: PointResult, truth: ModelTruth) -> Iterator[str]:
    """A record keeps the output of the last sample: of a batch of one all that was judged, of a larger one a part."""
    batch, kept = point.batch or 1, len(point.solve.end_state)
    if batch > len(truth.outputs):
        return
    expected = np.asarray(truth.outputs[:batch])
    if kept != min(expected.shape[1], MAX_STORED_COMPONENTS) or None in point.solve.end_state:
        yield f"a batch of {batch} is ok, but its output has {kept} finite values"
        return
    of_last = float(np.linalg.norm(np.asarray(point.solve.end_state, dtype=np.float64) - expected[-1, :kept]))
    least = of_last / float(np.linalg.norm(expected))
    given = (point.solve.scores or {}).get("output_error")
    whole = batch == 1 and kept == expected.shape[1]
    if given is None or given < least * (1.0 - _TOLERANCE) or (whole and _differ(given, least)):
        yield f"a batch of {batch} has an output_error of {_text(given)}, computed again {_text(least)}"


def _gradient(point: PointResult, truth: ModelTruth) -> Iterator[str]:
    batch, given = point.batch or 1, point.gradient.scores or {}
    if point.gradient.loss is None or not point.gradient.slopes:
        yield f"a batch of {batch} is ok without a loss and slopes"
        return
    slopes = np.asarray(point.gradient.slopes, dtype=np.float64)
    again = {
        "loss_error": loss_error(point.gradient.loss, batch, truth),
        "slope_error": slope_error(slopes, batch, truth),
    }
    for name, error in again.items():
        if _differ(given.get(name), error):
            yield f"a batch of {batch} has a {name} of {_text(given.get(name))}, computed again {_text(error)}"


def _differ(given: object, again: float) -> bool:
    # Errors of some roundings depend on the order of a sum.
    if not isinstance(given, int | float):
        return True
    return abs(given - again) > _TOLERANCE * max(given, again) + 16 * float(np.finfo(np.float64).eps)


def _text(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, int | float) else "none"

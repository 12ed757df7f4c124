"""Parity computed again from what a record keeps of a model: what was tampered with shows."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from stubs.points import changed
from stubs.records import stub_measurement
from stubs.tasks import stub_task

from sciml_bench.measure.scoring.parity import BOUNDS, gradient_parity, output_scores, slopes_of
from sciml_bench.models.directions import directions
from sciml_bench.record.model_task import EXTENDED, ModelTruth
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import GradientResult, PointResult, SolveResult
from sciml_bench.record.record import Placement, Record
from sciml_bench.verification import models

GRADIENT = np.linspace(-1.0, 2.0, 500)
OUTPUTS = np.array([[1.0, 2.0], [3.0, -4.0]])
LOSSES = (0.5, 1.5)
SEED = 3


def truth() -> ModelTruth:
    slopes = tuple((float(GRADIENT @ d), float(GRADIENT @ d)) for d in directions(len(GRADIENT), SEED))
    return ModelTruth(EXTENDED, tuple(map(tuple, OUTPUTS.tolist())), LOSSES, slopes, SEED, 12.0)


def point(batch: int, error: float = 1e-6) -> PointResult:
    """A point as the worker leaves it, all of whose results are off by so much."""
    outputs, gradient = OUTPUTS[:batch] * (1 + error), GRADIENT * (1 + error)
    loss = float(np.mean(LOSSES[:batch])) * (1 + error)
    return PointResult(
        rtol=0.0,
        atol=0.0,
        batch=batch,
        outcome=Outcome.OK,
        solve=SolveResult(
            outcome=Outcome.OK,
            scores=output_scores(outputs, truth(), BOUNDS["float32"])[0],
            end_state=tuple(map(float, outputs[-1])),
            state_size=2,
        ),
        gradient=GradientResult(
            outcome=Outcome.OK,
            scores=gradient_parity(loss, gradient, batch, truth(), BOUNDS["float32"])[0],
            loss=loss,
            values=tuple(gradient[:100]),
            size=len(gradient),
            slopes=tuple(map(float, slopes_of(gradient, truth()))),
        ),
    )


def record(*points: PointResult, precision: str = "float32") -> Record:
    task = stub_task()
    task = dataclasses.replace(task, cell=dataclasses.replace(task.cell, precision=precision))
    placement = Placement(
        cell_id="0" * 12, block=0, order=0, division="idiomatic", profile="quick", smoke_only=False, spec_hash="0" * 64
    )
    return Record.of(stub_measurement(points=points), task, placement, "0" * 64)


def found(*points: PointResult, precision: str = "float32") -> list[str]:
    judged = record(*points, precision=precision)
    return [*models.accuracy(judged), *models.scores(judged, truth())]


def test_what_a_worker_leaves_is_right():
    assert found(point(1), point(2)) == []
    assert found(point(1, error=0.0), precision="float64") == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"solve": {"end_state": (1.0, 2.001)}}, "output_error of 1e-06, computed again 0.000447"),
        ({"solve": {"end_state": (1.0,)}}, "its output has 1 finite values"),
        ({"gradient": {"loss": 0.51}}, "a loss_error of 1e-06, computed again 0.02"),
        ({"gradient": {"loss": None}}, "is ok without a loss and slopes"),
        ({"gradient": {"slopes": None}}, "is ok without a loss and slopes"),
        ({"gradient": {"slopes": (0.0,) * 8}}, "a slope_error of 1e-06, computed again 1"),
        ({"solve": {"scores": {"output_error": 1e-9}}}, "output_error of 1e-09, computed again 1e-06"),
        ({"solve": {"scores": None}}, "is ok without its output_error"),
        (
            {"gradient": {"scores": {"slope_error": 1e-6, "loss_error": 2e-5}}},
            "loss_error of 2.0e-05, its bound is 1.1e-05",
        ),
    ],
)
def test_what_was_tampered_with_shows(changes: dict[str, Any], expected: str):
    texts = found(changed(point(1), **changes))
    assert expected in "\n".join(texts)


def test_an_error_past_the_bound_of_the_precision_is_not_ok():
    texts = found(point(2), precision="float64")
    assert [next(word for word in text.split() if word.endswith("_error")) for text in texts] == [
        "output_error",
        "loss_error",
        "slope_error",
    ]


def test_of_a_larger_batch_the_last_sample_is_checked():
    last = changed(point(2), solve={"end_state": (3.0, -4.1)})
    assert any("output_error" in text for text in found(last))

"""References of models: recomputed in part, and the plain forward pass against formulas written another way."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from stubs.models import FLAT, model

from sciml_bench.errors import StoreError
from sciml_bench.models import truth
from sciml_bench.models.directions import directions
from sciml_bench.models.error_function import erf
from sciml_bench.models.forward import EXTENDED, losses, outputs
from sciml_bench.models.load import load_model
from sciml_bench.models.samples import load_samples
from sciml_bench.record.model_task import DOUBLE
from sciml_bench.record.model_task import EXTENDED as EXTENDED_KIND
from sciml_bench.spec import catalog

NAMES = [name for name in catalog.names() if catalog.header(name).suite == "conventional"]


def test_the_error_function_is_that_of_the_standard_library() -> None:
    x = np.linspace(-8, 8, 401)
    expected = [math.erf(value) for value in x]
    assert erf(x.astype(EXTENDED)).astype(np.float64) == pytest.approx(expected, rel=4e-16, abs=4e-16)


@pytest.mark.parametrize("name", NAMES)
def test_every_model_of_the_catalog_has_its_reference(name: str) -> None:
    found = load_model(catalog.path(name))
    stored = truth.stored(found)
    assert stored is not None
    assert len(stored.losses) == found.batches[-1]
    assert np.shape(stored.slopes) == (8, found.batches[-1])
    assert np.shape(stored.outputs)[1] == found.n_outputs
    # Enough for the bound of double precision where nothing is rectified, and for that of single precision anywhere.
    assert stored.slope_digits > 5.5


@pytest.mark.parametrize("name", ["lenet-digits", "gpt-text"])
def test_a_part_of_a_stored_reference_is_computed_again(name: str) -> None:
    found = load_model(catalog.path(name))
    stored = truth.stored(found)
    assert stored is not None
    samples = load_samples(found.data)
    rows = samples.train[:2]
    theta = np.array(found.weights, dtype=EXTENDED)
    output = outputs(found, theta, samples.inputs[rows])
    assert output.reshape(2, -1)[: len(stored.outputs)].astype(np.float64) == pytest.approx(
        np.array(stored.outputs[:2]), rel=1e-15, abs=1e-16
    )
    assert losses(found.loss, output, samples.labels[rows]).astype(float).tolist() == pytest.approx(
        list(stored.losses[:2]), rel=1e-15
    )
    direction = next(directions(len(theta), stored.direction_seed))
    step = EXTENDED(2.0**-23)
    ahead, back = (
        losses(found.loss, outputs(found, theta + sign * step * direction, samples.inputs[rows]), samples.labels[rows])
        for sign in (1, -1)
    )
    slopes = ((ahead - back) / (2 * step)).astype(float)
    assert slopes.tolist() == pytest.approx(list(stored.slopes[0][:2]), rel=1e-6)


def test_a_convolution_is_its_sum() -> None:
    """One output pixel of the strided convolution by four nested sums."""
    found = load_model(catalog.path("lenet-digits"))
    samples = load_samples(found.data)
    kernel = np.array(found.weights[: 16 * 9]).reshape(16, 1, 3, 3)
    bias = np.array(found.weights[16 * 9 : 16 * 10])
    image = samples.inputs[5, 0]
    expected = bias[2] + sum(kernel[2, 0, i, j] * image[3 + i - 1, 4 + j - 1] for i in range(3) for j in range(3))
    from sciml_bench.models.forward import _conv2d

    found_pixel = _conv2d(samples.inputs[5:6], kernel, bias, 1, 1)[0, 2, 3, 4]
    assert found_pixel == pytest.approx(expected, rel=1e-14)


def test_a_later_character_does_not_change_an_earlier_output(tmp_path: Path) -> None:
    found = model(tmp_path, "text")
    theta = np.array(found.weights)
    tokens = load_samples(found.data).inputs[:1]
    changed = tokens.copy()
    changed[0, 5] = (changed[0, 5] + 1) % 88
    before, after = outputs(found, theta, tokens), outputs(found, theta, changed)
    assert np.array_equal(before[0, :5], after[0, :5])
    assert not np.array_equal(before[0, 5:], after[0, 5:])


def test_slopes_are_those_of_a_model_whose_gradient_is_known(tmp_path: Path) -> None:
    """A single dense layer under the mean square: the slope along d is 2 mean(y · (dW x + db))."""
    start, end = FLAT.index("[[layers]]"), FLAT.index('[[layers]]\nkind = "flatten"')
    text = FLAT[start:end]
    found = model(tmp_path, "flat", (text, ""))
    told = truth.compute(found)
    samples = load_samples(found.data)
    x = samples.inputs[samples.train[:2]].reshape(2, -1)
    weight, bias = np.array(found.weights[:-4]).reshape(4, -1), np.array(found.weights[-4:])
    y = x @ weight.T + bias
    direction = next(directions(found.n_weights, told.direction_seed))
    moved = x @ direction[:-4].reshape(4, -1).T + direction[-4:]
    assert list(told.slopes[0]) == pytest.approx((2 * y * moved).mean(axis=1).tolist(), rel=1e-10)
    assert told.slope_digits > 9


def test_a_stale_reference_is_refused(tmp_path: Path) -> None:
    found = model(tmp_path, "flat")
    path = truth.write(found, truth.compute(found))
    assert truth.stored(found) is not None
    data = json.loads(path.read_text())
    path.write_text(json.dumps(data | {"spec_hash": "0"}))
    with pytest.raises(StoreError, match="reference compute flat"):
        truth.stored(found)
    path.write_text("{")
    with pytest.raises(StoreError, match="not a reference"):
        truth.stored(found)


@pytest.mark.parametrize("name", ["every-kind", "flat"])
def test_double_precision_agrees_as_far_as_it_says(tmp_path: Path, name: str) -> None:
    found = model(tmp_path, name)
    extended, double = truth.compute(found), truth.compute(found, DOUBLE)
    assert (extended.kind, double.kind) == (EXTENDED_KIND, DOUBLE)
    assert np.array(double.outputs) == pytest.approx(np.array(extended.outputs), rel=1e-12, abs=1e-14)
    assert double.losses == pytest.approx(extended.losses, rel=1e-13)
    apart = np.linalg.norm(np.array(double.slopes) - np.array(extended.slopes)) / np.linalg.norm(extended.slopes)
    assert apart < 100 * 10.0**-double.slope_digits
    assert double.slope_digits > 6


def test_double_precision_is_taken_where_extended_would_take_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    assert truth.known_or_computed(model(tmp_path, "flat"), told.append).kind == EXTENDED_KIND
    monkeypatch.setattr(truth, "AFFORDABLE_S", 0.0)
    assert truth.known_or_computed(model(tmp_path, "flat"), told.append).kind == DOUBLE
    assert "in extended precision" in told[0]
    assert "in double precision" in told[1]
    assert "sciml-bench reference compute" in told[1]

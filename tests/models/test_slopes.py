"""Slopes by complex steps hold stored ones, and see those that are wrong."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from sciml_bench.cli import model_reference
from sciml_bench.models import truth
from sciml_bench.models.complex_steps import SAMPLES, disagreement
from sciml_bench.models.error_function import erf
from sciml_bench.models.load import load_model
from sciml_bench.spec import catalog

NAMES = ("lenet-digits", "encoder-digits", "resnet-digits", "matrix-exponential")


@pytest.mark.parametrize("name", NAMES)
def test_stored_slopes_are_those_of_complex_steps(name: str) -> None:
    model = load_model(catalog.path(name))
    stored = truth.stored(model)
    assert stored is not None
    assert disagreement(model, stored) < 1e-10


def test_a_wrong_slope_along_any_direction_is_seen() -> None:
    model = load_model(catalog.path("lenet-digits"))
    stored = truth.stored(model)
    assert stored is not None
    for k in range(len(stored.slopes)):
        slopes = [list(row) for row in stored.slopes]
        slopes[k][k * SAMPLES % len(slopes[k])] *= 1 + 1e-6
        wrong = dataclasses.replace(stored, slopes=tuple(map(tuple, slopes)))
        assert disagreement(model, wrong) > 1e-9


def test_check_fails_on_wrong_slopes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    model = load_model(catalog.path("lenet-digits"))
    stored = truth.stored(model)
    assert stored is not None
    assert model_reference.check(model)
    wrong = tuple(tuple(-value for value in row) for row in stored.slopes)
    monkeypatch.setattr(truth, "stored", lambda _: dataclasses.replace(stored, slopes=wrong))
    assert not model_reference.check(model)
    assert "FAILED" in capsys.readouterr().out.splitlines()[-1]


def test_the_error_function_has_a_complex_step() -> None:
    x = np.linspace(-3, 3, 41).astype(np.longdouble)
    slope = np.imag(erf(x + 1j * np.longdouble(1e-30))) / np.longdouble(1e-30)
    expected = 2 / np.sqrt(np.pi) * np.exp(-(x.astype(float) ** 2))
    assert slope.astype(float) == pytest.approx(expected, rel=1e-15)

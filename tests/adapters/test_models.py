"""Models in every framework: parity with the reference for every kind of layer, the same training, honest refusals."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from adapters.findings import findings
from needs import skip_without
from stubs.models import TEXTS

from sciml_bench.record.codec import decode
from sciml_bench.record.training import Trained

TRAINING = ("torch", "jax", "keras")
ADAPTERS = (*TRAINING, "onnxruntime")


CASES = [
    pytest.param(adapter, name, marks=[pytest.mark.slow] if adapter == "jax" and name != "every-kind" else [])
    for adapter in ADAPTERS
    for name in TEXTS
]


@cache
def found(adapter: str, everything: bool = False) -> dict[str, Any]:
    """The findings of one framework, from a process of its own that sees no GPU."""
    skip_without(adapter)
    variables = {"MODELS_ALL": "1"} if everything else {}
    return findings("in_models.py", timeout_s=600.0, MODELS_ADAPTER=adapter, CUDA_VISIBLE_DEVICES="", **variables)


@pytest.mark.parametrize(("adapter", "name"), CASES)
def test_every_kind_of_layer_keeps_parity(adapter: str, name: str) -> None:
    told = found(adapter, adapter == "jax" and name != "every-kind")[name]
    assert told["end"]["outcome"] == "ok", told["end"]["message"]
    bound = 1e-5 if adapter == "onnxruntime" else 1e-10
    for point in told["points"]:
        assert (point["solve"]["outcome"], point["message"]) == ("ok", "")
        assert point["solve"]["scores"]["output_error"] <= bound
        assert len(point["solve"]["ns"]) == 3
        if adapter in TRAINING:
            assert point["gradient"]["outcome"] == "ok"
            assert point["gradient"]["scores"]["loss_error"] <= bound
            assert point["gradient"]["scores"]["slope_error"] <= 2 * bound


def test_a_framework_that_infers_tells_nothing_of_gradients() -> None:
    for point in found("onnxruntime")["every-kind"]["points"]:
        assert (point["outcome"], point["gradient"]["outcome"], point["gradient"]["ns"]) == ("ok", None, [])


def test_all_frameworks_train_alike() -> None:
    curves = {name: decode(Trained, found(name)["every-kind"]["training"]) for name in TRAINING}
    first = curves["torch"]
    assert (first.outcome, len(first.losses)) == ("ok", 6)
    assert float(first.losses[-1] or 0) != first.losses[0]
    for curve in curves.values():
        assert curve.losses == pytest.approx(first.losses, rel=1e-8)
        assert curve.theta == pytest.approx(first.theta, rel=1e-6, abs=1e-9)
        assert [item.step for item in curve.evaluations] == [1, 2, 4, 6]
        assert [item.loss for item in curve.evaluations] == pytest.approx(
            [item.loss for item in first.evaluations], rel=1e-8
        )
        assert [item.accuracy for item in curve.evaluations] == [item.accuracy for item in first.evaluations]


def test_embeddings_train_alike() -> None:
    """Tokens that stand twice in a batch: Keras's optimisers square their sparse rows one by one unless told not to."""
    torch, keras = (decode(Trained, found(name)["text"]["training"]) for name in ("torch", "keras"))
    assert keras.losses == pytest.approx(torch.losses, rel=1e-8)
    assert keras.theta == pytest.approx(torch.theta, rel=1e-6, abs=1e-9)


def test_gradient_norms_agree() -> None:
    norms = [found(name)["every-kind"]["points"][0]["gradient"]["scores"]["gradient_norm"] for name in TRAINING]
    assert np.ptp(norms) / np.mean(norms) < 1e-10


@pytest.mark.parametrize("adapter", ["torch", "onnxruntime"])
def test_another_model_is_inaccurate(adapter: str) -> None:
    """The gate is not open: against the reference of other weights nothing is ok."""
    told = found(adapter)["wrong"]["points"][0]
    assert told["outcome"] == "inaccurate"
    assert "its bound 1.0e-05" in told["message"]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_gpu_that_is_not_there_is_unsupported(adapter: str) -> None:
    end = found(adapter)["gpu"]["end"]
    assert (end["outcome"], end["phase"]) == ("unsupported", "build")
    assert "GPU" in end["message"]

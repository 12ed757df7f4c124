"""Adapters on a GPU: the same solver as on the processor, step for step. Run with ``-m gpu``."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from adapters.findings import findings
from needs import skip_without

from sciml_bench.host.nvidia import library

ADAPTERS = ("torchdiffeq", "torchode", "diffrax", "tensorflow")
PROBLEMS = ("lorenz", "lorenz-batch", "spiral-node")
OFF = {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}

pytestmark = pytest.mark.gpu


@cache
def found(adapter: str, device: str) -> dict[str, Any]:
    """The findings of :mod:`adapters.in_gpu`."""
    variables = {"GPU_ADAPTER": adapter, "GPU_DEVICE": device, **(OFF if device == "cpu" else {})}
    return findings("in_gpu.py", timeout_s=600.0, **variables)


@pytest.fixture(params=ADAPTERS)
def both(request: pytest.FixtureRequest) -> tuple[dict[str, Any], dict[str, Any]]:
    """What an adapter computed on the processor and on the GPU."""
    skip_without(request.param)
    if library() is None:
        pytest.skip("no NVIDIA device, or no nvidia-ml-py")
    return found(request.param, "cpu"), found(request.param, "gpu")


@pytest.mark.parametrize("problem", PROBLEMS)
def test_steps_are_those_of_the_processor(both: tuple[dict[str, Any], dict[str, Any]], problem: str) -> None:
    if problem not in both[0]:
        pytest.skip("not for this adapter")
    cpu, gpu = (side[problem] for side in both)
    assert set(gpu["counts"]) == set(cpu["counts"])
    for name, count in cpu["counts"].items():
        # A step that is nearly rejected may go either way by rounding.
        assert gpu["counts"][name] == pytest.approx(count, rel=0.02), name


@pytest.mark.parametrize("problem", PROBLEMS)
def test_results_are_those_of_the_processor(both: tuple[dict[str, Any], dict[str, Any]], problem: str) -> None:
    if problem not in both[0]:
        pytest.skip("not for this adapter")
    for what in ("end", "gradient"):
        cpu, gpu = (np.array(side[problem][what]) for side in both)
        assert np.linalg.norm(gpu - cpu) <= 1e-3 * np.linalg.norm(cpu), what


def test_framework_tells_its_memory_on_the_device(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    cpu, gpu = (side["lorenz-batch"]["peak_array_bytes"] for side in both)
    assert cpu is None
    # The states of the batch at the least.
    assert gpu > 4096 * 3 * 8

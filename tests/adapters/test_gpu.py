"""Adapters on a GPU: the same solver as on the processor, step for step. Run with ``-m gpu``."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from adapters.findings import findings
from needs import skip_without

from sciml_bench.host.nvidia import library

ADAPTERS = ("torchdiffeq", "torchode", "diffrax", "tensorflow")
# torchode takes no networks.
CASES = [*product(ADAPTERS, ("lorenz", "lorenz-batch")), *product(set(ADAPTERS) - {"torchode"}, ("spiral-node",))]
OFF = {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(library() is None, reason="no NVIDIA device, or no nvidia-ml-py")]


@cache
def found(adapter: str, device: str) -> dict[str, Any]:
    """The findings of :mod:`adapters.in_gpu`."""
    skip_without(adapter)
    variables = {"GPU_ADAPTER": adapter, "GPU_DEVICE": device, **(OFF if device == "cpu" else {})}
    return findings("in_gpu.py", timeout_s=600.0, **variables)


def both(adapter: str, problem: str) -> list[dict[str, Any]]:
    """What an adapter computed on the processor and on the GPU."""
    return [found(adapter, device)[problem] for device in ("cpu", "gpu")]


@pytest.mark.parametrize(("adapter", "problem"), sorted(CASES))
def test_steps_are_those_of_the_processor(adapter: str, problem: str) -> None:
    cpu, gpu = both(adapter, problem)
    assert set(gpu["counts"]) == set(cpu["counts"])
    for name, count in cpu["counts"].items():
        # A step that is nearly rejected may go either way by rounding.
        assert gpu["counts"][name] == pytest.approx(count, rel=0.02), name


@pytest.mark.parametrize(("adapter", "problem"), sorted(CASES))
def test_results_are_those_of_the_processor(adapter: str, problem: str) -> None:
    sides = both(adapter, problem)
    for what in ("end", "gradient"):
        cpu, gpu = (np.array(side[what]) for side in sides)
        assert np.linalg.norm(gpu - cpu) <= 1e-3 * np.linalg.norm(cpu), what


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_framework_tells_its_memory_on_the_device(adapter: str) -> None:
    cpu, gpu = (side["peak_array_bytes"] for side in both(adapter, "lorenz-batch"))
    assert cpu is None
    # The states of the batch at the least.
    assert gpu > 4096 * 3 * 8

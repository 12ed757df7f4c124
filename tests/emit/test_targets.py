"""Every target says the same: emitted JAX, PyTorch and TensorFlow source against NumPy's, one framework a process."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

#: One problem for each feature of the language that targets print in their own way.
NAMES = [
    "robertson", "chemical-akzo-nobel", "pollution", "arenstorf", "pleiades", "detest-nonstiff-c3", "rigid-body",
    "brusselator-1d", "brusselator-2d", "medical-akzo-nobel", "beam", "heat", "kuramoto-sivashinsky", "ring-modulator",
    "detest-stiff-f1", "prothero-robinson",
]  # fmt: skip


@pytest.mark.parametrize("target", ["jax", "torch", "tensorflow"])
def test_a_target_agrees_with_numpy(target: str) -> None:
    if importlib.util.find_spec(target) is None:
        pytest.skip(f"{target} is not installed")
    script = Path(__file__).with_name("check_target.py")
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable, str(script), target, *NAMES], capture_output=True, text=True, env=environment, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[0] for line in lines] == NAMES
    errors = {line[0]: max(float(error) for error in line[1:]) for line in lines}
    assert all(error < 1e-12 for error in errors.values()), errors

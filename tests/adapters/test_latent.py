"""Gradients through computed initial values and observed losses: every adapter against the reference engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from needs import skip_without

CELLS = {
    "scipy": [
        ("parameters", "dop853", "forward", "eager"),
        ("measured", "dop853", "forward", "eager"),
        ("doses", "dop853", "forward", "eager"),
    ],
    "scipy, compiled": [
        ("measured", "dop853", "forward", "compiled"),
        ("measured", "odeint", "forward", "compiled"),
        ("doses", "dop853", "forward", "compiled"),
    ],
    "torchdiffeq": [
        ("classifier", "dopri5", "discrete", "eager"),
        ("autoencoder", "dopri5", "backsolve", "eager"),
        ("measured", "dopri5", "discrete", "eager"),
        ("doses", "dopri5", "discrete", "eager"),
    ],
    "diffrax": [
        ("classifier", "tsit5", "checkpointed", "compiled"),
        ("autoencoder", "tsit5", "backsolve", "compiled"),
        ("parameters", "tsit5", "forward", "compiled"),
        ("linear", "tsit5", "checkpointed", "compiled"),
        ("stochastic", "tsit5", "checkpointed", "compiled"),
        ("measured", "tsit5", "checkpointed", "compiled"),
        ("doses", "tsit5", "checkpointed", "compiled"),
    ],
    "tensorflow": [
        ("classifier", "dormand_prince", "backsolve", "graph"),
        ("autoencoder", "dormand_prince", "backsolve", "xla"),
        ("parameters", "bdf", "backsolve", "xla"),
        ("measured", "dormand_prince", "backsolve", "graph"),
        ("doses", "dormand_prince", "backsolve", "xla"),
    ],
}
SLOW = {"diffrax", "tensorflow"}


@pytest.mark.parametrize(
    "adapter", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in CELLS]
)
def test_losses_and_gradients_are_those_of_the_reference_engine(adapter):
    name, _, compiled = adapter.partition(", ")
    skip_without(name, *(["numba"] if compiled else []))
    command = [sys.executable, str(Path(__file__).with_name("in_latent.py")), name, json.dumps(CELLS[adapter])]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    errors = json.loads(done.stdout.splitlines()[-1])
    assert len(errors) == len(CELLS[adapter])
    assert {cell: error for cell, error in errors.items() if not error < 1e-6} == {}

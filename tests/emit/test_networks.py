"""Networks say the same in every target as neuron by neuron, alone and in batches; one framework a process."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from emit import networks

from sciml_bench.emit import source

SINGLE = {"activations", "vector", "scalars", "mixed", "pointwise", "derivatives-tanh", "derivatives-gelu_tanh"}


@pytest.mark.parametrize("target", ["numpy", "jax", "torch", "tensorflow"])
def test_a_target_agrees_with_the_scalar_form(target):
    if importlib.util.find_spec(target) is None:
        pytest.skip(f"{target} is not installed")
    script = Path(__file__).with_name("check_networks.py")
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable, str(script), target], capture_output=True, text=True, env=environment, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
    errors = {name: float(error) for name, error in (line.split() for line in done.stdout.splitlines())}
    batches = set() if target == "numpy" else {f"{name}-batch" for name in SINGLE - {"pointwise"}}
    assert set(errors) == SINGLE | batches
    assert {name: error for name, error in errors.items() if not error < 1e-13} == {}


def test_equal_layers_are_one_module_of_equinox():
    text = source(networks.problem(networks.VECTOR.replace("[4, 5, 3]", "[5, 5, 3]")), "jax")
    assert "eqx.nn.MLP(3, 3, 5, 2, activation=jnp.tanh, final_activation=jnp.tanh" in text
    assert "eqx.nn.Sequential" in source(networks.problem(networks.VECTOR), "jax")


def test_a_whole_vector_is_neither_sliced_nor_joined():
    text = source(networks.problem(networks.VECTOR), "torch")
    assert "u = y\n" in text
    assert "torch.cat" not in text

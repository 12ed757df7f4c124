"""Every target says the same: emitted JAX, PyTorch and TensorFlow source against NumPy's, one framework a process."""

from __future__ import annotations

import pytest
from emit import apart
from needs import skip_without

#: One problem for each feature of the language that targets print in their own way.
NAMES = [
    "robertson", "chemical-akzo-nobel", "arenstorf", "pleiades", "brusselator-2d", "medical-akzo-nobel", "beam", "heat",
    "detest-nonstiff-c3",
    "kuramoto-sivashinsky", "ring-modulator", "prothero-robinson", "compartments.toml",
    "hostile-names.toml", "hostile-vectors.toml", "odd-equations.toml",
]  # fmt: skip


@pytest.mark.parametrize("target", ["jax", "torch", "tensorflow"])
def test_a_target_agrees_with_numpy(target: str) -> None:
    skip_without(target)
    lines = apart.lines("check_target.py", target, *NAMES)
    assert [line[0] for line in lines] == NAMES
    errors = {line[0]: max(float(error) for error in line[1:]) for line in lines}
    assert all(error < 1e-12 for error in errors.values()), errors

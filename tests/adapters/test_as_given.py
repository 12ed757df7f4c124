"""Functions as their users gave them, in the solvers of their own library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from needs import skip_without

from sciml_bench.adapters.as_given import NAME, adapter_of
from sciml_bench.adapters.base import ProblemTraits
from sciml_bench.record.task import Cell

FACTS = ProblemTraits("any", "stiff", 3, 3, 0, "parameters", True)


@pytest.mark.parametrize(
    ("library", "adapter", "bound"),
    [
        ("numpy", "scipy", 1e-5),
        pytest.param("jax", "diffrax", 1e-7, marks=pytest.mark.slow),
        ("torch", "torchdiffeq", 1e-6),
    ],
)
def test_gradients_are_those_of_the_emitted_code(library, adapter, bound):
    """Differences of the loss are less accurate than automatic differentiation."""
    skip_without(adapter)
    command = [sys.executable, str(Path(__file__).with_name("in_as_given.py")), library]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "JAX_PLATFORMS": "cpu"}, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    errors = json.loads(done.stdout.splitlines()[-1])
    assert len(errors) >= 3
    assert {way: error for way, error in errors.items() if not error < bound} == {}


def test_only_the_usual_ways_are_taken():
    adapter = adapter_of("model.py", "f", "numpy")
    usual = Cell("any", NAME, "lsoda", "differences", "eager")
    assert adapter.why_not(usual, FACTS) is None
    for method in ("rk45", "dop853", "radau"):
        other = Cell("any", NAME, method, "differences", "eager")
        assert "only in the recommended ways" in (adapter.why_not(other, FACTS) or "")
    assert adapter.options == {"path": "model.py", "function": "f"}
    assert adapter_of("model.py", "f", "jax").modes == ("compiled",)

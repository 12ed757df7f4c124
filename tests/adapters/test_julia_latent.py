"""What is computed around solves in a real Julia, in one process of its own. Run with ``-m julia``."""

from __future__ import annotations

import os
from typing import Any

import pytest
from adapters.findings import findings
from adapters.real_julia import LIMIT_S, NEEDED, QUICKLY_COMPILED

from sciml_bench.adapters.julia import installation

pytestmark = NEEDED


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The findings of :mod:`adapters.in_julia_latent`."""
    variables = installation.variables(os.environ) | QUICKLY_COMPILED
    return findings("in_julia_latent.py", timeout_s=LIMIT_S, **variables)


def test_losses_and_gradients_are_the_certified_ones(found):
    for cell, errors in found["catalog"].items():
        assert errors["loss"] < 1e-8, cell
        assert errors["slopes"] < 1e-6, cell
        assert errors["states"] < 1e-8, cell


def test_losses_and_gradients_are_those_of_the_reference_engine(found):
    assert {cell: error for cell, error in found["small"].items() if not error < 1e-6} == {}

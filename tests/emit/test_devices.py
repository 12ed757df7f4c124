"""Emitted PyTorch runs on whatever device its inputs are on. Run in a process of its own, on PyTorch's ``meta``."""

from __future__ import annotations

import pytest
from adapters.findings import findings
from needs import skip_without


@pytest.fixture(scope="module")
def found() -> dict[str, list[str]]:
    """The findings of ``in_meta.py``: modules that were run, and those that mix devices, with the reason."""
    skip_without("torchdiffeq")
    return findings("in_meta.py")


def test_no_emitted_module_mixes_devices(found: dict[str, list[str]]) -> None:
    assert found["mixed"] == []


def test_the_whole_catalog_was_tried(found: dict[str, list[str]]) -> None:
    assert len(found["run"]) > 150


def test_a_module_that_makes_tensors_of_its_own_is_seen(found: dict[str, list[str]]) -> None:
    assert len(found["planted"]) == 1
    assert "device" in found["planted"][0]

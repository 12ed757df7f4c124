"""Stub programs for worker processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def stub_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers import the stub programs."""
    entries = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(entry for entry in entries if entry))

"""A small catalog without references: plans are made of it, and no worker is started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from stubs.suite import use_catalog, write_catalog

from sciml_bench.planning.tasks import TaskFactory
from sciml_bench.spec import catalog


@pytest.fixture(autouse=True)
def _small_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    use_catalog(write_catalog(tmp_path / "catalog"), monkeypatch)
    monkeypatch.setattr(TaskFactory, "_truth_of", lambda *_: None)
    yield
    monkeypatch.undo()
    catalog.paths.cache_clear()

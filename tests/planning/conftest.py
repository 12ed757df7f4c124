"""A small suite of stub problems and adapters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from stubs.suite import stub_adapters, use_catalog, write_catalog

from sciml_bench.adapters.base import Adapter
from sciml_bench.references import probe
from sciml_bench.spec import catalog


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Adapter]]:
    """The stub adapters, beside a catalog of the stub problems."""
    use_catalog(write_catalog(tmp_path / "catalog"), monkeypatch)
    # What is recommended of stubs goes by the label alone.
    monkeypatch.setattr(probe, "probed", lambda problem: None)
    yield stub_adapters()
    monkeypatch.undo()
    catalog.paths.cache_clear()

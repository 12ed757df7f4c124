"""The API on the small suite of stub problems, in an empty folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from stubs.installed import install

from sciml_bench.spec import catalog


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, beside a catalog of stub problems."""
    install(tmp_path, monkeypatch)
    # Other tests keep references of problems that are the same.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    yield folder
    monkeypatch.undo()
    catalog.paths.cache_clear()

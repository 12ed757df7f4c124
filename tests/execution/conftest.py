"""A small catalog without references: plans are made of it, and no worker is started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from execution.shared_study import HERE, Study
from stubs.carried import made_plan, noisy_at, use
from stubs.suite import use_catalog, write_catalog

from sciml_bench.engine.files import UNITS, FilesEngine
from sciml_bench.execution.executor import execute
from sciml_bench.planning.tasks import TaskFactory
from sciml_bench.record.run_folder import Run
from sciml_bench.spec import catalog


@pytest.fixture(autouse=True)
def _small_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    use_catalog(write_catalog(tmp_path / "catalog"), monkeypatch)
    monkeypatch.setattr(TaskFactory, "_truth_of", lambda *_: None)
    yield
    monkeypatch.undo()
    catalog.paths.cache_clear()


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """Two problems in two blocks: four units of two processes."""
    use(monkeypatch, noisy_at())
    plan = made_plan(problems=("decay", "calm"))
    run = Run.create(tmp_path, "study", plan=plan.to_dict() | {"hash": plan.hash}, environment=HERE)
    rest = execute(plan, run, engine=FilesEngine(run.folder / UNITS))
    return Study(plan, run, tmp_path / "shards", rest.handed_over)

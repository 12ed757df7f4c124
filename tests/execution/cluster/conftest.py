"""A study of four units for a stub of a scheduler."""

from __future__ import annotations

from pathlib import Path

import pytest
from stubs.carried import made_plan, noisy_at, use
from stubs.cluster import HERE, NODE, Study, Time

from sciml_bench.execution.cluster import task
from sciml_bench.host.doctor import other_work
from sciml_bench.record.run_folder import Run


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    use(monkeypatch, noisy_at())
    monkeypatch.setattr(task, "environment_of", lambda _unit: NODE)
    monkeypatch.setattr(other_work, "_LOOK_S", 0.0)
    plan = made_plan(problems=("decay", "calm"))
    run = Run.create(tmp_path, "study", plan=plan.to_dict() | {"hash": plan.hash}, environment=HERE)
    return Study(plan, run, Time(), [])

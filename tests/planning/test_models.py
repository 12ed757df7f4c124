"""Models in plans: their own adapters, batches as points, trainings to their end, one reference for all."""

from __future__ import annotations

from pathlib import Path

import pytest
from stubs.models import IMAGES

from sciml_bench.adapters.base import INFERENCE
from sciml_bench.adapters.registry import adapters
from sciml_bench.planning import cells
from sciml_bench.planning.plan import Plan, make_plan
from sciml_bench.planning.profiles import profile_named
from sciml_bench.planning.selection import Selection
from sciml_bench.planning.settings import Settings
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.task import CONVENTIONAL, Task


def plan_of(
    path: Path, profile: str = "quick", *, adapters_: tuple[str, ...] = (), cells_: tuple[str, ...] = ()
) -> Plan:
    selection = Selection(adapters=adapters_, cells=cells_)
    return make_plan(selection, adapters(), profile_named(profile), Settings(), files=[path])


@pytest.fixture(autouse=True)
def _all_frameworks_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is planned must not depend on what is installed."""
    monkeypatch.setattr(cells, "missing", lambda *_: None)


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    path = tmp_path / "every-kind.toml"
    path.write_text(IMAGES.lstrip(), encoding="utf-8")
    return path


def test_models_are_run_by_their_own_adapters_alone(model_file: Path) -> None:
    plan = plan_of(model_file)
    names = {item.cell.adapter for item in (*plan.planned, *plan.skipped)}
    assert names == {name for name, adapter in adapters().items() if adapter.track == CONVENTIONAL}
    assert {item.cell.precision for item in plan.planned} == {"float32"}
    assert all(item.group == "" for item in plan.planned)


def test_equations_are_run_by_none_of_them() -> None:
    plan = make_plan(Selection(problems=("robertson",)), adapters(), profile_named("quick"), Settings(), files=[])
    assert not {item.cell.adapter for item in (*plan.planned, *plan.skipped)} & {"torch", "jax", "keras"}


def test_a_task_has_batches_and_the_reference(model_file: Path) -> None:
    plan = plan_of(model_file, adapters_=("torch",))
    task = plan.task(plan.slots[0])
    assert [point.batch for point in task.points] == [3]
    assert task.output_shape(task.points[0]) == (3, 5)
    assert task.learning is not None
    assert task.learning.truth is not None
    assert Task.from_json(task.to_json()) == task
    assert task.training is not None
    assert task.training.steps == 6


def test_a_framework_that_infers_does_not_train(model_file: Path) -> None:
    plan = plan_of(model_file)
    trained = {item.cell.adapter for item, training in zip(plan.planned, plan.trainings, strict=True) if training}
    inferring = {item.cell.adapter for item in plan.planned if item.cell.sensitivity == INFERENCE}
    assert not trained & inferring
    assert trained


def test_bfloat16_without_instructions_is_unsupported(model_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sciml_bench.adapters.recipes.lacks_bfloat16", lambda: "no instructions")
    label = "every-kind/torch/network/reverse/eager/bfloat16/cpu"
    plan = plan_of(model_file, cells_=(label,))
    assert plan.planned == ()
    (skipped,) = [item for item in plan.skipped if item.cell.label == label]
    assert (skipped.outcome, skipped.reason) == (Outcome.UNSUPPORTED, "no instructions")

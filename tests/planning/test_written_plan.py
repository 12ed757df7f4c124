"""Plans come back from their files as they were made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sciml_bench.errors import StoreError
from sciml_bench.planning.labels import labels
from sciml_bench.planning.plan import Plan, make_plan, plan_hash
from sciml_bench.planning.profiles import profile_named
from sciml_bench.planning.purpose import SCREEN, Advised, Claimed, Sweep
from sciml_bench.planning.selection import Selection
from sciml_bench.planning.settings import Settings
from sciml_bench.planning.written_plan import WrittenPlan, as_plan, written_plan
from sciml_bench.record.run_folder import Run
from sciml_bench.record.task import CALLS, Point

RESULTS = Path(__file__).resolve().parents[2] / "results"
RUNS = sorted(path.parent for pattern in ("*/plan.json", "claims/*/plan.json") for path in RESULTS.glob(pattern))


def read_again(plan: Plan) -> WrittenPlan:
    return as_plan(json.loads(json.dumps(plan.to_dict())))


def made(suite, **options) -> Plan:
    quick = profile_named("quick")
    return make_plan(Selection(problems=("decay",)), suite, quick, Settings(seed=3, threads=2), **options)


def test_cells_profile_and_settings_come_back(suite):
    plan = made(suite)
    again = read_again(plan)
    assert (again.profile, again.settings) == (plan.profile, plan.settings)
    assert [item.cell for item in again.cells] == [item.cell for item in plan.planned]
    assert tuple(item.cell_id for item in again.cells) == plan.cell_ids
    assert tuple(item.training for item in again.cells) == plan.trainings
    assert {problem.spec_hash for problem in again.problems} == {entry.spec_hash for entry in plan.entries}
    skipped = {label for skip in again.skipped for label in labels(skip.cells)}
    assert skipped == {item.cell.label for item in plan.skipped}
    assert again.declared["alpha"].methods


def test_the_purpose_comes_back(suite):
    label = made(suite).planned[0].cell.label
    points = {label: (Point(1e-3, 1e-6), Point(1e-6, 1e-9))}
    claimed = read_again(made(suite, claimed=Claimed({"C1": {"fair.fast": (label,), "fair.slow": ("a", "b")}}, points)))
    assert claimed.sides == {"C1": {"fair.fast": (label,), "fair.slow": ("a", "b")}}
    assert (claimed.by_recipes("C1", "fair.fast"), claimed.by_recipes("C1", "fair.slow")) == (False, True)
    assert claimed.claimed is not None
    assert claimed.claimed.points == {label: ((1e-3, 1e-6), (1e-6, 1e-9))}
    advised = read_again(made(suite, advised=Advised(SCREEN, CALLS[0], 10, 1e-5, points)))
    assert advised.is_screening
    assert advised.advised is not None
    assert advised.advised.points == claimed.claimed.points
    sweep = Sweep("batch", "decay", {"decay": 4})
    assert read_again(made(suite, sweep=sweep)).sweep == sweep
    assert read_again(made(suite)).sides == {}


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: folder.name)
def test_stored_plans_are_read_and_hash_to_what_they_say(folder: Path):
    run = Run.open(folder)
    assert written_plan(run).hash == plan_hash(run.plan)


@pytest.mark.parametrize("part", ["schema", "version", "profile", "settings", "problems", "cells", "skipped"])
def test_a_plan_without_a_part_is_refused_by_its_name(suite, part: str):
    content = json.loads(json.dumps(made(suite).to_dict()))
    del content[part]
    with pytest.raises(StoreError, match=f"plan.json is not a plan of this version: '{part}' is missing"):
        as_plan(content)

"""Whole plans: identity, tasks and costs."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest
from stubs.suite import problem_text

from sciml_bench.adapters.base import Method
from sciml_bench.errors import UsageError
from sciml_bench.planning.plan import make_plan
from sciml_bench.planning.profiles import NAMES, SCREENING, profile_named
from sciml_bench.planning.purpose import SCREEN, Advised, Claimed
from sciml_bench.planning.selection import Selection
from sciml_bench.planning.settings import Settings
from sciml_bench.record.task import CALLS, GRADIENT, Task
from sciml_bench.spec.tables.identity import TIERS

SMOKE = profile_named("smoke")


def made(suite, profile=SMOKE, settings=Settings(), selection=Selection(problems=("decay",)), **options):  # noqa: B008
    return make_plan(selection, suite, profile, settings, **options)


def test_equal_plans_have_equal_hashes(suite):
    assert made(suite).hash == made(suite).hash
    assert json.dumps(made(suite).to_dict()) == json.dumps(made(suite).to_dict())


@pytest.mark.parametrize(
    "changes",
    [
        {"settings": Settings(seed=1)},
        {"settings": Settings(threads=2)},
        {"settings": Settings(timeout_s=3)},
        {"profile": profile_named("quick")},
        {"selection": Selection(problems=("calm",))},
    ],
)
def test_what_changes_the_measurement_changes_the_hash(suite, changes):
    assert made(suite).hash != made(suite, **changes).hash


def test_costs_do_not_change_the_hash(suite):
    dear = {"decay/alpha/fine/discrete/eager/float64/cpu": 1000.0}
    assert made(suite, earlier=dear).hash == made(suite).hash
    assert made(suite, earlier=dear).cost_s() > 1000


def test_the_cell_id_changes_with_the_mathematics(suite, tmp_path):
    ids = []
    for a in ("0.5", "0.6"):
        path = tmp_path / "mine.toml"
        path.write_text(problem_text("mine", a=a), encoding="utf-8")
        ids.append(made(suite, selection=Selection(), files=[path]).cell_ids)
    assert all(one != other for one, other in zip(*ids, strict=True))
    assert all(len(cell_id) == 12 for cell_id in ids[0])


def test_tasks_hold_what_workers_need(suite):
    plan = made(suite)
    task = plan.task(plan.slots[0])
    assert task.program == "stubs.dispatch:build"
    assert "def rhs(" in task.source
    assert task.numbers.p == (0.5, 2.0)
    assert [point.rtol for point in task.points] == [1e-5, 1e-8]
    assert task.error_bound == pytest.approx(1e-2)
    assert task.reference is not None
    assert task.reference.solution[-1] == pytest.approx((math.exp(-1), math.exp(-4)))


TRAINING = """
[training]
optimiser = "adam"
learning_rate = 0.1
steps = 100
rtol = 1e-6
atol = 1e-8
"""


def trained(suite, tmp_path, profile, text=TRAINING):
    path = tmp_path / "mine.toml"
    path.write_text(problem_text("mine") + text, encoding="utf-8")
    return made(suite, profile_named(profile), selection=Selection(), files=[path])


@pytest.mark.parametrize(("profile", "steps"), [("smoke", 10), ("quick", 50), ("standard", 100), ("rigorous", 100)])
def test_the_first_recommended_cell_trains_as_long_as_the_profile_says(suite, tmp_path, profile, steps):
    plan = trained(suite, tmp_path, profile)
    with_one = {item.cell: training for item, training in zip(plan.planned, plan.trainings, strict=True) if training}
    assert {
        cell.adapter: (cell.method, cell.sensitivity, cell.mode, cell.precision) for cell in with_one
    } == dict.fromkeys(("alpha", "beta"), ("fine", "discrete", "eager", "float64"))
    assert len(with_one) == 2
    assert {training.steps for training in with_one.values()} == {steps}
    for slot in plan.slots[:8]:
        assert plan.task(slot).training == plan.trainings[slot.index]
    told = [cell for cell in plan.to_dict()["cells"] if "training" in cell]
    assert {cell["training"]["steps"] for cell in told} == {steps}


def test_a_training_costs_time_and_changes_the_plan_but_no_cell(suite, tmp_path):
    plans = [trained(suite, tmp_path, "quick", text) for text in ("", TRAINING, TRAINING.replace("0.1", "0.2"))]
    assert len({plan.hash for plan in plans}) == 3
    assert len({plan.cell_ids for plan in plans}) == 1
    assert plans[1].cost_s() > plans[0].cost_s() + 50


def test_advice_trains_nothing(suite, tmp_path):
    """A training of hundreds of steps in the first way of each library would take all the time that there is."""
    path = tmp_path / "mine.toml"
    path.write_text(problem_text("mine") + TRAINING, encoding="utf-8")
    advised = Advised(SCREEN, GRADIENT, 1000, 1e-6)
    plan = made(suite, SCREENING, selection=Selection(), files=[path], advised=advised)
    assert plan.planned
    assert set(plan.trainings) == {None}


def test_of_a_claim_about_solves_no_gradient_is_measured(suite):
    first, second = (Claimed({"X1": {}}, calls=calls) for calls in (CALLS, ("solve",)))
    both, solves = made(suite, claimed=first), made(suite, claimed=second)
    assert {both.task(slot).calls for slot in both.slots} == {CALLS}
    assert {solves.task(slot).calls for slot in solves.slots} == {("solve",)}
    assert Task.from_json(solves.task(solves.slots[0]).to_json()).calls == ("solve",)
    assert all("calls" not in cell for cell in both.to_dict()["cells"])
    assert all(cell["calls"] == ["solve"] for cell in solves.to_dict()["cells"])
    assert solves.hash != both.hash
    assert solves.cell_ids == both.cell_ids
    assert solves.cost_s() < both.cost_s()


def test_competitors_get_the_same_inputs(suite):
    plan = made(suite)
    tasks = [plan.task(slot) for slot in plan.slots]
    assert len({task.cell.adapter for task in tasks}) == 2
    assert len({task.seed for task in tasks}) == 1


def test_the_profiles_own_limit_is_taken_unless_another_is_given(suite):
    assert made(suite).settings.timeout_s == SMOKE.timeout_s
    assert made(suite, settings=Settings(timeout_s=3)).settings.timeout_s == 3


def test_an_explicit_method_on_a_stiff_problem_is_expected_to_run_into_the_limit_once(suite):
    explicit = Method("fine", family="explicit_rk", order=1, implicit=False)
    alpha = {"alpha": dataclasses.replace(suite["alpha"], methods=(explicit, *suite["alpha"].methods[1:]))}
    plan = made(
        alpha, profile_named("quick"), Settings(timeout_s=100), Selection(problems=("decay",), methods=("fine",))
    )
    assert len(plan.slots) == 3
    assert 100 < plan.cost_s() < 200
    assert plan.cost_s(plan.slots[1:]) == 0


def test_a_plan_is_plain_json(suite):
    data = made(suite).to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == json.loads(json.dumps(data))
    assert {cell["division"] for cell in data["cells"]} == {"idiomatic"}
    assert {entry["outcome"] for entry in data["skipped"]} == {None}


@pytest.mark.parametrize("name", NAMES)
def test_profiles(name):
    profile = profile_named(name)
    assert profile.tiers[0] == "smoke"
    assert profile.tiers[-1] == name
    assert list(profile.rtols) == sorted(profile.rtols, reverse=True), "the loosest point comes first"
    assert profile.comparable == (profile.processes > 1)


def test_every_profile_but_none_is_a_tier():
    assert set(TIERS) - set(NAMES) == {"heavy"}


def test_unknown_profile():
    with pytest.raises(UsageError, match="did you mean quick"):
        profile_named("quik")

"""Problems × adapters → cells, and the reason for every cell that is skipped."""

from __future__ import annotations

import dataclasses

import pytest
from stubs.suite import FINE, FINER, labelled, stub_adapter

from sciml_bench.adapters.base import DEFAULT, Cost, Method, Recipe
from sciml_bench.errors import UsageError
from sciml_bench.host.extras import install_command
from sciml_bench.planning.cells import choose
from sciml_bench.planning.plan import make_plan
from sciml_bench.planning.problems import entries
from sciml_bench.planning.profiles import Profile, profile_named
from sciml_bench.planning.selection import Selection
from sciml_bench.planning.settings import Settings
from sciml_bench.record.outcome import Outcome

SMOKE, QUICK, STANDARD = (profile_named(name) for name in ("smoke", "quick", "standard"))


def chosen(suite, profile: Profile = QUICK, **axes):
    selection = Selection(**axes)
    return choose(entries(selection), suite, selection, profile)


def labels(planned):
    return {"/".join(item.cell.label.split("/")[:5]) for item in planned}


def reasons(skipped):
    return {item.reason for item in skipped}


def test_smoke_takes_the_first_recommended_cell_of_each_adapter(suite):
    planned, _ = chosen(suite, SMOKE, suites=("stiff",))
    assert labels(planned) == {"decay/alpha/fine/discrete/eager", "decay/beta/fine/discrete/eager"}


@pytest.mark.parametrize("profile", [SMOKE, QUICK])
def test_smoke_and_quick_take_the_best_and_the_default_of_each_library(suite, profile):
    usual = Recipe("limited", "discrete", "eager", DEFAULT, "it is limited")
    alpha = dataclasses.replace(suite["alpha"], recipes=labelled(FINE, FINER, usual))
    planned, _ = chosen({"alpha": alpha}, profile, suites=("stiff",))
    roles = {(item.cell.method, item.role, item.note, item.division) for item in planned}
    assert roles == {("fine", "best", "", "idiomatic"), ("limited", "default", "it is limited", "idiomatic")}


def test_the_best_way_is_the_first_that_can_run_here(suite):
    away = dataclasses.replace(FINE, mode="compiled")
    alpha = dataclasses.replace(suite["alpha"], recipes=labelled(away, FINER), mode_extras={"compiled": "no_such"})
    planned, _ = chosen({"alpha": alpha}, SMOKE, suites=("stiff",))
    assert [(item.cell.method, item.cell.mode, item.role) for item in planned] == [("finer", "eager", "best")]


def of(planned):
    return {(item.cell.adapter, item.cell.method, item.division) for item in planned}


FIRST = {("alpha", "fine", "idiomatic"), ("beta", "fine", "idiomatic")}


def test_quick_takes_the_first_recommended_cells_and_their_matches_on_core_problems(suite):
    first = Recipe("finer", "discrete", "eager")
    beta = dataclasses.replace(suite["beta"], recipes=labelled(first))
    planned, _ = chosen({**suite, "beta": beta}, QUICK, suites=("stiff",))
    assert of(planned) == {
        ("alpha", "fine", "idiomatic"),
        # A match of beta's first cell, and recommended too, though not first.
        ("alpha", "finer", "idiomatic"),
        ("beta", "finer", "idiomatic"),
        ("beta", "fine", "matched"),
    }


@pytest.mark.parametrize(
    "lacking", [{"refusal": lambda _cell, _facts: "no such problems"}, {"packages": {"no_such": "x"}}]
)
def test_recipes_that_cannot_run_ask_for_no_match(suite, lacking):
    beta = dataclasses.replace(suite["beta"], recipes=labelled(FINER), **lacking)
    planned, _ = chosen({**suite, "beta": beta}, QUICK, suites=("stiff",))
    assert of(planned) == {("alpha", "fine", "idiomatic")}


def test_quick_takes_the_first_recommended_cells_alone_on_problems_beyond_the_core(suite, tmp_path):
    fade = tmp_path / "catalog" / "stiff" / "fade.toml"
    fade.write_text(fade.read_text().replace('tier = "standard"', 'tier = "quick"'))
    planned, _ = chosen(suite, QUICK, suites=("stiff",))
    assert of(item for item in planned if item.cell.problem == "fade") == FIRST


def test_quick_takes_all_recommended_cells_and_their_matches_on_a_problem_that_is_named(suite):
    planned, _ = chosen(suite, QUICK, problems=("fade",))
    assert of(planned) == FIRST | {("alpha", "finer", "idiomatic"), ("beta", "finer", "matched")}


def test_cells_with_a_counterpart_carry_the_name_of_their_group(suite):
    planned, _ = chosen(suite, QUICK, problems=("decay",))
    assert {item.group for item in planned} == {"esdirk of order 1, discrete", "esdirk of order 2, discrete"}


def test_checkpointed_and_discrete_gradients_are_of_one_family(suite):
    recipe = Recipe("fine", "checkpointed", "eager")
    gamma = stub_adapter("gamma", sensitivities=("checkpointed",), recipes=labelled(recipe))
    planned, _ = chosen({"beta": suite["beta"], "gamma": gamma}, QUICK, problems=("decay",))
    assert {item.group for item in planned} == {"esdirk of order 1, discrete"}


def test_a_cell_without_a_counterpart_has_no_group(suite):
    planned, _ = chosen(suite, QUICK, suites=("stiff",), adapters=("alpha",))
    assert {item.group for item in planned} == {""}


def test_a_partner_whose_counterpart_is_not_selected_is_not_called_matched(suite):
    planned, _ = chosen(suite, QUICK, problems=("decay",), adapters=("beta",))
    assert {(item.cell.method, item.division) for item in planned} == {("fine", "idiomatic"), ("finer", "other")}


def test_standard_takes_suited_methods_and_every_way_of_the_recommended_ones(suite):
    explicit = Method("forward_euler", family="explicit_rk", order=1, implicit=False)
    alpha = stub_adapter("alpha", methods=(*suite["alpha"].methods, explicit))
    planned, skipped = chosen({"alpha": alpha}, STANDARD, problems=("decay",))
    taken = {(item.cell.method, item.cell.sensitivity, item.cell.mode) for item in planned}
    assert ("wrong", "discrete", "eager") in taken
    assert ("fine", "backsolve", "eager") in taken
    assert ("wrong", "backsolve", "eager") not in taken
    assert not any(method == "forward_euler" for method, _, _ in taken)
    assert any("method not suited to the problem" in reason for reason in reasons(skipped))


def test_a_problem_of_a_later_tier_is_skipped_and_counted(suite):
    _, skipped = chosen(suite, QUICK, suites=("stiff",))
    assert {item.cell.problem for item in skipped if "tier standard" in item.reason} == {"fade"}
    assert "not in profile quick (tier standard)" in reasons(skipped)


def test_a_heavy_problem_is_skipped_with_its_own_reason(suite, tmp_path):
    fade = tmp_path / "catalog" / "stiff" / "fade.toml"
    heavy = 'tier = "heavy"\nheavy = "It fades for hours."'
    fade.write_text(fade.read_text().replace('tier = "standard"', heavy))
    _, skipped = chosen(suite, STANDARD, suites=("stiff",))
    assert "not in profile standard (tier heavy, fade: It fades for hours.)" in reasons(skipped)


def test_naming_a_problem_overrides_its_tier(suite):
    planned, _ = chosen(suite, SMOKE, problems=("fade",))
    assert labels(planned) == {"fade/alpha/fine/discrete/eager", "fade/beta/fine/discrete/eager"}


def test_naming_a_method_overrides_the_recipes(suite):
    planned, _ = chosen(suite, SMOKE, problems=("decay",), methods=("wrong",))
    assert labels(planned) == {"decay/alpha/wrong/discrete/eager", "decay/beta/wrong/discrete/eager"}


def test_naming_a_sensitivity_frees_that_axis_only(suite):
    planned, _ = chosen(suite, SMOKE, problems=("decay",), adapters=("alpha",), sensitivities=("backsolve",))
    assert labels(planned) == {"decay/alpha/fine/backsolve/eager", "decay/alpha/finer/backsolve/eager"}


def test_an_exact_cell_overrides_everything(suite):
    label = "fade/alpha/wrong/backsolve/eager/float64/cpu"
    planned, skipped = chosen(suite, SMOKE, cells=(label,))
    assert [item.cell.label for item in planned] == [label]
    assert skipped == ()


def test_a_keyword_only_narrows(suite):
    planned, _ = chosen(suite, SMOKE, keyword="decay and beta")
    assert labels(planned) == {"decay/beta/fine/discrete/eager"}


def test_what_an_adapter_refuses_is_unsupported_with_its_reason(suite):
    planned, skipped = chosen(
        suite, QUICK, problems=("decay",), adapters=("alpha",), sensitivities=("backsolve",), modes=("compiled",)
    )
    assert planned == ()
    refused = [item for item in skipped if item.outcome is Outcome.UNSUPPORTED]
    assert {item.reason for item in refused} == {"cannot compile the backward solve of 2 states"}


def test_a_missing_framework_is_unsupported_with_the_install_command(suite):
    away = stub_adapter("away", packages={"no_such_framework": "no-such-framework"}, extra="away")
    planned, skipped = chosen({**suite, "away": away}, SMOKE, problems=("decay",))
    assert len(planned) == 2
    lacking = [item for item in skipped if item.outcome is Outcome.UNSUPPORTED]
    assert [item.cell.adapter for item in lacking] == ["away"]
    assert install_command("away") in lacking[0].reason


@pytest.mark.parametrize("profile", [SMOKE, QUICK, STANDARD])
def test_no_cell_vanishes(suite, profile):
    planned, skipped = chosen(suite, profile)
    methods, sensitivities, modes, problems, adapters = 7, 2, 2, 3, 2
    seen = [item.cell for item in (*planned, *skipped)]
    assert len(seen) == len(set(seen)) == methods * sensitivities * modes * problems * adapters


def test_other_precisions_and_devices_are_skipped_with_a_reason(suite):
    alpha = dataclasses.replace(suite["alpha"], precisions=("float64", "float32"), devices=("cpu", "cuda"))
    planned, skipped = chosen({"alpha": alpha}, SMOKE, problems=("decay",))
    assert {(item.cell.precision, item.cell.device) for item in planned} == {("float64", "cpu")}
    assert "not in profile smoke (float32 on cuda)" in reasons(skipped)


def test_nonstiff_problems_take_the_nonstiff_recipes(suite):
    alpha = dataclasses.replace(suite["alpha"], recipes=labelled(nonstiff=(Recipe("limited", "discrete", "eager"),)))
    planned, _ = chosen({"alpha": alpha}, SMOKE, suites=("nonstiff",))
    assert labels(planned) == {"calm/alpha/limited/discrete/eager"}


def with_caches(suite):
    """``alpha`` can keep what it compiles, and compiling is the mode of its recipes."""
    recipes = tuple(dataclasses.replace(recipe, mode="compiled") for recipe in (FINE, FINER))
    return {**suite, "alpha": stub_adapter("alpha", cached_modes=("compiled",), recipes=labelled(*recipes))}


def warm(planned):
    return {(item.cell.method, item.cell.mode) for item in planned if item.cell.caches == "warm"}


def test_warm_caches_are_measured_for_the_first_recommended_cell_in_standard_only(suite):
    suite = with_caches(suite)
    for profile, expected in ((SMOKE, set()), (QUICK, set()), (STANDARD, {("fine", "compiled-warm")})):
        planned, skipped = chosen(suite, profile, problems=("decay",))
        assert warm(planned) == expected
        assert any("warm compile caches only of the first" in reason for reason in reasons(skipped))


def test_naming_the_warm_mode_measures_it_in_every_profile(suite):
    planned, _ = chosen(with_caches(suite), QUICK, problems=("decay",), modes=("compiled-warm",))
    assert warm(planned) == {("fine", "compiled-warm"), ("finer", "compiled-warm")}
    assert len(planned) == 2


def test_exact_warm_cell_can_be_named(suite):
    label = "decay/alpha/wrong/discrete/compiled-warm/float64/cpu"
    planned, _ = chosen(with_caches(suite), SMOKE, cells=(label,))
    assert [item.cell.label for item in planned] == [label]


def test_mode_whose_framework_keeps_nothing_has_no_warm_cell(suite):
    selection = Selection(modes=("eager-warm",))
    with pytest.raises(UsageError, match="unknown mode 'eager-warm'"):
        selection.check(with_caches(suite))


def test_warm_cell_is_in_no_group_and_makes_none(suite):
    planned, _ = chosen(with_caches(suite), STANDARD, problems=("decay",))
    (found,) = [item for item in planned if item.cell.caches == "warm"]
    assert (found.group, found.division) == ("", "other")


def test_what_an_adapter_refuses_cold_it_refuses_warm(suite):
    axes = {"adapters": ("alpha",), "sensitivities": ("backsolve",), "modes": ("compiled-warm",)}
    planned, skipped = chosen(with_caches(suite), QUICK, problems=("decay",), **axes)
    assert planned == ()
    assert "cannot compile the backward solve of 2 states" in reasons(skipped)


def test_warm_cell_costs_one_more_start(suite):
    plan = make_plan(
        Selection(problems=("decay",), methods=("fine",), modes=("compiled", "compiled-warm")),
        {"alpha": with_caches(suite)["alpha"]},
        QUICK,
        Settings(),
    )
    costs = {item.cell.mode: cost for item, cost in zip(plan.planned, plan.costs_s, strict=True)}
    assert costs["compiled-warm"] == costs["compiled"] + Cost().startup_s


def on_devices(suite):
    """The suite's adapters, of which alpha runs on a GPU too, in two precisions."""
    alpha = dataclasses.replace(suite["alpha"], devices=("cpu", "gpu"), precisions=("float64", "float32"))
    return {**suite, "alpha": alpha}


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ({}, {("alpha", "float64", "cpu"), ("beta", "float64", "cpu")}),
        ({"devices": ("gpu",)}, {("alpha", "float64", "gpu")}),
        (
            {"devices": ("cpu", "gpu")},
            {("alpha", "float64", "cpu"), ("alpha", "float64", "gpu"), ("beta", "float64", "cpu")},
        ),
        ({"precisions": ("float32",)}, {("alpha", "float32", "cpu")}),
        ({"devices": ("gpu",), "precisions": ("float32",)}, {("alpha", "float32", "gpu")}),
    ],
)
def test_precision_and_device_are_the_usual_ones_unless_they_are_named(suite, axes, expected):
    planned, _ = chosen(on_devices(suite), SMOKE, suites=("stiff",), **axes)
    assert {(item.cell.adapter, item.cell.precision, item.cell.device) for item in planned} == expected


def test_each_device_has_its_matches(suite):
    first = Recipe("finer", "discrete", "eager")
    beta = dataclasses.replace(suite["beta"], recipes=labelled(first))
    planned, _ = chosen({**on_devices(suite), "beta": beta}, QUICK, suites=("stiff",), devices=("cpu", "gpu"))
    finer = {item.cell.device for item in planned if (item.cell.adapter, item.cell.method) == ("alpha", "finer")}
    assert finer == {"cpu", "gpu"}


def test_unknown_devices_are_refused(suite):
    with pytest.raises(UsageError, match="unknown device 'tpu'"):
        Selection(devices=("tpu",)).check(suite)

"""The one rule of recommended cells, in all libraries alike."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from sciml_bench.adapters import registry
from sciml_bench.adapters.base import DEFAULT, NO_GRADIENT, ProblemTraits, Recipe
from sciml_bench.adapters.recipes import (
    FEW,
    FEW_TIMES,
    INTERPOLATED,
    contradicted,
    default,
    distinct,
    recommended,
    takes_explicit,
)
from sciml_bench.record.probe import Probed
from sciml_bench.record.task import DEFAULT_SAVING, LANDING, SOLVERS

LIBRARIES = {name: adapter for name, adapter in registry.adapters().items() if adapter.track == SOLVERS}
EASY, HARD, UNKNOWN = Probed(600, 1985, 19850, True), Probed(None, 1577, 15770, False), Probed(None, None, 9765, None)
IMPLICIT = ("diffrax", "tensorflow", "julia", "diffeqpy")
"""The libraries that have adaptive methods of both kinds, and none that finds out by itself."""


def facts(probed: Probed | None, stiff: bool = True, n_theta: int = 3, n_states: int = 3) -> ProblemTraits:
    return ProblemTraits("any", "any", n_states, n_theta, 0, "parameters", stiff, probed=probed)


def best(name: str, problem: ProblemTraits) -> Recipe:
    return LIBRARIES[name].recipes(problem)[0]


@pytest.mark.parametrize("stiff", [True, False])
def test_a_probe_decides_whatever_the_label_says(stiff):
    assert takes_explicit(facts(EASY, stiff))
    assert not takes_explicit(facts(HARD, stiff))
    for name in IMPLICIT:
        assert not LIBRARIES[name].method(best(name, facts(EASY, stiff)).method).implicit
        assert LIBRARIES[name].method(best(name, facts(HARD, stiff)).method).implicit


@pytest.mark.parametrize("probed", [None, UNKNOWN])
def test_a_label_decides_where_the_probe_cannot_tell(probed):
    assert takes_explicit(facts(probed, stiff=False))
    assert not takes_explicit(facts(probed, stiff=True))
    assert not any(contradicted(facts(probed, stiff)) for stiff in (True, False))


def test_where_probe_and_label_differ_the_other_kind_of_method_stands_beside():
    for name in IMPLICIT:
        kinds = [
            {LIBRARIES[name].method(recipe.method).implicit for recipe in LIBRARIES[name].recipes(facts(found, stiff))}
            for found, stiff in ((EASY, True), (HARD, False), (EASY, False), (HARD, True))
        ]
        assert kinds == [{True, False}, {True, False}, {False}, {True}], name


@pytest.mark.parametrize("probed", [EASY, HARD])
def test_every_library_with_both_takes_few_components_forward_and_many_backward(probed):
    few, many = facts(probed, n_theta=FEW - 3), facts(probed, n_theta=FEW - 2)
    for name in ("diffrax", "tensorflow", "julia"):
        assert best(name, few).sensitivity == "forward"
        assert best(name, many).sensitivity != "forward"
    # States count too: a tangent has as many components.
    assert best("diffrax", facts(probed, n_states=FEW)).sensitivity == "checkpointed"


def test_a_default_stands_beside_the_best_where_it_is_another():
    def found(name: str, problem: ProblemTraits) -> list[str]:
        return ["/".join((r.method, r.sensitivity, r.mode)) for r in LIBRARIES[name].recipes(problem) if r.role]

    assert found("diffrax", facts(HARD)) == ["kvaerno5/checkpointed/compiled"]
    assert found("diffrax", facts(EASY)) == ["tsit5/checkpointed/compiled"]
    # Here the best way is the default.
    assert found("diffrax", facts(EASY, n_theta=300)) == []
    assert found("scipy", facts(EASY)) == ["rk45/forward/eager"]
    # It would take more evaluations than anyone waits for, and SciPy has other methods.
    assert found("scipy", facts(HARD)) == []
    assert found("tensorflow", facts(HARD)) == ["bdf/backsolve/graph"]
    assert found("torchdiffeq", facts(HARD)) == ["dopri5/discrete/eager"]


def test_the_broken_root_finder_is_never_the_best_and_says_so():
    for problem in (facts(HARD), facts(HARD, n_theta=300), facts(None)):
        recipes = LIBRARIES["diffrax"].recipes(problem)
        assert recipes[0].method == "kvaerno5-chord"
        (usual,) = [recipe for recipe in recipes if recipe.role == DEFAULT]
        page = usual.note.rpartition(" ")[2]
        assert (Path(__file__).resolve().parents[2] / page).is_file()


def test_recipes_are_distinct_and_a_default_keeps_its_name():
    one, other = Recipe("a", NO_GRADIENT, "eager"), Recipe("b", NO_GRADIENT, "eager")
    usual = default("b", NO_GRADIENT, "eager")
    assert [recipe.role for recipe in distinct(one, other, usual)] == ["", DEFAULT]
    assert distinct(other, one, usual) == (other, one)
    assert [recipe.role for recipe in distinct(other, one, usual)] == ["", ""]
    assert dataclasses.replace(usual, role="") == usual


def _saved(name: str, probed: Probed | None, n_saved: int) -> list[tuple[str, str, str]]:
    problem = dataclasses.replace(facts(probed, stiff=probed is not EASY), n_saved=n_saved)
    return [(r.method, r.saving, r.role) for r in recommended(LIBRARIES[name], problem)]


def test_steps_land_on_few_saved_times_where_the_interpolant_is_far_below_its_method():
    first, *others = _saved("diffrax", HARD, 14)
    assert first == ("kvaerno5-chord", LANDING, "")
    # Its values without landing are measured beside it; the default stays what the library does.
    assert others[-1] == ("kvaerno5-chord", DEFAULT_SAVING, INTERPOLATED)
    assert ("kvaerno5", DEFAULT_SAVING, DEFAULT) in others
    first, *others = _saved("torchdiffeq", EASY, 14)
    assert (first, others[-1]) == (("dopri8", LANDING, ""), ("dopri8", DEFAULT_SAVING, INTERPOLATED))


@pytest.mark.parametrize("n_saved", [1, 200])
def test_no_recipe_lands_on_the_end_alone_or_on_many_times(n_saved):
    for name in LIBRARIES:
        for probed in (EASY, HARD, UNKNOWN):
            assert {saving for _, saving, _ in _saved(name, probed, n_saved)} <= {DEFAULT_SAVING}


def test_how_many_times_are_few_follows_from_the_work_between_them():
    # The probe counts 600 evaluations, or 1577 of an implicit method; where it counts none, there is a number.
    for probed, name, most in ((EASY, "torchdiffeq", 30), (HARD, "diffrax", 78), (UNKNOWN, "diffrax", FEW_TIMES)):
        assert _saved(name, probed, most)[0][1] == LANDING
        assert _saved(name, probed, most + 1)[0][1] == DEFAULT_SAVING


def test_methods_with_an_interpolant_of_nearly_their_order_interpolate():
    for name, adapter in LIBRARIES.items():
        for probed in (EASY, HARD):
            for method, saving, _ in _saved(name, probed, 14):
                found = adapter.method(method)
                if found.interpolant is None or found.order - found.interpolant < 2:
                    assert saving == DEFAULT_SAVING, f"{name} {method}"

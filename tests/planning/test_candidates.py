"""Every way in which a problem can be solved here."""

from __future__ import annotations

import dataclasses

import pytest

from sciml_bench.adapters.registry import adapters
from sciml_bench.planning.candidates import candidates, ranked
from sciml_bench.planning.plan import make_plan
from sciml_bench.planning.problems import entries
from sciml_bench.planning.profiles import profile_named
from sciml_bench.planning.selection import Selection
from sciml_bench.planning.settings import Settings


def entry_of(name):
    return entries(Selection(problems=(name,)))[0]


@pytest.fixture
def installed():
    """SciPy and torchdiffeq as if all that they need were there, Julia as if it were not."""
    known = adapters()
    there = {name: dataclasses.replace(known[name], packages={}, mode_extras={}) for name in ("scipy", "torchdiffeq")}
    julia = dataclasses.replace(known["julia"], packages={"no_such_package": "no-such-package"})
    return {**there, "julia": julia, "torch": known["torch"]}


def test_whatever_a_profile_measures_is_a_candidate(installed):
    entry = entry_of("robertson")
    plan = make_plan(
        Selection(problems=("robertson",)), {"scipy": installed["scipy"]}, profile_named("rigorous"), Settings()
    )
    cold = {item.cell for item in plan.planned if item.cell.caches == "cold"}
    assert cold
    assert cold <= set(candidates(entry, installed).cells)


def test_there_are_more_than_a_profile_measures(installed):
    """Explicit methods on a stiff problem, too: nothing is left out for what its label says."""
    found = candidates(entry_of("robertson"), installed)
    assert {("scipy", "dop853"), ("torchdiffeq", "dopri5")} <= {(cell.adapter, cell.method) for cell in found.cells}
    assert len(set(found.cells)) == len(found.cells)


def test_what_an_adapter_refuses_is_named_with_its_reason(installed):
    found = candidates(entry_of("spiral-node"), installed)
    assert not [cell for cell in found.cells if cell.adapter == "scipy"]
    reasons = {reason for cell, reason in found.refused.items() if cell.adapter == "scipy"}
    assert reasons
    assert all(reasons)
    assert not set(found.refused) & set(found.cells)


def test_what_is_not_installed_is_named_once(installed):
    found = candidates(entry_of("robertson"), installed)
    assert set(found.absent) == {"julia"}
    assert "no-such-package" in found.absent["julia"]
    assert not [cell for cell in (*found.cells, *found.refused) if cell.adapter == "julia"]


def test_only_adapters_that_are_named_and_of_the_track(installed):
    entry = entry_of("robertson")
    assert {cell.adapter for cell in candidates(entry, installed, ["scipy"]).cells} == {"scipy"}
    assert candidates(entry, installed, ["scipy"]).absent == {}
    assert not candidates(entry, installed, ["torch"]).cells, "it runs models"


def tiers_of(name, known, call="gradient"):
    entry = entry_of(name)
    return ranked(candidates(entry, known), entry, known, call)


def test_recipes_come_first_and_the_other_kind_of_method_last(installed):
    tiers = tiers_of("robertson", {"scipy": installed["scipy"], "torchdiffeq": installed["torchdiffeq"]})
    assert list(tiers.values()) == sorted(tiers.values())
    assert {cell.adapter for cell, tier in tiers.items() if tier == 0} == {"scipy"}
    # Robertson is stiff: explicit methods are tried last, also where a library has nothing else to recommend.
    assert {tier for cell, tier in tiers.items() if cell.method in ("dop853", "rk45", "dopri5")} == {4}


def test_what_switches_between_both_kinds_suits_every_problem(installed):
    tiers = tiers_of("lotka-volterra", {"scipy": installed["scipy"]})
    assert all(tier < 4 for cell, tier in tiers.items() if cell.method in ("odeint", "lsoda"))
    assert all(tier == 4 for cell, tier in tiers.items() if cell.method == "radau")


def test_of_solves_one_kind_of_gradient_is_tried(installed):
    tiers = tiers_of("lotka-volterra", {"torchdiffeq": installed["torchdiffeq"]}, "solve")
    assert tiers
    assert len({(cell.method, cell.mode, cell.saving) for cell in tiers}) == len(tiers)

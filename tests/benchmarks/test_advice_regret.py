"""Published rules as functions of features, and what regret counts."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from sciml_bench.adapters.registry import adapters
from sciml_bench.analysis.advice import experience_file
from sciml_bench.record.task import Cell

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

pytestmark = pytest.mark.skipif(not BENCHMARKS.exists(), reason="the benchmarks are in a checkout only")


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module("published_rules")
    del sys.modules["published_rules"]


@pytest.fixture
def regret(rules: ModuleType) -> Iterator[ModuleType]:
    yield importlib.import_module("advice_regret")
    del sys.modules["advice_regret"]


def traits(rules: ModuleType, **changes: object):
    small = rules.Traits(n_states=3, n_theta=3, stiff=True, learned=False, fastest=100.0, work=50.0, accuracy=1e-6)
    return replace(small, **changes)


def allowed(rules: ModuleType, name: str, of: object) -> set[str]:
    """``method sensitivity`` of the ways that a rule allows."""
    rule = next(rule for rule in rules.RULES if rule.name == name)
    found: set[str] = set()
    for adapter in adapters().values():
        for method in adapter.methods if adapter.track == "solvers" else ():
            for sensitivity in adapter.sensitivities:
                cell = Cell("p", adapter.name, method.name, sensitivity, adapter.modes[0])
                if rule.allows(of, cell, method):
                    found.add(f"{adapter.name} {method.name} {sensitivity}")
    return found


def test_petab_goes_by_size_and_by_whether_a_part_is_learnt(rules):
    small = allowed(rules, "PEtab.jl", traits(rules))
    assert {"julia rodas5p forward", "diffrax kvaerno5 forward"} <= small
    assert not {"scipy bdf forward", "julia rodas5p gauss-enzyme"} & small
    medium = allowed(rules, "PEtab.jl", traits(rules, n_theta=21))
    assert {"julia qndf forward", "scipy bdf forward"} <= medium
    assert "julia rodas5p forward" not in medium
    large = allowed(rules, "PEtab.jl", traits(rules, n_theta=76))
    assert {"julia cvode_bdf interpolating-reversediff", "tensorflow bdf backsolve"} <= large
    assert not any(way.endswith(" forward") for way in large)
    learnt = allowed(rules, "PEtab.jl", traits(rules, learned=True, n_theta=75))
    assert "diffrax tsit5 forward" in learnt
    assert "diffrax kvaerno5 forward" not in learnt
    assert "julia tsit5 interpolating-enzyme" in allowed(rules, "PEtab.jl", traits(rules, learned=True, n_theta=76))


def test_bounds_are_those_that_are_published(rules):
    def forward(name: str, **changes: int) -> bool:
        return any(way.endswith(" forward") for way in allowed(rules, name, traits(rules, **changes)))

    assert forward("SciMLSensitivity, 100", n_theta=97)
    assert not forward("SciMLSensitivity, 100", n_theta=98)
    assert forward("AMICI, 20", n_theta=20)
    assert not forward("AMICI, 20", n_theta=21)
    assert "diffrax kvaerno5 forward" in allowed(rules, "ferx", traits(rules, fastest=30.0))
    assert "diffrax kvaerno5 forward" not in allowed(rules, "ferx", traits(rules, fastest=29.9))
    assert "diffrax kvaerno5 forward" not in allowed(rules, "ODE-toolbox", traits(rules, work=6.0))
    assert "diffrax kvaerno5 forward" in allowed(rules, "ODE-toolbox", traits(rules, work=6.1))
    assert "julia fbdf forward" in allowed(rules, "Julia's default", traits(rules, n_states=51, n_theta=3))
    assert "julia vern7 forward" in allowed(rules, "Julia's default", traits(rules, work=1.0, accuracy=1e-7))
    assert "julia tsit5 forward" in allowed(rules, "Julia's default", traits(rules, work=1.0))


def test_rules_for_one_library_stay_in_it(rules):
    always = allowed(rules, "always Tsit5 or Kvaerno5, checkpointed", traits(rules))
    assert always == {f"diffrax {name} checkpointed" for name in ("kvaerno5", "kvaerno5-newton", "kvaerno5-chord")}
    assert allowed(rules, "LSODA", traits(rules)) == {"scipy lsoda forward", "scipy odeint forward"}
    assert "diffrax tsit5 discrete" in allowed(rules, "gradsolve", traits(rules, stiff=False))


def test_the_page_of_regret_is_made_from_the_stored_runs(regret):
    """And what ships with the package is what was learnt from them."""
    root = BENCHMARKS.parent
    problems = regret.read(root / "results" / "exhaustive")
    assert (root / "docs" / "regret.md").read_text(encoding="utf-8") == regret.text_of(problems)
    shipped = {item.problem: item for item in experience_file.shipped()}
    assert shipped == {item.name: item.known for item in problems}


def test_the_spread_of_regrets(regret):
    assert regret.spread([1.0] * 9 + [2.0]) == ["1", "1", "2"]
    assert regret.spread([1.0, 100.0]) == ["50.5", "fails", "fails"]
    assert regret.spread([]) == ["", "", ""]

"""A plan keeps what adapters declare: a stored run is explained by it, whatever is installed where it is read."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from stubs.compared import run
from stubs.reported import cell

from sciml_bench.adapters import registry
from sciml_bench.adapters.base import Adapter, Cost, Method, PlotStyle
from sciml_bench.adapters.declared import Declared, declarations
from sciml_bench.analysis.loaded_run import read_run
from sciml_bench.charts.catalog import charts
from sciml_bench.cli.main import main
from sciml_bench.planning.cost import estimate_s
from sciml_bench.planning.plan import make_plan
from sciml_bench.planning.profiles import profile_named
from sciml_bench.planning.selection import Selection
from sciml_bench.planning.settings import Settings
from sciml_bench.record.codec import encode
from sciml_bench.record.run_folder import Run

TEN = Method("ten", "gauss_legendre", 10, True)
OURS = Declared("Our library", "numpy", {}, {"kvaerno5": TEN}, PlotStyle("#123456", "o"))
THEIRS = Declared("Theirs", "numpy", {}, {"radau": Method("radau", "radau", 5, True)})
CELLS = (cell("kvaerno5", "ours"), cell("radau", "theirs"))


def stored(folder: Path, **adapters: Any) -> Run:
    """A run of two adapters that no installation has."""
    kept = {"version": "0", "adapters": adapters or {"ours": encode(OURS), "theirs": encode(THEIRS)}}
    return run(folder, "stored", cells=CELLS, factors={CELLS[0]: 1.0, CELLS[1]: 2.0}, changes=kept)


def nothing(*_arguments: object) -> Any:
    raise AssertionError("an adapter of this installation was asked")


def test_a_stored_run_is_shown_without_asking_what_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    folder = str(stored(tmp_path).folder)
    for name in ("adapters", "adapter", "_all", "missing"):
        monkeypatch.setattr(registry, name, nothing)
    page = str(tmp_path / "page.html")
    for words in (
        ("show", folder), ("show", folder, "--json"), ("verify", folder), ("report", folder, "-o", page),
        ("export", folder, "--to", "csv"), ("export", folder, "--to", "latex"), ("export", folder, "--to", "markdown"),
        ("plot", "work-precision", folder, "-o", str(tmp_path / "a.svg")),
        ("compare", folder, "--of", "ours", "--with", "theirs"),
    ):  # fmt: skip
        main(words)
        assert "ERROR" not in capsys.readouterr().err
    html = Path(page).read_text()
    assert "gauss legendre" in html
    assert "Our library" in html


def test_what_a_plan_says_counts_and_not_what_is_installed_under_the_same_name(tmp_path: Path):
    found = run(tmp_path, "other", changes={"adapters": {"diffrax": encode(OURS)}})
    summary = read_run(found).summary
    methods = {item.cell.adapter: item.method for item in summary.cells.values()}
    assert methods == {"diffrax": TEN, "scipy": None}


def test_a_plan_without_declarations_has_none():
    assert declarations({}) == {}


def test_a_plan_keeps_what_it_uses_and_its_hash_does_not_change():
    plan = make_plan(Selection(problems=("robertson",)), registry.adapters(), profile_named("smoke"), Settings())
    kept = plan.to_dict()["adapters"]
    used = {(item.cell.adapter, item.cell.method) for item in plan.planned}
    assert {(name, method) for name, data in kept.items() for method in data["methods"]} == used
    assert declarations(json.loads(json.dumps(kept)))["scipy"].look == registry.adapter("scipy").look
    renamed = {name: dataclasses.replace(item, title="Another") for name, item in registry.adapters().items()}
    other = make_plan(Selection(problems=("robertson",)), renamed, profile_named("smoke"), Settings())
    assert other.hash == plan.hash


BAD = {
    "a colour that is markup": {"look": {"colour": '"/><script>alert(1)</script>', "markers": "o"}},
    "a colour by name": {"look": {"colour": "red", "markers": "o"}},
    "no marker": {"look": {"colour": "#123456", "markers": ""}},
    "an unknown marker": {"look": {"colour": "#123456", "markers": "o?"}},
    "methods that are none": {"methods": [1]},
    "an order that is none": {"methods": {"a": {"name": "a", "family": "x", "order": "high", "implicit": True}}},
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_strangers_put_into_a_plan_is_left_out(tmp_path: Path, name: str):
    found = stored(tmp_path, ours=encode(OURS) | BAD[name], theirs=encode(THEIRS))
    run = read_run(found)
    assert set(run.summary.declared) == {"theirs"}
    for chart in charts(run.analysis, "work-precision"):
        assert "script" not in chart.svg()


@pytest.mark.parametrize("kept", [None, [], "x", {"ours": None}, {"ours": 3}])
def test_a_plan_whose_adapters_are_none_says_nothing(kept: Any):
    assert declarations(kept) == {}


def test_a_third_party_states_what_its_cells_take():
    def seconds(cost: Cost) -> float:
        adapter = Adapter("x", "X", {}, "", "numpy", "", (TEN,), ("forward",), ("eager",), cost=cost)
        facts = dataclasses.replace(make_facts(), probed=None)
        of = cell("ten", "x")
        return estimate_s(
            of, TEN, facts, adapter.cost, profile=profile_named("quick"), timeout_s=30.0, earlier={}, n_points=1
        )

    quick, slow = seconds(Cost(startup_s=1.0)), seconds(Cost(startup_s=11.0))
    assert slow == quick + 10
    assert seconds(Cost(startup_s=1.0, long_startup_s={"ten": 11.0})) == slow
    assert seconds(Cost(startup_s=1.0, call_s=5.0)) > quick


def make_facts() -> Any:
    plan = make_plan(Selection(problems=("robertson",)), registry.adapters(), profile_named("smoke"), Settings())
    return plan.entries[0].facts

"""The problems that claims are tested on: they load, and mean what the claim says."""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from sciml_bench.adapters.julia import installation
from sciml_bench.adapters.registry import adapters
from sciml_bench.errors import ProblemError, UsageError
from sciml_bench.host.extras import install_command
from sciml_bench.models.load import load_model
from sciml_bench.models.model import Model
from sciml_bench.models.truth import stored as model_reference
from sciml_bench.planning.problems import entries
from sciml_bench.planning.profiles import profile_named
from sciml_bench.planning.selection import Selection
from sciml_bench.published_claims.claim import Claim
from sciml_bench.published_claims.collection import claims, find
from sciml_bench.published_claims.joined_claims import together
from sciml_bench.published_claims.load import load_claim
from sciml_bench.published_claims.selection import FIRST_TARGETS, in_order, measuring, needed, obstacle, trial
from sciml_bench.published_claims.workloads import write_workloads
from sciml_bench.record.task import CALLS, Cell, Point
from sciml_bench.references.store import find as stored_reference
from sciml_bench.spec import Problem, catalog

LADDER = (Point(1e-4, 1e-4), Point(1e-6, 1e-6))
WITH_SETTINGS = sorted(name for name, claim in claims().items() if claim.published or claim.fair)


@pytest.mark.parametrize("name", WITH_SETTINGS)
def test_the_problems_of_every_claim_load_and_their_cells_are_not_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # What this machine lacks is no fault of a claim.
    monkeypatch.setattr(installation, "refused_part", lambda *_: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
    claim = claims()[name]
    written = write_workloads([claim], tmp_path)
    assert [item.setting for item in written] == ["published", "fair"]
    _, claimed = trial(written, LADDER)
    cells = claimed.sides[claim.id]
    sides = ("cell",) if claim.figure.against_later else ("fast", "slow")
    assert set(cells) == {f"{setting}.{side}" for setting in ("published", "fair") for side in sides}
    for label in (label for labels in cells.values() for label in labels):
        cell = Cell(*label.split("/"))
        (path,) = {item.path for item in written if item.problem.name == cell.problem}
        (entry,) = entries(Selection(), (path,))
        assert adapters()[cell.adapter.partition("@")[0]].refusal(cell, entry.facts) is None


def test_what_a_claim_sets_is_set_and_the_rest_is_the_catalogs(tmp_path: Path):
    published, fair = write_workloads([find("C06-robertson-julia")], tmp_path)
    assert isinstance(fair.problem, Problem)
    assert published.problem.name == "robertson-c06-robertson-julia-published"
    assert published.problem.numbers().atol_scale == (1.0, 1.0, 1.0)
    assert fair.problem.spec_hash == catalog.load("robertson").spec_hash
    assert stored_reference(fair.problem) is not None


def test_a_models_reference_comes_along_where_it_covers_the_batches(tmp_path: Path):
    alike, *_ = write_workloads([find("C32-lenet")], tmp_path / "alike")
    assert isinstance(alike.problem, Model)
    assert model_reference(alike.problem) is not None
    larger, *_ = write_workloads([find("C32")], tmp_path / "larger")
    assert isinstance(larger.problem, Model)
    assert larger.problem.batches == (1, 10_000)
    assert larger.problem.spec_hash == load_model(catalog.path("matrix-exponential")).spec_hash
    assert model_reference(larger.problem) is None


def test_tables_are_replaced_as_a_whole_and_weights_drawn_anew(tmp_path: Path):
    published, _ = write_workloads([find("C14-lotka-volterra")], tmp_path)
    assert isinstance(published.problem, Problem)
    assert published.problem.theta_labels == ("a", "b", "c")
    assert published.problem.training is None
    large, _ = write_workloads([find("C23")], tmp_path)
    assert isinstance(large.problem, Problem)
    assert sum(len(network.weights) for network in large.problem.networks) == 3 * 224 + 225 * 224 + 225 * 2


def test_published_tolerances_are_those_of_the_sides(tmp_path: Path):
    claim = find("C03")
    selection, claimed = trial(write_workloads([claim], tmp_path), LADDER)
    cells = claimed.sides[claim.id]
    (published,) = cells["published.slow"]
    assert published in cells["fair.slow"], "it is a recipe"
    assert claimed.points[published] == (*LADDER, Point(1e-7, 1e-9))
    assert set(cells["fair.slow"]) & set(claimed.points) == {published}
    assert set(selection.cells) == {label for labels in cells.values() for label in labels}


def test_a_cell_of_both_settings_is_measured_once_at_the_stated_tolerances_and_on_the_ladder(tmp_path: Path):
    claim = find("C13")
    written = write_workloads([claim], tmp_path)
    assert {item.path.name for item in written} == {"spiral-node-c13.toml"}
    selection, claimed = trial(written, LADDER)
    cells = claimed.sides["C13"]
    assert cells["published.fast"] == cells["fair.fast"]
    assert len(selection.cells) == 2
    assert claimed.points[cells["fair.fast"][0]] == (Point(1e-3, 1e-6), *LADDER)


def test_a_side_that_is_left_to_its_library_is_every_recipe_that_has_the_rest(tmp_path: Path):
    eager, compiled = find("C05"), find("C05-numba")
    for claim, mode in ((eager, "eager"), (compiled, "compiled")):
        _, claimed = trial(write_workloads([claim], tmp_path / claim.id), LADDER)
        cells = [Cell(*label.split("/")) for label in claimed.sides[claim.id]["fair.slow"]]
        assert {cell.mode for cell in cells} == {mode}
        assert {cell.adapter for cell in cells} == {"scipy"}
        assert len({(cell.method, cell.saving) for cell in cells}) == len(cells), "a solve has no sensitivity"
    assert eager.fair is not None
    side = dataclasses.replace(eager.fair.sides["slow"], method="rk23")
    fair = dataclasses.replace(eager.fair, sides={**eager.fair.sides, "slow": side})
    with pytest.raises(ProblemError, match=r"no recipe of scipy for .* is 'scipy rk23 eager as recommended'"):
        trial(write_workloads([dataclasses.replace(eager, fair=fair)], tmp_path / "none"), LADDER)


def test_claims_that_share_cells_are_measured_together_and_these_once(tmp_path: Path):
    ids = ("C03", "C05", "C13", "C23", "C13-vjp", "C03-defaults", "C08")
    shared, *others = together([find(name) for name in ids], profile_named("standard"))
    assert [claim.id for claim in shared] == ["C03", "C13", "C13-vjp", "C03-defaults"]
    assert [[claim.id for claim in group] for group in others] == [["C05"], ["C23"], ["C08"]]
    written = write_workloads(shared, tmp_path)
    assert {item.path.name for item in written} == {"spiral-node-c03-and-3-more.toml"}
    selection, claimed = trial(written, LADDER)
    assert list(claimed.sides) == [claim.id for claim in shared]
    assert claimed.sides["C03"]["published.fast"] == claimed.sides["C13"]["published.slow"]
    assert len(selection.cells) == len(
        {label for sides in claimed.sides.values() for labels in sides.values() for label in labels}
    )
    alone = {
        label.partition("/")[2]: points
        for claim in shared
        for label, points in trial(write_workloads([claim], tmp_path / claim.id), LADDER)[1].points.items()
        if len(points) > 1
    }
    zygote = "julia/tsit5/interpolating-zygote/compiled/float64/cpu"
    assert set(alone) > {zygote}
    assert claimed.points == {f"spiral-node-c03-and-3-more/{label}": points for label, points in alone.items()}


def test_claims_about_other_problems_calls_or_samples_are_measured_apart(tmp_path: Path):
    one = find("C03")
    small = dataclasses.replace(one, id="X1", figure=dataclasses.replace(one.figure, ratio=1.1))
    solves = dataclasses.replace(one, id="X2", figure=dataclasses.replace(one.figure, quantity="solve"))
    assert one.fair is not None
    far = dataclasses.replace(one.fair, workload=dataclasses.replace(one.fair.workload, changes={"time.end": 2.0}))
    other = dataclasses.replace(one, id="X3", fair=far)
    claims = [one, small, solves, other]
    assert together(claims, profile_named("standard")) == tuple((claim,) for claim in claims)
    with pytest.raises(ValueError, match="C03, X3 are about different problems"):
        write_workloads([one, other], tmp_path)


def _with_one_julia(tmp_path: Path) -> Claim:
    """A claim whose forward side is the same cell as published and when fair."""
    path = tmp_path / "claim.toml"
    path.write_text(find("C14-brusselator").path.read_text(encoding="utf-8").replace("julia@enzyme", "julia"))
    return load_claim(path)


def test_nothing_is_measured_for_the_sake_of_a_side_that_cannot_be(tmp_path: Path):
    claim = _with_one_julia(tmp_path)
    written = write_workloads([claim], tmp_path)
    _, whole = trial(written, LADDER)
    cells = {name: label for name, (label,) in whole.sides[claim.id].items()}
    refused, forward = cells["published.fast"], cells["fair.slow"]
    assert forward == cells["published.slow"]
    assert set(whole.points[forward]) == {Point(1e-7, 1e-5), *LADDER}
    selection, claimed = trial(written, LADDER, {refused})
    assert set(selection.cells) == {refused, forward, cells["fair.fast"]}
    assert claimed.sides == whole.sides
    assert claimed.points == {}, "forward is a side of the fair setting only, on the ladder"
    selection, claimed = trial(written, LADDER, {cells["fair.fast"]})
    assert set(selection.cells) == set(cells.values())
    assert claimed.points == {refused: (Point(1e-7, 1e-5),), forward: (Point(1e-7, 1e-5),)}


def test_a_claim_is_measured_at_tolerances_two_decades_apart():
    solves, counts = find("C05"), find("C15")
    assert measuring(solves, profile_named("standard")).rtols == (1e-4, 1e-6, 1e-8, 1e-10)
    assert measuring(find("C28"), profile_named("standard")).rtols == (1e-4,)
    assert measuring(solves, profile_named("quick")).rtols == profile_named("quick").rtols
    assert measuring(solves, profile_named("smoke")).rtols == profile_named("smoke").rtols
    assert {
        (name, profile): measuring(find(name), profile_named(profile)).processes
        for name in ("C05", "C13", "C23", "C08-alike")
        for profile in ("smoke", "quick", "standard", "rigorous")
    } == {
        ("C05", "smoke"): 1, ("C05", "quick"): 3, ("C05", "standard"): 5, ("C05", "rigorous"): 15,
        ("C13", "smoke"): 1, ("C13", "quick"): 3, ("C13", "standard"): 5, ("C13", "rigorous"): 15,
        ("C23", "smoke"): 1, ("C23", "quick"): 3, ("C23", "standard"): 10, ("C23", "rigorous"): 30,
        ("C08-alike", "smoke"): 1, ("C08-alike", "quick"): 3, ("C08-alike", "standard"): 10,
        ("C08-alike", "rigorous"): 30,
    }  # fmt: skip
    assert {
        (name, profile): measuring(find(name), profile_named(profile)).sampling.steady_calls
        for name in ("C05", "C23")
        for profile in ("smoke", "standard", "rigorous")
    } == {
        ("C05", "smoke"): 3, ("C05", "standard"): 10, ("C05", "rigorous"): 10,
        ("C23", "smoke"): 3, ("C23", "standard"): 30, ("C23", "rigorous"): 500,
    }  # fmt: skip
    assert measuring(counts, profile_named("standard")).processes == 1
    assert measuring(counts, profile_named("standard")).sampling.max_steady_calls == 3
    assert not measuring(counts, profile_named("standard")).comparable
    assert not measuring(counts, profile_named("standard")).rerun_noisy, "work of others changes no count"
    assert measuring(solves, profile_named("standard")).rerun_noisy
    assert measuring(solves, profile_named("standard")).draws == 0


def test_a_claim_about_solves_is_measured_without_gradients(tmp_path: Path):
    for name, calls in (("C05", ("solve",)), ("C12", ("solve",)), ("C03", CALLS), ("C21-first", CALLS)):
        _, claimed = trial(write_workloads([find(name)], tmp_path), LADDER)
        assert claimed.calls == calls


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ('"states.y4.initial" = 1', "cannot be made from robertson"),
        ('"time.t1.x" = 1', "must be a table"),
        ('"parameters.k1" = nan', "cannot be made from robertson"),
        ('"equations.y1" = "__import__(1)"', "cannot be made from robertson"),
    ],
)
def test_what_makes_no_problem_is_refused_with_the_line_of_the_claim(tmp_path: Path, change: str, complaint: str):
    text = find("C05").path.read_text(encoding="utf-8")
    start = text.index("set = {")
    path = tmp_path / "C05.toml"
    changed = text[:start] + f"set = {{ {change} }}" + text[text.index("\n", start) :]
    more = "".join(f'{name} = {{ mark = "unknown" }}\n' for name in ("problem", "span", "saved"))
    path.write_text(changed + more, encoding="utf-8")
    with pytest.raises(ProblemError, match=complaint) as caught:
        write_workloads([load_claim(path)], tmp_path / "problems")
    assert caught.value.where == path
    assert caught.value.line == text[:start].count("\n") + 1


def test_a_sides_cell_cannot_be_held_against_itself(tmp_path: Path):
    text = find("C05").path.read_text(encoding="utf-8")
    side = 'adapter = "scipy"\nmethod = "odeint"\nsensitivity = "forward"\nmode = "eager"'
    rival = 'adapter = "julia"\nmethod = "rosenbrock23"\nsensitivity = "forward"\nmode = "compiled"'
    path = tmp_path / "C05.toml"
    path.write_text(text.replace(side, rival, 1), encoding="utf-8")
    with pytest.raises(ProblemError, match="are the same cell"):
        load_claim(path)


def test_first_targets_come_first():
    ordered = [claim.id for claim in in_order(tuple(claims().values()))]
    assert sorted(ordered) == sorted(claims())
    first = [name.partition("-")[0] for name in ordered]
    assert tuple(dict.fromkeys(name for name in first if name in FIRST_TARGETS)) == FIRST_TARGETS
    assert first.index("C35") < first.index("C02")


def test_what_stands_in_the_way_is_told(monkeypatch: pytest.MonkeyPatch):
    assert "--cpu" in obstacle(find("C10"), adapters(), cpu_only=True)
    assert "CUDA.jl" in obstacle(find("C10"), adapters(), cpu_only=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert install_command("numbalsoda") in obstacle(find("C06-lorenz"), adapters(), cpu_only=True)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
    assert obstacle(find("C23"), adapters(), cpu_only=True) == ""


def test_a_machine_that_is_too_small_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=2**30))
    needs = f"it needs {find('C23').needs.memory_gib:g} GiB of memory, and this machine has 1.0"
    assert obstacle(find("C23"), adapters(), cpu_only=True) == needs


def test_the_package_of_a_mode_is_needed_too(monkeypatch: pytest.MonkeyPatch):
    claim, found = find("C06-lorenz"), importlib.util.find_spec
    assert needed(claim, adapters()) == ("numbalsoda", "scipy", "numba")
    assert needed(find("C05"), adapters()) == ("julia", "scipy")
    # As if all were installed but Numba.
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "numba" else found("scipy"))
    said = obstacle(claim, adapters(), cpu_only=True)
    assert f"scipy: numba is not installed; run: {install_command('numba')}" in said


def test_most_of_the_catalog_of_claims_is_here():
    numbers = {name.partition("-")[0] for name in claims()}
    assert len(numbers) >= 28
    assert set(FIRST_TARGETS) <= numbers
    drifts = {name for name, claim in claims().items() if claim.drifts}
    assert {"C04", "C10", "C11", "C13"} <= drifts


def test_a_file_with_the_id_of_a_claim_cannot_give_what_the_suite_leaves_to_recipes(tmp_path: Path):
    text = find("C05").path.read_text(encoding="utf-8")
    side = '[fair.slow]\nadapter = "scipy"\nmode = "eager"\n'
    assert side in text
    path = tmp_path / "C05.toml"
    path.write_text(text.replace(side, f'{side}method = "rk45"\nsensitivity = "forward"\n'), encoding="utf-8")
    with pytest.raises(UsageError, match="other settings"):
        find(str(path))

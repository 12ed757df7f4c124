"""Claim files: those of the suite are right, and wrong ones are refused with their line."""

from __future__ import annotations

import json
import sys
import tomllib
from dataclasses import asdict
from functools import partial
from pathlib import Path

import jsonschema
import pytest

from sciml_bench.adapters.julia import installation
from sciml_bench.adapters.julia.installation import Installation
from sciml_bench.adapters.registry import adapters
from sciml_bench.errors import ProblemError
from sciml_bench.host.environments import Environment
from sciml_bench.published_claims.claim import OF_SEVERAL
from sciml_bench.published_claims.collection import claims, find, folder
from sciml_bench.published_claims.load import load_claim
from sciml_bench.published_claims.schema import claim_schema
from sciml_bench.published_claims.selection import needed, obstacle

GOOD = folder() / "C05.toml"


def changed(tmp_path: Path, old: str, new: str) -> Path:
    text = GOOD.read_text(encoding="utf-8")
    assert text.count(old) >= 1
    path = tmp_path / "claim.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def test_a_claim_has_its_figure_its_source_and_both_settings():
    claim = find("C05")
    assert (claim.figure.ratio, claim.figure.quantity) == (53.0, "solve")
    assert claim.origin.read.year == 2026
    assert claim.published is not None
    assert claim.fair is not None
    assert claim.published.sides["fast"].rtol == 1e-3
    assert claim.published.workload.changes["states.y2.atol_scale"] == 1
    assert claim.adapters == ("julia", "scipy")


@pytest.mark.parametrize("name", sorted(claims()))
def test_every_claim_of_the_suite_is_whole(name: str):
    claim = claims()[name]
    assert claim.path.stem == claim.id
    assert claim.testable or claim.needs.missing
    assert claim.origin.url.startswith("https://")


@pytest.mark.parametrize(
    ("old", "new", "line", "complaint"),
    [
        ("claim = 1", "claim = 2", 1, "'claim' must be 1"),
        ('id = "C05"', 'id = "C 05"', 2, "cannot be a claim's id"),
        ("ratio = 53", "ratio = 0.5", 19, "at least 1 and at most"),
        ("ratio = 53", "ratio = inf", 19, "at least 1 and at most"),
        ("ratio = 53", "ratio = 53\nwithin = 2", 19, "exactly one of"),
        ("ratio = 53", "ratio = 53\nmost = 2", 20, "upper end of a range"),
        ('quantity = "solve"', 'quantity = "beauty"', 18, "is no quantity of a claim"),
        ("read = 2026-06-30", 'read = "June"', 27, "the date on which the figure was read"),
        ("minutes = 2", "minutes = 0", 30, "must be above 0"),
        ('[published]\nproblem = "robertson"', '[published]\nproblem = "robber"', 47, "no problem 'robber'"),
        ('method = "rosenbrock23"', 'method = "rosenbrock"', 53, "julia has no method 'rosenbrock'"),
        ('adapter = "scipy"', 'adapter = "scipi"', 60, "unknown adapter 'scipi'"),
        ("rtol = 1e-3\n", "rtol = 2\n", 56, "must be above 0 and below 1"),
        ("[published.fast]", "[published.first]", 46, "unknown key 'first'"),
        ("traps = [", "traps = [1, ", 12, "must be a list of texts"),
        ('url = "https://gist.github.com', 'url = "gist', 25, "cannot be the address of the source"),
        (
            'version = "gist fd62e005c4c86520306338b6bdae6b79"',
            'version = "the newest"',
            26,
            "cannot be the version",
        ),
        ("ratio = 53", 'ratio = 53\nkind = "direction"', 20, "a direction names no figure"),
        ("ratio = 53", 'ratio = 53\nmost = 60\nkind = "up_to"', 21, "'most' ends a range"),
        ("ratio = 53", "ratio = 53\ndigits = 17", 20, "'digits' is 17"),
        ("ratio = 53", 'ratio = 53\nderived = "yes"', 20, "must be true or false"),
        ("ratio = 53", 'ratio = 53\nkind = "none"', 19, "a text without a figure"),
        ("ratio = 53", 'ratio = 53\nagainst = "later"', 19, "solve cannot be claimed against 'later'"),
        (
            'quantity = "solve"',
            'quantity = "first_solve"\nagainst = "others"',
            19,
            "'others' is no call to compare with",
        ),
        ('quantity = "solve"', 'quantity = "first_solve"\nagainst = "later"', 46, "unknown key 'fast'"),
    ],
)
def test_wrong_files_are_refused_with_line_and_cure(tmp_path: Path, old: str, new: str, line: int, complaint: str):
    path = changed(tmp_path, old, new)
    with pytest.raises(ProblemError, match=complaint) as caught:
        load_claim(path)
    assert caught.value.where == path
    assert caught.value.line is not None
    assert abs(caught.value.line - line) <= 4


def test_a_missing_source_and_missing_conditions_are_refused(tmp_path: Path):
    text = GOOD.read_text(encoding="utf-8")
    start, end = text.index("[source]"), text.index("[needs]")
    path = tmp_path / "claim.toml"
    path.write_text(text[:start] + text[end:], encoding="utf-8")
    with pytest.raises(ProblemError, match=r"\[source\] is missing"):
        load_claim(path)
    path.write_text(text[: text.index("[fair]")], encoding="utf-8")
    with pytest.raises(ProblemError, match=r"\[fair\] is missing"):
        load_claim(path)
    path.write_text(text.replace("[needs]", '[needs]\nmissing = "Numba"')[: text.index("[published]")])
    with pytest.raises(ProblemError):
        load_claim(tmp_path / "nowhere.toml")


ENVIRONMENTS = """
[environments]
older = ["scipy==1.15.0"]
"""


@pytest.mark.parametrize(
    ("table", "adapter", "complaint"),
    [
        (ENVIRONMENTS, "scipy@newer", "no packages are given for the environment 'newer'"),
        ("", "scipy@older", "no packages are given for the environment 'older'"),
        (ENVIRONMENTS, "scipi@older", "unknown adapter 'scipi'"),
        ("[environments]\nolder = []", "scipy@older", "'older' cannot be an environment"),
        ('[environments]\n"ol der" = ["scipy==1"]', "scipy", "'ol der' cannot be an environment"),
        ('[environments]\nolder = ["scipy => 1"]', "scipy@older", "'scipy => 1' is not a release of a package"),
        ("[environments]\nolder = [\"scipy==1; extra == '$(id)'\"]", "scipy@older", "is not a release of a package"),
        ('[environments]\nolder = ["scipy @ https://example.org/x"]', "scipy@older", "is not a release of a package"),
        ('[environments]\nolder = "scipy==1"', "scipy@older", "must be a list of texts"),
    ],
)
def test_environments_of_sides_have_packages(tmp_path: Path, table: str, adapter: str, complaint: str):
    path = changed(tmp_path, 'adapter = "scipy"', f'adapter = "{adapter}"')
    path.write_text(path.read_text().replace("[published]", f"{table}\n\n[published]"), encoding="utf-8")
    with pytest.raises(ProblemError, match=complaint):
        load_claim(path)


def test_a_claim_about_releases_names_the_commands_that_make_their_environments(monkeypatch, tmp_path: Path):
    path = changed(tmp_path, 'adapter = "scipy"', 'adapter = "scipy@older"')
    path.write_text(path.read_text().replace("[published]", f"{ENVIRONMENTS}\n[published]"), encoding="utf-8")
    claim = load_claim(path)
    assert jsonschema.validate(tomllib.loads(path.read_text()), claim_schema()) is None
    assert claim.adapters == ("julia", "scipy@older", "scipy")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    command = "sciml-bench env make older scipy==1.15.0"
    assert obstacle(claim, adapters(), cpu_only=True) == f"it needs other releases side by side; run: {command}"
    assert needed(claim, adapters()) == ("julia", "scipy@older", "scipy")
    folder = tmp_path / "sciml-bench" / "environments" / "older"
    folder.mkdir(parents=True)
    made = Environment("older", ("scipy==1.16.0",), (), "3.11.0", "")
    (folder / "environment.json").write_text(json.dumps(asdict(made)))
    assert command in obstacle(claim, adapters(), cpu_only=True), "made from other packages"
    (folder / "environment.json").write_text("{")
    assert "not the record of an environment" in obstacle(claim, adapters(), cpu_only=True)


def test_a_claim_about_sets_of_julia_packages_needs_their_manifest(monkeypatch, tmp_path: Path):
    path = changed(tmp_path, 'adapter = "julia"', 'adapter = "julia@older"')
    table = '[environments]\nolder = ["Enzyme==0.13.46", "SciMLBase==2.146.0"]\n'
    path.write_text(path.read_text().replace("[published]", f"{table}\n[published]"), encoding="utf-8")
    claim = load_claim(path)
    monkeypatch.setenv("SCIML_BENCH_JULIA", str(tmp_path / "julia.json"))
    obstacle_here = partial(obstacle, claim, adapters(), cpu_only=True)
    nowhere = "Julia has no environment 'older' with Enzyme==0.13.46, SciMLBase==2.146.0; run: sciml-bench julia setup"
    assert obstacle_here().startswith(f"{nowhere} --name older --project FOLDER")
    record = tmp_path / "julia@older.json"
    installation.write(Installation(sys.executable, str(tmp_path)), record)
    assert "the Julia project is not set up" in obstacle_here()
    manifest = '[[deps.Enzyme]]\nversion = "0.13.46"\n[[deps.SciMLBase]]\nversion = "{}"\n'
    (tmp_path / "Manifest.toml").write_text(manifest.format("2.147.0"), encoding="utf-8")
    assert obstacle_here().startswith("Julia has no environment 'older' with SciMLBase==2.146.0; run: ")
    (tmp_path / "Manifest.toml").write_text(manifest.format("2.146.0"), encoding="utf-8")
    assert "has no environment" not in obstacle_here()


FIRST_CALL = """
[published]
problem = "lorenz"

[published.cell]
adapter = "diffrax"
method = "tsit5"
sensitivity = "checkpointed"
mode = "compiled"
rtol = 1e-4

[fair]
problem = "lorenz"

[fair.cell]
adapter = "diffrax"
method = "tsit5"
sensitivity = "checkpointed"
mode = "compiled-warm"
"""


def test_a_first_call_against_later_ones_has_one_side(tmp_path: Path):
    text = GOOD.read_text(encoding="utf-8").replace('quantity = "solve"', 'quantity = "first_solve"\nagainst = "later"')
    text = text[: text.index("[published]")] + FIRST_CALL
    text = text.replace('fast = "minimum", slow = "mean"', 'cell = "single"')
    text = text.replace('fast = "direct", slow = "direct"', 'cell = "direct"')
    path = tmp_path / "claim.toml"
    path.write_text(text, encoding="utf-8")
    claim = load_claim(path)
    assert claim.figure.against_later
    assert claim.published is not None
    assert list(claim.published.sides) == ["cell"]
    assert claim.published.sides["cell"].rtol == 1e-4
    assert list(jsonschema.Draft202012Validator(claim_schema()).iter_errors(tomllib.loads(text))) == []
    path.write_text(text.replace("[published.cell]", "[published.fast]"), encoding="utf-8")
    with pytest.raises(ProblemError, match="unknown key 'fast'"):
        load_claim(path)
    path.write_text(text[: text.index("[fair.cell]")], encoding="utf-8")
    with pytest.raises(ProblemError, match=r"is missing the table 'cell'"):
        load_claim(path)


@pytest.mark.parametrize("kind", list(OF_SEVERAL))
def test_what_one_problem_cannot_rule_on_has_no_settings(tmp_path: Path, kind: str):
    text = GOOD.read_text(encoding="utf-8").replace('quantity = "solve"', f'quantity = "solve"\nkind = "{kind}"')
    path = tmp_path / "claim.toml"
    path.write_text(text.replace("ratio = 53\n", "") if kind == "none" else text, encoding="utf-8")
    with pytest.raises(ProblemError, match=f"cannot rule on {OF_SEVERAL[kind]}") as caught:
        load_claim(path)
    assert caught.value.line == text.splitlines().index(f'kind = "{kind}"') + 1
    assert "'missing'" in caught.value.cure


@pytest.mark.parametrize("name", [name for name, claim in claims().items() if claim.testable])
def test_no_claim_is_ruled_by_what_its_quantity_does_not_allow(name: str):
    assert claims()[name].figure.kind not in OF_SEVERAL


def test_the_schema_knows_every_claim_and_refuses_what_the_loader_does():
    validator = jsonschema.Draft202012Validator(claim_schema())
    jsonschema.Draft202012Validator.check_schema(claim_schema())
    for claim in claims().values():
        assert list(validator.iter_errors(tomllib.loads(claim.path.read_text(encoding="utf-8")))) == [], claim.id
    text = GOOD.read_text(encoding="utf-8")
    for old, new in (
        ("ratio = 53", "ratio = 0.5"),
        ("[published.fast]", "[published.first]"),
        ("rtol = 1e-3\n", "rtol = 2\n"),
        ("ratio = 53", 'ratio = 53\nagainst = "later"'),
        ('quantity = "solve"', 'quantity = "first_solve"\nagainst = "later"'),
        ("[fair.slow]", "[fair.cell]"),
    ):
        assert list(validator.iter_errors(tomllib.loads(text.replace(old, new, 1)))) != []

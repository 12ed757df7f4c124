"""Installations of Julia with names: two sets of packages in one run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sciml_bench.adapters import registry
from sciml_bench.adapters.base import ProblemTraits
from sciml_bench.adapters.julia import installation, status
from sciml_bench.adapters.julia.installation import Installation
from sciml_bench.cli import exit_codes
from sciml_bench.errors import UsageError
from sciml_bench.execution.planning import planned
from sciml_bench.planning.selection import Selection
from sciml_bench.record.task import Cell

FACTS = ProblemTraits("any", "stiff", 3, 3, 0, "parameters", True)
NO_ENZYME = "UndefVarError: EnzymeCreate"


@pytest.fixture(autouse=True)
def _two_installations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual one, in which Enzyme does not work, and one named ``older``, in which it does."""
    for name in ("PYTHON_JULIACALL_EXE", "PYTHON_JULIACALL_PROJECT", "JULIA_DEPOT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SCIML_BENCH_JULIA", str(tmp_path / "julia.json"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    executable = tmp_path / "julia"
    executable.write_text("#!/bin/sh\n")
    executable.chmod(0o755)
    pythoncall = installation.juliacall_version()
    for folder, version, enzyme in (("usual", "7.112.1", NO_ENZYME), ("old", "7.84.0", "")):
        project = tmp_path / folder
        project.mkdir()
        packages = {"SciMLBench": "0.1.0", "PythonCall": pythoncall, "SciMLSensitivity": version}
        entries = (f'[[deps.{name}]]\nversion = "{version}"\n' for name, version in packages.items())
        (project / "Manifest.toml").write_text("".join(entries))
        made = Installation(str(executable), str(project), parts={"forward": "", "enzyme": enzyme})
        variables = installation.named("older") if folder == "old" else None
        installation.write(made, installation.record_path(*filter(None, (variables,))))


@pytest.mark.parametrize(("name", "folder"), [("julia", "usual"), ("julia@older", "old"), ("lux@older", "old")])
def test_workers_start_with_the_project_of_their_environment(tmp_path: Path, name: str, folder: str):
    declared = registry.adapter(name)
    assert declared.name == name
    assert declared.lacking() is None
    assert declared.variables()["PYTHON_JULIACALL_PROJECT"] == str(tmp_path / folder)


def test_the_variables_of_juliacall_are_for_the_usual_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHON_JULIACALL_EXE", str(tmp_path / "julia"))
    monkeypatch.setenv("PYTHON_JULIACALL_PROJECT", str(tmp_path / "usual"))
    assert registry.adapter("julia@older").variables()["PYTHON_JULIACALL_PROJECT"] == str(tmp_path / "old")


def test_each_environment_refuses_what_does_not_work_in_it():
    usual, older = registry.adapter("julia"), registry.adapter("julia@older")
    assert NO_ENZYME in str(usual.why_not(Cell("any", "julia", "rodas5p", "gauss-enzyme", "compiled"), FACTS))
    assert older.why_not(Cell("any", "julia@older", "rodas5p", "gauss-enzyme", "compiled"), FACTS) is None


def test_an_optional_part_is_added_to_the_environment_that_lacks_it():
    cells = {name: Cell("any", name, "rodas5p", "gauss-mooncake", "compiled") for name in ("julia", "julia@older")}
    why = {name: str(registry.adapter(name).why_not(cell, FACTS)) for name, cell in cells.items()}
    assert why["julia"].endswith("run: sciml-bench julia setup --with mooncake")
    assert why["julia@older"].endswith("run: sciml-bench julia setup --name older --with mooncake")
    absent = status.status(installation.named("older")).absent
    assert absent["mooncake"] == "run: sciml-bench julia setup --name older --with mooncake"


def test_a_run_keeps_the_manifests_of_both():
    texts = {**registry.adapter("julia").locks(), **registry.adapter("julia@older").locks()}
    versions = {path: re.findall(r'"(7[.0-9]+)"', text) for path, text in texts.items()}
    assert versions == {"julia/Manifest.toml": ["7.112.1"], "julia@older/Manifest.toml": ["7.84.0"]}


def labels(tmp_path: Path, selection: Selection) -> set[str]:
    made = planned(selection, profile="quick", out=tmp_path / "results")
    return {item.cell.label for item in made.planned}


def test_a_plan_has_both_environments_only_if_they_are_named(tmp_path: Path):
    usual = labels(tmp_path, Selection(problems=("robertson",)))
    assert "julia" in {label.split("/")[1] for label in usual}
    assert "julia@older" not in {label.split("/")[1] for label in usual}
    both = labels(tmp_path, Selection(problems=("robertson",), adapters=("julia", "julia@older")))
    assert {label.split("/")[1] for label in both} == {"julia", "julia@older"}


def test_a_cell_may_be_named_by_its_label(tmp_path: Path):
    label = "robertson/julia@older/rodas5p/gauss-enzyme/compiled/float64/cpu"
    assert labels(tmp_path, Selection(cells=(label,))) == {label}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("julia@newer", "Julia has no environment 'newer'; run: sciml-bench julia setup --name newer"),
        ("scipy@older", "no environment has the name 'older'"),
        ("juliah@older", "did you mean julia"),
        ("julia@older@older", "cannot name an environment"),
    ],
)
def test_an_environment_that_there_is_none_of(name: str, message: str):
    with pytest.raises(UsageError, match=re.escape(message)):
        registry.adapter(name)


def test_the_cure_of_a_broken_environment_names_it(tmp_path: Path):
    (tmp_path / "old" / "Manifest.toml").unlink()
    reason = registry.adapter("julia@older").lacking() or ""
    assert reason.endswith("run: sciml-bench julia setup --name older")


@pytest.mark.parametrize("name", ["../x", "a/b", "a@b", "-x", " "])
def test_a_name_that_is_no_name_is_refused(cli, name: str):
    done = cli("julia", "status", "--name", name)
    assert done.code == exit_codes.USAGE
    assert "letters, digits" in done.err


def test_status_of_an_environment(cli, tmp_path: Path):
    assert cli("julia", "status", "--name", "older", "--json").json["project"] == str(tmp_path / "old")

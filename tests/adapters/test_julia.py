"""The Julia adapter as far as it needs no Julia: what it declares, refuses and looks for."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from sciml_bench.adapters import registry
from sciml_bench.adapters.base import ProblemTraits
from sciml_bench.adapters.julia import ADAPTER, installation
from sciml_bench.adapters.julia.installation import Installation
from sciml_bench.adapters.julia.manifest import ManifestError, fingerprint, package_versions
from sciml_bench.engine.limits import adapter_variables
from sciml_bench.errors import StoreError
from sciml_bench.planning.cells import choose
from sciml_bench.planning.problems import entries
from sciml_bench.planning.profiles import profile_named
from sciml_bench.planning.selection import Selection
from sciml_bench.record.task import Cell

MANIFEST = """
julia_version = "1.10.8"
manifest_format = "2.0"

[[deps.PythonCall]]
uuid = "6099a3de-0909-46bc-b1f4-468b9a2dfc0d"
version = "{pythoncall}"

[[deps.SciMLBench]]
path = "/julia_env"
version = "0.1.0"

[[deps.SparseArrays]]
uuid = "2f01184e-e22b-5df5-ae63-d93ebab69eaf"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A resolved project with what workers need."""
    folder = tmp_path / "project"
    folder.mkdir()
    wanted = installation.juliacall_version() or "0.9.34"
    (folder / "Manifest.toml").write_text(MANIFEST.format(pythoncall=wanted), encoding="utf-8")
    return folder


@pytest.fixture
def executable(tmp_path: Path) -> Path:
    """A program that may be started; nothing here does."""
    path = tmp_path / "julia"
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """One in which nothing is set up, also for code that asks the process's own."""
    for name in ("PYTHON_JULIACALL_EXE", "PYTHON_JULIACALL_PROJECT", "JULIA_DEPOT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SCIML_BENCH_JULIA", str(tmp_path / "julia.json"))
    return {"SCIML_BENCH_JULIA": str(tmp_path / "julia.json")}


def recorded(environment: dict[str, str], executable: Path, project: Path, **more) -> Installation:
    made = Installation(str(executable), str(project), **more)
    installation.write(made, Path(environment["SCIML_BENCH_JULIA"]))
    return made


def facts(n_states: int = 3) -> ProblemTraits:
    return ProblemTraits("any", "stiff", n_states, 3, 0, "parameters", True)


def test_what_is_computed_around_a_solve_has_one_mode():
    latent = dataclasses.replace(facts(), latent=True)
    assert "Zygote must differentiate the code around the solve" in (
        ADAPTER.refusal(cell("tsit5", mode="in-place"), latent) or ""
    )
    assert ADAPTER.refusal(cell("tsit5"), dataclasses.replace(latent, controlled=True, stochastic=True)) is None


def cell(method: str, sensitivity: str = "forward", mode: str = "compiled") -> Cell:
    return Cell("any", "julia", method, sensitivity, mode)


def test_without_a_record_the_cure_is_setup(environment):
    assert "run: sciml-bench julia setup" in (installation.lacking(environment) or "")
    assert installation.variables(environment) == {}


def test_a_good_record_lacks_nothing(environment, executable, project):
    made = recorded(environment, executable, project, depot="/depot:", version="1.10.8", parts={"enzyme": "no"})
    assert installation.lacking(environment) is None
    assert installation.found(environment) == made
    variables = installation.variables(environment)
    assert variables["PYTHON_JULIACALL_EXE"] == str(executable)
    assert variables["PYTHON_JULIACALL_PROJECT"] == str(project)
    assert variables["JULIA_DEPOT_PATH"] == "/depot:"
    assert variables["JULIA_CONDAPKG_BACKEND"] == "Null"


def test_variables_of_juliacall_win(environment, executable, project):
    recorded(environment, Path("/elsewhere/julia"), Path("/elsewhere"))
    both = {"PYTHON_JULIACALL_EXE": str(executable), "PYTHON_JULIACALL_PROJECT": str(project)}
    assert installation.lacking(environment | both) is None
    assert installation.variables(environment | both)["PYTHON_JULIACALL_PROJECT"] == str(project)


@pytest.mark.parametrize(
    ("alone", "other"),
    [("PYTHON_JULIACALL_EXE", "PYTHON_JULIACALL_PROJECT"), ("PYTHON_JULIACALL_PROJECT", "PYTHON_JULIACALL_EXE")],
)
def test_one_variable_of_two_is_an_error(environment, alone, other):
    reason = installation.lacking(environment | {alone: "/x"}) or ""
    assert reason.startswith(f"{alone} is set, but {other} is not")


def test_a_julia_that_is_gone(environment, executable, project):
    recorded(environment, executable, project)
    executable.unlink()
    assert f"Julia is no longer at {executable}" in (installation.lacking(environment) or "")


def test_a_project_that_is_gone(environment, executable, tmp_path):
    recorded(environment, executable, tmp_path / "gone")
    assert "the Julia project is not set up" in (installation.lacking(environment) or "")


def test_a_project_of_another_pythoncall(environment, executable, project, monkeypatch):
    monkeypatch.setattr(installation, "juliacall_version", lambda: "0.9.99")
    recorded(environment, executable, project)
    reason = installation.lacking(environment) or ""
    assert "but juliacall 0.9.99 needs 0.9.99" in reason
    assert "julia setup" in reason


def test_a_project_without_our_package(environment, executable, project):
    recorded(environment, executable, project)
    manifest = project / "Manifest.toml"
    manifest.write_text(manifest.read_text().replace("SciMLBench", "Other"))
    assert "has no package SciMLBench" in (installation.lacking(environment) or "")


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 1}', '{"schema": 99, "executable": "", "project": ""}'])
def test_a_record_that_cannot_be_read(environment, text):
    Path(environment["SCIML_BENCH_JULIA"]).write_text(text, encoding="utf-8")
    with pytest.raises(StoreError, match="julia setup"):
        installation.found(environment)
    assert "julia setup" in (installation.lacking(environment) or "")


def test_a_record_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="SCIML_BENCH_JULIA"):
        installation.write(Installation("julia", "project"), tmp_path / "file" / "julia.json")


@pytest.mark.parametrize("text", ["= 1", "deps = 3", "[deps]\nPythonCall = 1"])
def test_a_manifest_that_cannot_be_read(tmp_path, text):
    (tmp_path / "Manifest.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ManifestError, match="cannot be read"):
        package_versions(tmp_path)


def test_versions_of_a_manifest(project):
    versions = package_versions(project)
    assert versions["SciMLBench"] == "0.1.0"
    assert versions["SparseArrays"] == ""


def test_projects_of_other_versions_have_other_fingerprints(project, tmp_path):
    before = fingerprint(project)
    assert fingerprint(project) == before
    manifest = project / "Manifest.toml"
    manifest.write_text(manifest.read_text().replace("1.10.8", "1.10.9"))
    assert fingerprint(project) != before
    with pytest.raises(ManifestError, match="julia setup"):
        fingerprint(tmp_path)


def test_what_cannot_be_combined_is_refused(environment):
    assert "dual numbers" in (ADAPTER.refusal(cell("cvode_bdf"), facts()) or "")
    assert "in-place" in (ADAPTER.refusal(cell("cvode_bdf", "gauss-reversediff"), facts()) or "")
    assert ADAPTER.refusal(cell("cvode_bdf", "gauss-reversediff", "in-place"), facts()) is None
    assert "ZygoteVJP" in (ADAPTER.refusal(cell("tsit5", "gauss-zygote"), facts(n_states=128)) or "")
    assert ADAPTER.refusal(cell("tsit5", "gauss-zygote"), facts()) is None
    assert ADAPTER.refusal(cell("rodas5p"), facts(n_states=10_000)) is None


@pytest.mark.parametrize(
    ("part", "refused"),
    [
        ("enzyme", cell("tsit5", "gauss-enzyme")),
        ("enzyme", cell("tsit5", "enzyme")),
        ("zygote", cell("tsit5", "gauss-zygote")),
        ("adjoint", cell("tsit5", "backsolve-reversediff")),
        ("sundials", cell("cvode_bdf", "gauss-reversediff", "in-place")),
    ],
)
def test_a_part_that_did_not_work_is_refused_with_julias_words(environment, executable, project, part, refused):
    recorded(environment, executable, project, parts={part: "Enzyme cannot deduce type"})
    assert "Enzyme cannot deduce type" in (ADAPTER.refusal(refused, facts()) or "")
    assert ADAPTER.refusal(cell("tsit5"), facts()) is None


def test_products_of_a_package_that_was_not_added_are_refused_with_its_cure(environment, executable, project):
    recorded(environment, executable, project)
    refused = ADAPTER.refusal(cell("tsit5", "gauss-mooncake"), facts()) or ""
    assert refused == "Mooncake is not in Julia's project; run: sciml-bench julia setup --with mooncake"
    manifest = project / "Manifest.toml"
    manifest.write_text(manifest.read_text() + '\n[[deps.Mooncake]]\nversion = "0.5.45"\n')
    assert ADAPTER.refusal(cell("tsit5", "gauss-mooncake"), facts()) is None


def test_the_registry_tells_what_julia_lacks(environment, executable, project):
    missing = registry.missing(ADAPTER)
    if installation.juliacall_version():
        assert missing is not None
        assert "julia setup" in missing.reason
        recorded(environment, executable, project)
        assert registry.missing(ADAPTER) is None
    else:
        assert missing is not None
        assert "sciml-bench[julia]" in missing.reason


def test_workers_get_the_recorded_julia(environment, executable, project):
    recorded(environment, executable, project)
    assert adapter_variables("julia")["PYTHON_JULIACALL_EXE"] == str(executable)
    assert adapter_variables("scipy") == {}
    assert adapter_variables("no such adapter") == {}


def test_the_record_is_json(environment, executable, project):
    recorded(environment, executable, project, precompile_s=12.5)
    data = json.loads(Path(environment["SCIML_BENCH_JULIA"]).read_text())
    assert data["precompile_s"] == 12.5


def weighted(n_weights: int, n_named: int = 0) -> ProblemTraits:
    """Facts of a problem with networks."""
    return ProblemTraits("any", "neural", 3, n_named + n_weights, 0, "parameters", False, n_weights=n_weights)


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (weighted(95, 2), ["forward", "gauss-reversediff"]),
        (weighted(96, 2), ["gauss-reversediff", "gauss-zygote"]),
        (weighted(1249), ["gauss-reversediff", "gauss-zygote"]),
    ],
)
def test_networks_have_recipes_by_their_number_of_components(problem, expected):
    assert [recipe.sensitivity for recipe in ADAPTER.recipes(problem)] == expected


def test_a_plan_takes_the_recipes_of_networks(environment):
    """As if Julia were set up: two problems with networks, of few and of many parameters."""
    adapter = dataclasses.replace(ADAPTER, packages={}, lacking=lambda: None)
    selection = Selection(problems=("lynx-hare-ude", "spiral-node"))
    planned, _ = choose(entries(selection), {"julia": adapter}, selection, profile_named("standard"))
    idiomatic = {(p.cell.problem, p.cell.sensitivity) for p in planned if p.division == "idiomatic"}
    assert idiomatic == {
        ("lynx-hare-ude", "forward"), ("lynx-hare-ude", "gauss-reversediff"),
        ("spiral-node", "gauss-reversediff"), ("spiral-node", "gauss-zygote"),
    }  # fmt: skip


def test_networks_are_refused_in_place_only(environment):
    assert "Lux" in (ADAPTER.refusal(cell("tsit5", mode="in-place"), weighted(50)) or "")
    for sensitivity in ("forward", "gauss-zygote", "interpolating-reversediff"):
        assert ADAPTER.refusal(cell("tsit5", sensitivity), weighted(50)) is None
    # Their right-hand sides write into nothing, however many states there are.
    assert ADAPTER.refusal(cell("tsit5", "gauss-zygote"), dataclasses.replace(weighted(50), n_states=26)) is None


def test_batches_are_not_refused(environment):
    assert ADAPTER.refusal(cell("tsit5"), dataclasses.replace(facts(), batch=64)) is None


def test_events_are_taken_between_no_networks():
    facts = ProblemTraits("any", "events", 2, 2, 0, "parameters", False, n_saved=3, events=True)
    tsit5 = Cell("any", "julia", "tsit5", "forward", "compiled")
    assert ADAPTER.why_not(tsit5, facts) is None
    networks = dataclasses.replace(facts, n_weights=10)
    assert "events beside networks" in (ADAPTER.why_not(tsit5, networks) or "")
    latent = dataclasses.replace(facts, latent=True)
    for cell, given in (
        (dataclasses.replace(tsit5, sensitivity="gauss-zygote"), facts),
        (dataclasses.replace(tsit5, sensitivity="gauss-reversediff"), latent),
    ):
        assert "change states at events in place" in (ADAPTER.why_not(cell, given) or "")
    assert ADAPTER.why_not(tsit5, latent) is None
    landing = dataclasses.replace(tsit5, saving="landing")
    assert "not known before the solve" in (ADAPTER.why_not(landing, facts) or "")

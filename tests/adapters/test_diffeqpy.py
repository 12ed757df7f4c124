"""The diffeqpy adapter; its solves run where the library and Julia's packages for it are installed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from adapters.findings import findings
from adapters.real_julia import LIMIT_S, QUICKLY_COMPILED
from needs import needs

from sciml_bench.adapters.base import ProblemTraits
from sciml_bench.adapters.diffeqpy import ADAPTER, lacking, variables
from sciml_bench.adapters.julia import installation
from sciml_bench.adapters.julia.optional_parts import OPTIONAL
from sciml_bench.record.task import Cell

PACKAGES = OPTIONAL["diffeqpy"]
CELL = Cell("any", "diffeqpy", "tsit5", "none", "eager")
MANIFEST = '[[deps.SciMLBench]]\nversion = "0.1.0"\n[[deps.PythonCall]]\nversion = "0.9.34"\n'

needs_diffeqpy = [pytest.mark.julia, needs("diffeqpy")]


def test_what_is_not_a_small_system_of_numbers_is_refused():
    facts = ProblemTraits("any", "stiff", 3, 3, 0, "parameters", True)
    assert ADAPTER.refusal(CELL, facts) is None
    for changes in ({"arrays": True}, {"n_weights": 10}, {"batch": 4}, {"latent": True}, {"controlled": True}):
        assert ADAPTER.refusal(CELL, ProblemTraits(**{**vars(facts), **changes})) is not None


@pytest.fixture
def set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A Julia of this name that seems to be there, whose project names these packages; the environment of workers."""
    monkeypatch.setattr(installation, "juliacall_version", lambda: "0.9.34")

    def make(name: str, packages: tuple[str, ...]) -> dict[str, str]:
        program, project = tmp_path / name, tmp_path / "project"
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        program.chmod(0o755)
        project.mkdir()
        (project / "Manifest.toml").write_text(MANIFEST, encoding="utf-8")
        named = "".join(f'{package} = "00000000-0000-0000-0000-000000000000"\n' for package in packages)
        (project / "Project.toml").write_text(f"[deps]\n{named}", encoding="utf-8")
        record = tmp_path / "julia.json"
        installation.write(installation.Installation(str(program), str(project)), record)
        return {"SCIML_BENCH_JULIA": str(record), "PATH": "/usr/bin"}

    return make


def test_julia_comes_first_on_the_path_or_diffeqpy_would_install_another(set_up):
    environment = set_up("julia", PACKAGES)
    assert lacking(environment) is None
    found = variables(environment)
    folder, _, rest = found["PATH"].partition(os.pathsep)
    assert (Path(folder) / "julia").is_file()
    assert rest == "/usr/bin"
    assert found["PYTHON_JULIACALL_EXE"] == str(Path(folder) / "julia")


def test_a_julia_that_diffeqpy_would_not_find_is_refused(set_up):
    assert "looks for a program called julia" in str(lacking(set_up("julia-1.10", PACKAGES)))


@pytest.mark.parametrize(
    ("there", "absent"),
    [((), "OrdinaryDiffEq and OrdinaryDiffEqDefault are"), (PACKAGES[:1], "OrdinaryDiffEqDefault is")],
)
def test_packages_that_diffeqpy_would_install_by_itself_are_asked_for(set_up, there, absent):
    cure = "run: sciml-bench julia setup --with diffeqpy"
    assert lacking(set_up("julia", there)) == f"{absent} not in Julia's project; {cure}"


def test_without_julia_the_cure_is_that_of_julia(tmp_path: Path):
    environment = {"SCIML_BENCH_JULIA": str(tmp_path / "none.json")}
    assert "run: sciml-bench julia setup" in str(lacking(environment))
    assert variables(environment) == {}


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The findings of :mod:`adapters.in_diffeqpy`."""
    told = {name: value for name, value in variables().items() if os.environ.get(name) != value}
    return findings("in_diffeqpy.py", timeout_s=LIMIT_S, **{**told, **QUICKLY_COMPILED})


class TestWithJulia:
    """With the library and a real Julia. Run with ``-m julia``."""

    pytestmark = needs_diffeqpy

    @pytest.mark.parametrize("mode", ["eager", "compiled"])
    def test_solutions_are_right(self, found, mode):
        assert found["lotka_volterra"][mode] < 1e-7
        assert found["robertson"][mode] < 1e-5

    @pytest.mark.parametrize("mode", ["eager", "compiled"])
    def test_steps_stop_where_the_right_hand_side_jumps(self, found, mode):
        ys, counts = found["jump"][mode]
        assert ys == [[pytest.approx(1.5)], [pytest.approx(0.0, abs=1e-12)]]
        assert counts["n_steps"] == counts["n_accepted"] + counts["n_rejected"] > 0
        assert counts["n_rhs"] > counts["n_steps"]

    @pytest.mark.parametrize("mode", ["eager", "compiled"])
    def test_a_solution_that_becomes_infinite_is_a_typed_failure(self, found, mode):
        assert found["blow_up"][mode][0] in ("nonfinite", "step_underflow")

    def test_a_number_that_python_does_not_have_is_a_typed_failure(self, found):
        outcome, message = found["no_value"]
        assert outcome == "nonfinite"
        assert "OverflowError" in message

    def test_one_saved_time_is_one_row(self, found):
        assert found["one_saved_time"] == [[pytest.approx(0.1353352832, rel=1e-4)]]

    def test_gradients_are_typed_as_unsupported(self, found):
        assert found["refused"][0] == "unsupported"

    def test_versions_are_read_back(self, found):
        assert {"diffeqpy", "juliacall", "julia", "julia_manifest"} <= set(found["versions"])

"""What pins the workers' packages outside Python is kept with each run, and checked."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import pytest
from stubs.carried import noisy_at, use
from stubs.suite import stub_adapters

from sciml_bench.adapters.julia import installation
from sciml_bench.execution.session import open_session
from sciml_bench.planning.plan import Plan, make_plan
from sciml_bench.planning.profiles import profile_named
from sciml_bench.planning.selection import Selection
from sciml_bench.planning.settings import Settings
from sciml_bench.record.run_folder import LOCKS, Run
from sciml_bench.verification.verify import verify_run

TEXT = 'manifest_format = "2.0"\n'
NAME = "julia/Manifest.toml"


def plan_with(text: str) -> Plan:
    adapters = stub_adapters()
    adapters["alpha"] = dataclasses.replace(adapters["alpha"], locks=lambda: {NAME: text})
    return make_plan(Selection(problems=("decay",)), adapters, profile_named("smoke"), Settings())


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    use(monkeypatch, noisy_at())
    session = open_session(plan_with(TEXT), tmp_path, "locked", resume=None, command="")
    session.carry_out()
    return session.run


def found(run: Run) -> list[str]:
    return [breach.found for breach in verify_run(Run.open(run.folder)).breaches if breach.rule.id == "versions"]


def test_a_run_keeps_its_lock_files(run: Run):
    assert (run.folder / LOCKS / NAME).read_text() == TEXT
    assert run.environment["lock_hashes"][NAME] == hashlib.sha256(TEXT.encode()).hexdigest()
    assert found(run) == []


def test_a_lock_file_that_was_changed_or_lost_is_found(run: Run):
    (run.folder / LOCKS / NAME).write_text(TEXT + "# another\n")
    (breach,) = found(run)
    assert breach.startswith("locks/julia/Manifest.toml was changed")
    (run.folder / LOCKS / NAME).unlink()
    (breach,) = found(run)
    assert breach.startswith("locks/julia/Manifest.toml is missing")


def test_a_run_is_not_continued_with_other_packages(run: Run):
    assert run.records_path.is_file()
    other = open_session(plan_with(TEXT + "# newer\n"), run.folder.parent, "locked", resume=None, command="")
    assert other.run.folder != run.folder


def test_runs_of_earlier_versions_keep_none_and_are_valid(run: Run):
    for folder in (run.folder / LOCKS / NAME, run.folder / LOCKS / "julia", run.folder / LOCKS):
        folder.unlink() if folder.is_file() else folder.rmdir()
    environment = json.loads((run.folder / "environment.json").read_text())
    environment["lock_hashes"] = {"constraints.txt": "1" * 64, "julia_env/Manifest.toml": "2" * 64}
    (run.folder / "environment.json").write_text(json.dumps(environment))
    assert found(run) == []


def test_a_manifest_says_nothing_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "Manifest.toml").write_text('[[deps.SciMLBench]]\npath = "/home/someone/sciml"\nversion = "0.1.0"\n')
    known = installation.Installation(executable="julia", project=str(tmp_path))
    monkeypatch.setattr(installation, "found", lambda *_: known)
    assert installation.locks() == {NAME: '[[deps.SciMLBench]]\npath = "."\nversion = "0.1.0"\n'}


def test_preferences_are_kept_without_paths_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "Manifest.toml").write_text('[[deps.SciMLBench]]\nversion = "0.1.0"\n')
    text = '[Enzyme]\nprecompile_workload = false\n[Sundials_jll]\nlibsundials_path = "/home/someone/lib.so"\n'
    (tmp_path / "LocalPreferences.toml").write_text(text)
    known = installation.Installation(executable="julia", project=str(tmp_path))
    monkeypatch.setattr(installation, "found", lambda *_: known)
    kept = installation.locks()
    assert list(kept) == [NAME, "julia/LocalPreferences.toml"]
    assert kept["julia/LocalPreferences.toml"] == text.replace("/home/someone/lib.so", ".")


@pytest.mark.parametrize("project", ["nowhere", None])
def test_without_a_project_there_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project: str | None):
    known = None if project is None else installation.Installation(executable="julia", project=str(tmp_path / project))
    monkeypatch.setattr(installation, "found", lambda *_: known)
    assert installation.locks() == {}

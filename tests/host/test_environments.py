"""Environments of Python packages, made by a program that stands in for uv."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from stubs.uv_program import use_uv

from sciml_bench.adapters import registry
from sciml_bench.errors import StoreError, UsageError
from sciml_bench.host import environments


@pytest.fixture(autouse=True)
def _uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_uv(tmp_path, monkeypatch)


def made(name: str = "older", *requirements: str, **options) -> tuple[environments.Environment, list[str]]:
    said: list[str] = []
    return environments.make(name, requirements or ("diffrax==0.7.1",), ("jax",), say=said.append, **options), said


def test_an_environment_is_made_found_and_removed():
    environment, said = made()
    assert environments.names() == ("older",)
    assert environments.read("older") == environment
    assert environment.packages == {"diffrax": "0.7.1", "numpy": "2.0.0"}
    assert environment.lock == "diffrax==0.7.1\nnumpy==2.0.0\n"
    assert environment.broken is None
    assert environment.python == sys.version.split()[0]
    assert said == ["choosing versions for diffrax==0.7.1, jax", "installing 2 packages"]
    environments.remove("older")
    assert environments.names() == ()


def test_a_release_that_does_not_fit_what_is_installed_gets_others():
    environment, said = made("old", "diffrax==0.0.1")
    assert environment.lock.startswith("diffrax==0.0.1")
    assert said[1] == "they do not fit the packages installed here; choosing others too"


def test_a_release_may_be_older_than_the_bounds_of_an_extra():
    made()
    lines = (environments.folder() / "older" / "requirements.in").read_text().splitlines()
    assert [line for line in lines if line.startswith("diffrax")] == ["diffrax==0.7.1"]
    assert any(line.startswith("jax>=") for line in lines)


def test_packages_that_are_not_named_keep_their_versions(tmp_path: Path):
    made()
    constraints = (environments.folder() / "older" / "constraints.txt").read_text().splitlines()
    assert any(line.startswith("numpy==") for line in constraints)
    assert not any(line.startswith(("diffrax==", "sciml-bench==")) for line in constraints)


@pytest.mark.parametrize(
    ("requirement", "options", "message"),
    [
        ("diffrax==9.9.9", {}, "no versions fit together for diffrax==9.9.9: No solution found when resolving"),
        ("diffrax==0.7.1", {"offline": True}, "the network was disabled"),
        ("==1", {}, "does not name a package"),
    ],
)
def test_an_environment_that_cannot_be_made_says_why(requirement: str, options: dict[str, bool], message: str):
    with pytest.raises(UsageError, match=message):
        made("broken", requirement, **options)
    assert environments.names() == ()


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden", "a@b", "-x"])
def test_a_name_is_one_folder(name: str):
    with pytest.raises(UsageError):
        made(name)
    with pytest.raises(UsageError):
        environments.read(name)
    with pytest.raises(UsageError):
        environments.remove(name)


def test_without_uv_the_fix_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.undo()
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    monkeypatch.setattr(environments.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=r"run: pip install .*\[env\]"):
        environments._uv()


def test_a_damaged_record_is_named():
    environment, _ = made()
    (environment.folder / "environment.json").write_text('{"name": 3}')
    with pytest.raises(StoreError, match="not the record of an environment"):
        environments.read("older")


def test_a_lock_that_was_changed_breaks_the_environment():
    environment, _ = made()
    (environment.folder / "lock.txt").write_text("diffrax==0.7.2\n")
    assert "was changed; run: sciml-bench env make older diffrax==0.7.1 --extra jax" in str(environment.broken)
    environment.interpreter.unlink()
    assert "lost its interpreter" in str(environment.broken)


def test_an_adapter_runs_in_its_environment():
    from stubs.tasks import stub_task

    from sciml_bench.engine.group import measure_cell
    from sciml_bench.engine.limits import Limits, adapter_variables, in_its_interpreter

    environment, _ = made("older", "scipy==1.14.0")
    declared = registry.adapter("scipy@older")
    assert declared.locks() == {"environments/older.txt": environment.lock}
    assert registry.missing(declared) is None
    command = in_its_interpreter(("python", "-m", "x"), "scipy@older")
    assert command == [str(environment.interpreter), "-m", "x"]
    assert adapter_variables("scipy@older")["PYTHONPATH"] == str(environment.path)
    assert [entry.name for entry in environment.path.iterdir()] == ["sciml_bench"]
    mark = environment.interpreter.parent / "used"
    before = len(mark.read_text().splitlines())
    task = stub_task("good")
    import dataclasses

    task = dataclasses.replace(task, cell=dataclasses.replace(task.cell, adapter="scipy@older"))
    measure_cell(task, Limits(60.0))
    assert len(mark.read_text().splitlines()) == before + 1


def test_an_environment_that_is_gone_is_not_measured_in_another_one():
    from sciml_bench.engine.limits import adapter_variables
    from sciml_bench.errors import EngineError

    with pytest.raises(EngineError, match="no environment has the name 'gone'"):
        adapter_variables("scipy@gone")

"""The environment: what it names, what it must not name, and its hash."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import types
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from sciml_bench.host import environment
from sciml_bench.host.environment import environment_facts
from sciml_bench.record.run_folder import environment_hash


@pytest.fixture(scope="module")
def facts() -> dict:
    return environment_facts()


def test_machine_and_software_are_named(facts: dict):
    assert facts["cpu"]["logical_cores"] >= 1
    assert facts["cpu"]["model"]
    assert facts["system"]["kernel"] == platform.release()
    assert facts["python"]["version"] == platform.python_version()
    assert facts["packages"]["numpy"] == np.__version__
    assert facts["threads"] == 1
    assert facts["thread_settings"]["OMP_NUM_THREADS"] == "1"
    assert len(facts["installed_hash"]) == 64
    assert facts["blas"]["name"]


def test_nobody_and_no_place_is_named(facts: dict):
    text = json.dumps(facts)
    assert str(Path.home()) not in text
    assert str(Path(environment.__file__).parents[2]) not in text
    assert platform.node() not in text.split('"')


def test_packages_of_other_adapters_are_named_too():
    packages = environment_facts(["pytest", "no-such-distribution"])["packages"]
    assert packages["pytest"] == pytest.__version__
    assert "no-such-distribution" not in packages


def test_pinned_versions_of_a_checkout_are_named_by_their_hash(facts: dict):
    lock = Path(environment.__file__).parents[2] / "constraints.txt"
    assert facts["lock_hashes"]["constraints.txt"] == hashlib.sha256(lock.read_bytes()).hexdigest()


def test_hash_of_everything_installed_changes_with_a_version(monkeypatch: pytest.MonkeyPatch):
    def installed(*found: tuple[str, str]) -> str:
        distributions = [types.SimpleNamespace(name=name, version=version) for name, version in found]
        monkeypatch.setattr(metadata, "distributions", lambda: distributions)
        return environment._installed_hash()

    one = installed(("Some_Thing", "1.0"), ("other", "2"))
    assert one == installed(("other", "2"), ("some-thing", "1.0"))
    assert one != installed(("other", "2"), ("some-thing", "1.1"))


def test_hash_is_the_same_until_something_changes(facts: dict):
    assert environment_hash(facts) == environment_hash(environment_facts())
    assert environment_hash(facts) == environment_hash(json.loads(json.dumps(facts)))
    assert environment_hash(facts) != environment_hash(facts | {"threads": 2})


def test_hash_is_that_of_canonical_json():
    expected = hashlib.sha256('{"a":1,"b":["µ"]}'.encode()).hexdigest()
    assert environment_hash({"b": ["µ"], "a": 1}) == expected


def test_no_framework_is_imported_for_its_version():
    code = (
        "import sys; from sciml_bench.host.environment import environment_facts; environment_facts();"
        "print([name for name in ('jax', 'torch', 'tensorflow', 'scipy', 'sympy') if name in sys.modules])"
    )
    root = str(Path(environment.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": root}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_commit_and_changes_of_a_checkout(tmp_path: Path):
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    assert environment._git(tmp_path) is None
    git("init")
    assert environment._git(tmp_path) == {"commit": None, "dirty": False}
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-m", "first")
    clean = environment._git(tmp_path)
    assert clean is not None
    assert len(clean["commit"]) == 40
    assert clean["dirty"] is False
    (tmp_path / "file").write_text("two")
    assert environment._git(tmp_path) == {"commit": clean["commit"], "dirty": True}

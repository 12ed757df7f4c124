"""What is promised about the package: extras, constraints, paths."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import sciml_bench
from sciml_bench.adapters import registry

ROOT = Path(sciml_bench.__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(not (ROOT / "pyproject.toml").is_file(), reason="not a checkout")


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def constraints() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9a-z.]*", pin) for pin in pins), "exact public versions only"
    return dict(pin.split("==") for pin in pins)


def normal(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement)[0].lower().replace("_", "-")


def test_every_dependency_is_pinned(project, constraints):
    groups = [project["project"]["dependencies"], *project["project"]["optional-dependencies"].values()]
    groups += project["dependency-groups"].values()
    named = [requirement for group in groups for requirement in group if isinstance(requirement, str)]
    wanted = {normal(requirement) for requirement in named} - {"sciml-bench"}
    assert wanted <= {normal(name) for name in constraints}


@pytest.mark.parametrize("name", registry.BUILT_IN)
def test_the_extra_of_an_adapter_installs_what_it_needs(project, name):
    adapter = registry.adapter(name)
    extras = project["project"]["optional-dependencies"]
    base = {normal(requirement) for requirement in project["project"]["dependencies"]}
    assert not adapter.extra or adapter.extra in extras
    installed = base | {normal(requirement) for requirement in extras.get(adapter.extra, [])}
    assert {normal(distribution) for distribution in adapter.packages.values()} <= installed


def test_every_configured_path_exists(project):
    tools = project["tool"]
    paths = [*tools["pyright"]["include"], *tools["pyright"]["strict"], *tools["pytest"]["ini_options"]["testpaths"]]
    paths += [*tools["hatch"]["build"]["targets"]["wheel"]["force-include"], tools["hatch"]["version"]["path"]]
    paths += [path.lstrip("/") for path in tools["hatch"]["build"]["targets"]["sdist"]["include"]]
    assert [path for path in paths if not (ROOT / path).exists()] == []

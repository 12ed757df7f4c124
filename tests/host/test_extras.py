"""The command that installs an extra names the place that the package came from."""

from __future__ import annotations

import importlib.metadata
import json
from typing import Any

import pytest

from sciml_bench.host import extras


class Installed:
    """An installed package as its metadata tells."""

    def __init__(self, direct_url: dict[str, Any] | None):
        self.direct_url = direct_url

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self.direct_url is None else json.dumps(self.direct_url)


@pytest.mark.parametrize(
    ("direct_url", "command"),
    [
        (None, 'pip install "sciml-bench[jax]"'),
        ({"url": "file:///home/ada/sciml%20bench", "dir_info": {"editable": True}}, 'pip install -e ".[jax]"'),
        ({"url": "file:///home/ada/sciml-bench", "dir_info": {}}, 'pip install ".[jax]"'),
        (
            {"url": "file:///tmp/sciml_bench-1.0-py3-none-any.whl", "archive_info": {"hash": "sha256=0"}},
            'pip install "./sciml_bench-1.0-py3-none-any.whl[jax]"',
        ),
        (
            {"url": "https://ada:secret@example.org/sciml-bench", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            'pip install "sciml-bench[jax] @ git+https://example.org/sciml-bench@abc"',
        ),
        ({"url": "https://example.org/a", "vcs_info": None}, 'pip install "sciml-bench[jax]"'),
        ({"url": "file:///tmp/$(rm).whl", "archive_info": {}}, 'pip install "./(rm).whl[jax]"'),
    ],
    ids=["index", "editable", "folder", "wheel", "repository", "damaged", "hostile"],
)
def test_the_command_follows_the_way_the_package_was_installed(monkeypatch, direct_url, command):
    monkeypatch.setattr(extras, "distribution", lambda _name: Installed(direct_url))
    assert extras.install_command("jax") == command


def test_without_metadata_the_command_names_the_package(monkeypatch):
    def absent(_name: str) -> Installed:
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(extras, "distribution", absent)
    assert extras.install_command("gpu") == 'pip install "sciml-bench[gpu]"'

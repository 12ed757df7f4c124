"""The command line, run in this process on a small suite of stub problems and adapters.

Workers are real processes that run stub programs; the truth is the exact solution, so that no reference engine runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from stubs.installed import install

from sciml_bench.cli.main import main
from sciml_bench.spec import catalog


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, read as JSON."""
        return json.loads(self.out)


Cli = Callable[..., Done]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Cli]:
    """Runs one command in an empty folder and returns what it did."""
    install(tmp_path, monkeypatch)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def run(*words: str) -> Done:
        code = main(words)
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    yield run
    monkeypatch.undo()
    catalog.paths.cache_clear()

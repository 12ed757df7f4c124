"""The command line, run in this process on a small suite of stub problems and adapters.

Workers are real processes that run stub programs; the truth is the exact solution, so that no reference engine runs.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import stubs
from stubs.suite import stub_adapters, use_catalog, write_catalog
from stubs.tasks import reference

from sciml_bench.adapters import registry
from sciml_bench.cli.main import main
from sciml_bench.host import lock
from sciml_bench.problem import catalog
from sciml_bench.reference import probe

TESTS = Path(stubs.__path__[0]).parent


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
    use_catalog(write_catalog(tmp_path / "catalog"), monkeypatch)
    # What is recommended of stubs goes by the label alone.
    monkeypatch.setattr(probe, "probed", lambda problem: None)
    monkeypatch.setattr(registry, "_all", stub_adapters)
    monkeypatch.setattr(lock, "lock_path", lambda: tmp_path / "host.lock")
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    truth = types.ModuleType("truth")
    truth.__dict__["truth"] = lambda _problem, *_options: reference()
    monkeypatch.setitem(__import__("sys").modules, "sciml_bench.reference.truth", truth)
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
